// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import RequestTargets

// Restrictions to networks and places of the client.

extension ClaimSet {
    func networkRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        var unknown: RequestFact?
        var walker = ItemWalker(context.payload, at: place)
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
        return unknown.map { refusal(unknown: $0, .networks, context) } ?? refusal(.addressMismatch, .networks, context)
    }

    func geohashRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        guard let position = facts.position else { return refusal(unknown: .position, .geohash, context) }
        let geohash = position.geohash
        var walker = ItemWalker(context.payload, at: place)
        let isWithin = walker.hasString { geohash.utf8.span.contains($0, at: 0) }
        return isWithin ? nil : refusal(.locationMismatch, .geohash, context)
    }

    func countryRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        guard let countries = facts.countries, !countries.isEmpty else {
            return refusal(unknown: .countries, .countries, context)
        }
        var walker = ItemWalker(context.payload, at: place)
        let isNamed = walker.hasString { code in countries.contains { $0.utf8.span.equalsIgnoringCase(code) } }
        return isNamed ? nil : refusal(.locationMismatch, .countries, context)
    }

    func circleRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        guard let position = facts.position else { return refusal(unknown: .position, .coordinates, context) }
        do throws(ClaimFault) {
            var reader = ClaimReader(context.payload.extracting(place))
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
            return refusal(.locationMismatch, .coordinates, context)
        } catch {
            return refusal(error.code, .coordinates, context)
        }
    }
}

extension Span<UInt8> {
    /// True if both are equal, letters of ASCII in either case.
    fileprivate func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for place in indices where self[place].lowercasedASCII != other[place].lowercasedASCII { return false }
        return true
    }
}
