// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import RequestTargets

extension CATGrant {
    /// The path that all permitted paths begin with; `nil` if no rule of the token is of that kind.
    public var pathPrefix: String? { path(.prefix) }

    /// The only permitted path; `nil` if no rule of the token names one.
    public var exactPath: String? { path(.exact) }

    private func path(_ wanted: ValueMatch) -> String? {
        guard let range = claims[.uri] else { return nil }
        let payload = payload
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.span.extracting(range))
            for _ in 0..<(try reader.map(1...256)) {
                let component = try reader.integer()
                for _ in 0..<(try reader.map(1...256)) {
                    let match = try reader.integer()
                    guard component == Int64(URIComponent.path.rawValue), match == wanted.rawValue else {
                        try reader.skip()
                        continue
                    }
                    let text = try reader.text(1...4096)
                    return String(copying: payload.span.extracting(range).extracting(text))
                }
            }
            return nil
        } catch {
            return nil
        }
    }
}

extension CATGrant {
    /// True if the restrictions of the token on URIs give the same result for all files of a folder with the same host.
    ///
    /// - Parameter path: A path in the folder, percent-encoded in normal form.
    package func isUniform(around path: Substring) -> Bool {
        guard let range = claims[.uri] else { return true }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { path.utf8.distance(from: path.startIndex, to: $0) + 1 }
        let payload = payload
        var walker = ItemWalker(payload.span, at: range)
        for _ in 0..<walker.count() {
            let component = walker.integer()
            for _ in 0..<walker.count() {
                let match = walker.integer()
                let operand = match == ValueMatch.regex.rawValue ? walker.firstText() : walker.string()
                if component == Int64(URIComponent.host.rawValue) { continue }
                guard component == Int64(URIComponent.path.rawValue), match == ValueMatch.prefix.rawValue,
                    let folder, operand.count <= folder
                else { return false }
            }
        }
        return true
    }
}

extension ClaimSet {
    /// True if a claim depends on more than time, method, host, path and query of a request.
    func areBoundToClient(_ payload: Span<UInt8>) -> Bool {
        for claim in CATClaim.allCases where !claim.isForAllClients && self[claim] != nil { return true }
        guard let range = self[.uri] else { return false }
        let unbound: Set<Int64> = [URIComponent.scheme, .port].reduce(into: []) { $0.insert(Int64($1.rawValue)) }
        do throws(ClaimFault) {
            var reader = ClaimReader(payload.extracting(range))
            for _ in 0..<(try reader.map(1...256)) {
                if unbound.contains(try reader.integer()) { return true }
                try reader.skip()
            }
            return false
        } catch {
            return true
        }
    }
}

extension CATClaim {
    /// True if the claim restricts nothing, or only facts that an edge's cache key has.
    fileprivate var isForAllClients: Bool {
        switch self {
        case .issuer, .subject, .audience, .expiration, .notBefore, .issuedAt, .identifier, .version, .uri, .methods,
            .answerData, .answers, .renewal, .session, .sessionEnd, .revocation, .protection, .profile:
            true
        default: false
        }
    }
}
