// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import RequestTargets

// The types and limits of the claims. Each function reads one value.

extension ClaimReader {
    /// Checks the value of a claim that has no number to store.
    mutating func check(_ claim: CATClaim) throws(ClaimFault) {
        switch claim {
        case .issuer: _ = try text(1...256)
        case .subject: _ = try text(0...4096)
        case .audience: try checkTexts(1...64, length: 0...4096, allowsOne: true)
        case .identifier: _ = try bytes(1...64)
        case .confirmation: try checkConfirmation()
        case .geohash: try checkGeohashes()
        case .rejection: try checkRejection()
        case .networks: try checkNetworks()
        case .uri: try checkComponents()
        case .methods: try checkTexts(1...50, length: 1...64)
        case .alpn: try checkProtocols()
        case .headers: try checkHeaders()
        case .countries: try checkTexts(1...64, length: 2...16)
        case .coordinates: try checkCircles()
        case .altitude: try refuse()
        case .clientKey: _ = try bytes(1...4096)
        case .answerData: try checkTexts(0...64, length: 0...4096, allowsOne: true)
        case .possession: try checkPossession()
        case .answers: try checkMap()
        case .session, .protection: _ = try bytes(16...16)
        case .revocation: try checkRevocation()
        case .profile: _ = try text(1...32)
        case .generation: _ = try unsigned(0...UInt64.max)
        case .or, .nor, .and, .critical, .expiration, .notBefore, .issuedAt, .replay, .version, .sessionEnd, .renewal:
            try skip()
        }
    }

    /// Reads a value that is not evaluated.
    private mutating func refuse() throws(ClaimFault) {
        try skip()
        throw .unsupported
    }

    private mutating func checkMap() throws(ClaimFault) {
        let head = try next()
        guard case .map = head else { throw .malformed }
        try skip(contentsOf: head)
    }

    private mutating func checkTexts(
        _ count: ClosedRange<Int>,
        length: ClosedRange<Int>,
        allowsOne: Bool = false
    ) throws(ClaimFault) {
        switch try next() {
        case .text(let range) where allowsOne: guard length ~= range.count else { throw .malformed }
        case .array(let elements):
            guard count ~= elements else { throw .malformed }
            for _ in 0..<elements { _ = try text(length) }
        default: throw .malformed
        }
    }

    private mutating func checkConfirmation() throws(ClaimFault) {
        guard try map(1...256) == 1 else { throw .unsupported }
        switch try integer() {
        // The thumbprints of a JWK (RFC 7638) and of a COSE key (RFC 9679).
        case 323, 6: _ = try bytes(32...32)
        default: throw .unsupported
        }
    }

    private mutating func checkGeohashes() throws(ClaimFault) {
        let head = try next()
        if case .text(let range) = head { return try checkGeohash(range) }
        if case .tag = head {
            try skip(contentsOf: head)
            throw .unsupported
        }
        guard case .array(let elements) = head, 1...64 ~= elements else { throw .malformed }
        for _ in 0..<elements { try checkGeohash(try text(1...12)) }
    }

    private func checkGeohash(_ range: Range<Int>) throws(ClaimFault) {
        guard 1...12 ~= range.count else { throw .malformed }
        for index in range where !source[index].isGeohashDigit { throw .malformed }
    }

    private mutating func checkRejection() throws(ClaimFault) {
        let count = try array(2...3)
        _ = try number(0...1)
        _ = try bytes(1...64)
        if count == 3 { _ = try time() }
    }

    private mutating func checkNetworks() throws(ClaimFault) {
        for _ in 0..<(try array(1...64)) {
            switch try next() {
            case .unsigned(let number): guard 1...UInt64(UInt32.max) ~= number else { throw .malformed }
            case .tag(52): try checkNetwork(size: 4)
            case .tag(54): try checkNetwork(size: 16)
            default: throw .malformed
            }
        }
    }

    /// Checks an address or a prefix (RFC 9164 §3).
    private mutating func checkNetwork(size: Int) throws(ClaimFault) {
        switch try next() {
        case .bytes(let range): guard range.count == size else { throw .malformed }
        case .array(2):
            let length = Int(try unsigned(0...UInt64(8 * size)))
            let prefix = try bytes(0...size)
            guard prefix.count <= (length + 7) / 8 else { throw .malformed }
            guard let last = prefix.last.map({ source[$0] }) else { return }
            // Trailing zero bytes are left out, and unused bits are zero.
            let unused = max(0, 8 * prefix.count - length)
            guard last != 0, last & (1 << UInt8(unused) - 1) == 0 else { throw .malformed }
        default: throw .malformed
        }
    }

