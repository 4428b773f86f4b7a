// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import RequestTargets

// Restrictions to networks and locations of the client.

extension ClaimSet {
    func networkRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        var unknown: RequestFact?
        var walker = ItemWalker(context.payload, at: range)
        for _ in 0..<walker.count() {
            let (kind, value) = walker.head()
            guard kind == .tag else {
                guard let number = facts.clientASN else {
                    unknown = unknown ?? .clientASN
                    continue
                }
                if UInt64(number) == value { return nil }
                continue
            }
            let isIPv4 = value == 52
            let (shape, first) = walker.head()
            var (length, prefix) = (isIPv4 ? 32 : 128, 0..<0)
            if shape == .array {
                length = Int(truncatingIfNeeded: walker.head().value)
                prefix = walker.string()
            } else {
                prefix = walker.string(length: Int(truncatingIfNeeded: first))
            }
            guard let address = facts.clientAddress else {
                unknown = .clientAddress
                continue
            }
            if address.has(prefix: context.payload.extracting(prefix), length: length, isIPv4: isIPv4) { return nil }
        }
        return unknown.map { refusal(unknown: $0, by: .networks, in: context) }
            ?? refusal(.addressMismatch, by: .networks, in: context)
    }

    func geohashRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        guard let position = facts.position else { return refusal(unknown: .position, by: .geohash, in: context) }
        let geohash = position.geohash
        var walker = ItemWalker(context.payload, at: range)
        let isWithin = walker.hasString { geohash.utf8.span.contains($0, at: 0) }
        return isWithin ? nil : refusal(.locationMismatch, by: .geohash, in: context)
    }

    func countryRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        guard let countries = facts.countries, !countries.isEmpty else {
            return refusal(unknown: .countries, by: .countries, in: context)
        }
        var walker = ItemWalker(context.payload, at: range)
        let isNamed = walker.hasString { code in countries.contains { $0.utf8.span.equalsIgnoringCase(code) } }
        return isNamed ? nil : refusal(.locationMismatch, by: .countries, in: context)
    }

    func circleRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        guard let position = facts.position else { return refusal(unknown: .position, by: .coordinates, in: context) }
        do throws(ClaimFault) {
            var reader = ClaimReader(context.payload.extracting(range))
            for _ in 0..<(try reader.array(1...64)) {
                _ = try reader.array(3...3)
                let (latitude, longitude) = (try reader.number(-90...90), try reader.number(-180...180))
                let radius = try reader.number(0...1e9)
                if let center = Position(latitude: latitude, longitude: longitude),
                    position.distance(to: center) <= radius
                {
                    return nil
                }
            }
            return refusal(.locationMismatch, by: .coordinates, in: context)
        } catch {
            return refusal(error.code, by: .coordinates, in: context)
        }
    }
}

extension Span<UInt8> {
    /// True if both are equal, letters of ASCII in either case.
    fileprivate func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index].lowercasedASCII != other[index].lowercasedASCII { return false }
        return true
    }
}
