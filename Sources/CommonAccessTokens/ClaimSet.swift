// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings

/// The claims of a payload, as ranges of its bytes. They are read once, with checks of types and limits, and evaluated
/// on every call.
package struct ClaimSet {
    /// The time from which on the token is expired, in milliseconds.
    package private(set) var expires: Int64?
    /// The first time at which the token is valid, in milliseconds.
    package private(set) var notBefore: Int64?
    /// The time of issue, in milliseconds.
    package private(set) var issuedAt: Int64?
    /// The number of uses by `catreplay`: 0 any, 1 one, 2 any that are watched.
    package private(set) var replay: UInt64 = 0
    /// The version of the format.
    package private(set) var version: UInt64 = 1
    /// The end of the playback session, in seconds.
    package private(set) var sessionEnd: UInt64?
    /// The renewal of the token.
    package private(set) var renewal = Renewal.none
    /// The first claim that is not evaluated here.
    package private(set) var unsupported: ClaimLabel?
    /// The number of claims that are not registered and were ignored.
    package private(set) var ignored = 0

    private var extents: [35 of Extent] = .init(repeating: Extent())

    /// The state of `catr`.
    package enum Renewal {
        case none
        case malformed
        case valid(RenewalTimes)
    }

    /// A range of bytes; empty if the claim is absent. No payload has more than 4,096.
    private struct Extent {
        var start: UInt16 = 0
        var end: UInt16 = 0
    }

    /// A claim that is refused when it is read.
    package struct Fault: Error {
        package let fault: ClaimFault
        package let claim: ClaimLabel?
    }

    /// The options of reading.
    package struct Options {
        package var labels = CATLabels.registered
        /// True if the private claims have the meaning of this package.
        package var hasPrivateClaims = true
        /// True within a composite.
        var isNested = false
        /// The position of the reader's first byte in the payload.
        package var base = 0

        /// Returns the claim with a label, or `nil` if it has no meaning in these tokens.
        package func claim(_ label: Int64) -> CATClaim? {
            guard let claim = labels.claim(label) else { return nil }
            let isPrivate = CATClaim.session.rawValue...CATClaim.generation.rawValue ~= claim.rawValue
            return hasPrivateClaims || !isPrivate ? claim : nil
        }
    }

    /// Returns the range of a claim's value in the payload, or `nil` if the claim is absent.
    subscript(claim: CATClaim) -> Range<Int>? {
        let extent = extents[claim.rawValue]
        return extent.end == 0 ? nil : Int(extent.start)..<Int(extent.end)
    }

    /// True if a claim holds sets of claims.
    var hasComposites: Bool {
        extents[CATClaim.or.rawValue].end | extents[CATClaim.nor.rawValue].end | extents[CATClaim.and.rawValue].end
            | extents[CATClaim.critical.rawValue].end != 0
    }

    /// Reads the map of claims at the reader's position.
    init(from reader: inout ClaimReader, _ options: Options) throws(Fault) {
        let count: Int
        do throws(ClaimFault) { count = try reader.map(0...256) } catch { throw Fault(fault: error, claim: nil) }
        let depth = reader.depth
        for _ in 0..<count {
            var label: ClaimLabel?
            do throws(ClaimFault) {
                let key = try reader.next()
                guard let number = key.integer else {
                    guard case .text = key else { throw .malformed }
                    try reader.skip()
                    ignored += 1
                    continue
                }
                label = ClaimLabel(number)
                try readEntry(number, from: &reader, options: options, depth: depth)
            } catch {
                throw Fault(fault: error, claim: label)
            }
        }
    }

    private init() {}

    /// Returns true if the value of a well-formed claim is not evaluated here.
    package static func isUnsupported(_ claim: CATClaim, value: Span<UInt8>, options: Options) -> Bool {
        var set = ClaimSet()
        var reader = ClaimReader(value)
        do throws(ClaimFault) {
            try set.readValue(of: claim, from: &reader, options: options)
            for index in 0..<reader.patterns.count {
                do throws(Pattern.Fault) {
                    _ = try Pattern(value.extracting(reader.patterns.ranges[index]))
                } catch {
                    throw ClaimFault(error)
                }
            }
        } catch {
            return error == .unsupported
        }
        return false
    }

    private mutating func readEntry(
        _ label: Int64,
        from reader: inout ClaimReader,
        options: Options,
        depth: Int
    ) throws(ClaimFault) {
        guard let claim = options.claim(label)
        else {
            try reader.skip()
            if CATLabels.unsettled ~= label { unsupported = unsupported ?? ClaimLabel(label) } else { ignored += 1 }
            return
        }
        // A renamed claim could stand beside the registered one, of which only the last would be evaluated.
        guard extents[claim.rawValue].end == 0 else { throw .malformed }
        let start = reader.position
        do throws(ClaimFault) {
            guard !options.isNested || claim.isComposable else {
                try reader.skip()
                throw .unsupported
            }
            try readValue(of: claim, from: &reader, options: options)
        } catch {
            // Wrong types and limits come before claims that are not evaluated.
            guard error == .unsupported else { throw error }
            unsupported = unsupported ?? ClaimLabel(label)
            try reader.skip(toDepth: depth)
        }
        guard let start = UInt16(exactly: options.base + start),
            let end = UInt16(exactly: options.base + reader.position)
        else { throw .tooLarge }
        extents[claim.rawValue] = Extent(start: start, end: end)
    }

    private mutating func readValue(
        of claim: CATClaim,
        from reader: inout ClaimReader,
        options: Options
    ) throws(ClaimFault) {
        switch claim {
        case .expiration: expires = try reader.time()
        case .notBefore: notBefore = try reader.time(roundsUp: true)
        case .issuedAt: issuedAt = try reader.time()
        case .replay: replay = try reader.unsigned(0...2)
        case .version: version = try reader.unsigned(0...UInt64.max)
        case .sessionEnd: sessionEnd = try reader.unsigned(0...1 << 53)
        case .renewal: try readRenewal(from: &reader)
        case .or, .nor, .and: try Self.checkSets(from: &reader, options)
        case .critical: for _ in 0..<(try reader.array(1...64)) { try reader.checkLabel() }
        default: try reader.check(claim)
        }
    }

    /// Reads `catr`. A malformed one is recorded as malformed: the issuer's profile determines if the token is refused
    /// or not renewed.
    private mutating func readRenewal(from reader: inout ClaimReader) throws(ClaimFault) {
        let head = try reader.next()
        guard case .map(let count) = head else {
            try reader.skip(contentsOf: head)
            if head != .null { renewal = .malformed }
            return
        }
        let depth = reader.depth - (count > 0 ? 1 : 0)
        do throws(ClaimFault) {
            renewal = .valid(try reader.checkRenewal(entries: count))
        } catch {
            guard error != .tooLarge else { throw error }
            renewal = .malformed
            try reader.skip(toDepth: depth)
        }
    }

    /// Checks the sets of claims in a composite: at most 64 in all, 8 deep.
    private static func checkSets(from reader: inout ClaimReader, _ options: Options) throws(ClaimFault) {
        try reader.enterComposite()
        var options = options
        options.isNested = true
        for _ in 0..<(try reader.array(1...64)) {
            try reader.countSet()
            do throws(Fault) {
                let set = try ClaimSet(from: &reader, options)
                if set.unsupported != nil { reader.hasUnsupportedSet = true }
            } catch {
                throw error.fault
            }
        }
        reader.leaveComposite()
        if reader.hasUnsupportedSet { throw .unsupported }
    }
}