    private mutating func checkComponents() throws(ClaimFault) {
        for _ in 0..<(try map(1...256)) {
            let head = try next()
            guard let label = head.integer, let number = UInt8(exactly: label), URIComponent(rawValue: number) != nil
            else {
                throw .unsupported
            }
            try checkMatches()
        }
    }

    /// Checks a map of matches and their values.
    private mutating func checkMatches() throws(ClaimFault) {
        for _ in 0..<(try map(1...256)) {
            guard let label = try next().integer, let match = ValueMatch(rawValue: label) else { throw .unsupported }
            switch match {
            case .exact: _ = try text(0...4096)
            case .prefix, .suffix, .contains: _ = try text(1...4096)
            case .sha256, .sha512t256: _ = try bytes(32...32)
            case .regex: try checkPattern()
            }
        }
    }

    private mutating func checkPattern() throws(ClaimFault) {
        switch try next() {
        case .text(let pattern): try addPattern(pattern)
        // The first is the pattern.
        case .array(let count) where count > 0:
            try addPattern(try text(0...4096))
            for _ in 1..<count { _ = try text(0...4096) }
        default: throw .malformed
        }
    }

    private mutating func checkProtocols() throws(ClaimFault) {
        for _ in 0..<(try array(1...50)) { _ = try bytes(1...255) }
    }

    private mutating func checkHeaders() throws(ClaimFault) {
        let count = try map(1...256)
        guard count <= 16 else { throw .tooLarge }
        for _ in 0..<count {
            let name = try text(1...64)
            for index in name where !source[index].isTokenCharacter { throw .malformed }
            guard !HeaderRule.isUnreliable(source.extracting(name)) else { throw .unsupported }
            try checkMatches()
        }
    }

    private mutating func checkCircles() throws(ClaimFault) {
        let head = try next()
        if case .tag = head {
            try skip(contentsOf: head)
            throw .unsupported
        }
        guard case .array(let elements) = head, 1...64 ~= elements else { throw .malformed }
        for _ in 0..<elements {
            _ = try array(3...3)
            _ = try number(-90...90)
            _ = try number(-180...180)
            _ = try number(0...1e9)
        }
    }

    private mutating func checkPossession() throws(ClaimFault) {
        for _ in 0..<(try map(0...256)) {
            guard let label = try next().integer else {
                try skip()
                continue
            }
            switch label {
            case -1:
                for _ in 0..<(try array(1...64)) {
                    guard !(-1...1 ~= (try integer())) else { throw .malformed }
                }
                throw .unsupported
            case 0: _ = try unsigned(1...3600)
            case 1: _ = try unsigned(0...UInt64.max)
            default: try skip()
            }
        }
    }

    /// Checks the entries of `catr`. Returns its times.
    mutating func checkRenewal(entries: Int) throws(ClaimFault) -> RenewalTimes {
        var times = RenewalTimes()
        for _ in 0..<entries {
            guard let label = try next().integer else { throw .malformed }
            switch label {
            case 0: _ = try unsigned(0...3)
            case 1: times.life = Int64(try number(0.001...1e15) * 1000)
            case 2: times.deadline = Int64(try number(0...1e15) * 1000)
            case 3:
                let name = try text(1...128)
                for index in name where !source[index].isTokenCharacter { throw .malformed }
            case 4:
                let name = try text(1...64)
                for index in name where !source[index].isTokenCharacter { throw .malformed }
            case 5: for _ in 0..<(try array(0...16)) { _ = try text(1...256) }
            case 6: for _ in 0..<(try array(0...16)) { _ = try text(1...256) }
            case 7:
                guard [301, 302, 303, 307, 308].contains(try unsigned(300...399)) else { throw .malformed }
            default: try skip()
            }
        }
        guard times.life > 0 else { throw .malformed }
        return times
    }

    private mutating func checkRevocation() throws(ClaimFault) {
        let range = try bytes(56...72)
        guard range.count == 56 || range.count == 72 else { throw .malformed }
    }
}
