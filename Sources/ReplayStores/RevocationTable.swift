// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

/// A part of the mirror of revocations: a hash table with open addressing, whose look-up reads one or two cache lines.
///
/// At most three quarters of its places are in use. Tags are evenly distributed, but the ids of playbacks are what callers of
/// the API say, so the hash is seeded.
struct RevocationTable {
    /// The facts about a revoked subject.
    package struct Entry {
        /// The kind of the subject; `nil` if it is not known.
        package var kind: Revocation.Kind?
        /// The time before which tokens must have been issued to be revoked.
        package var issuedBefore: Timestamp
        /// The end of the last session that the revocation covers. Stored in whole seconds, rounded up.
        package var kept: Timestamp
    }

    /// A place: 32 bytes.
    private struct Place {
        package var high: UInt64 = 0
        package var low: UInt64 = 0
        package var issuedBefore: Int64 = 0
        package var kept: UInt32 = 0
        package var isUsed = false
        package var kind: Revocation.Kind?

        package init() {}

        package init(_ high: UInt64, _ low: UInt64, _ entry: Entry) {
            (self.high, self.low) = (high, low)
            (issuedBefore, kind, isUsed) = (entry.issuedBefore.millisecondsSince1970, entry.kind, true)
            kept = UInt32(clamping: entry.kept.advanced(byMilliseconds: 999).millisecondsSince1970 / 1000)
        }

        package var entry: Entry {
            Entry(
                kind: kind,
                issuedBefore: Timestamp(millisecondsSince1970: issuedBefore),
                kept: Timestamp(secondsSince1970: Int64(kept))
            )
        }
    }

    private var places = [Place()]
    private let seed: UInt64
    private let second: UInt64
    /// The number of subjects.
    package private(set) var count = 0

    init(seed: UInt64) {
        self.seed = seed
        second = seed.byteSwapped &* 0x9E37_79B9_7F4A_7C15 ^ 0xD1B5_4A32_D192_ED03
    }

    /// Returns the time before which tokens must have been issued to be revoked; `nil` if the subject is not in the table.
    package func issuedBefore(_ high: UInt64, _ low: UInt64) -> Timestamp? {
        let place = places[find(high, low)]
        return place.isUsed ? Timestamp(millisecondsSince1970: place.issuedBefore) : nil
    }

    subscript(tag: SubjectTag) -> Entry? {
        let place = places[find(tag.high, tag.low)]
        return place.isUsed ? place.entry : nil
    }

    /// Stores the entry of a subject, in place of the one that it has.
    package mutating func set(_ entry: Entry, for tag: SubjectTag) {
        var index = find(tag.high, tag.low)
        if !places[index].isUsed {
            if (count + 1) * 4 > places.count * 3 {
                rebuild(places.count * 2) { _ in true }
                index = find(tag.high, tag.low)
            }
            count += 1
        }
        places[index] = Place(tag.high, tag.low, entry)
    }

    /// Removes the entries for which `isOver` is true. Returns how many.
    package mutating func remove(where isOver: (Entry) -> Bool) -> Int {
        let over = places.count { $0.isUsed && isOver($0.entry) }
        guard over > 0 else { return 0 }
        var size = places.count
        while size > 1, (count - over) * 8 < size * 3 { size /= 2 }
        rebuild(size) { !isOver($0) }
        return over
    }

    /// The tags of all subjects, in no order.
    package var tags: [SubjectTag] { places.lazy.filter(\.isUsed).map { SubjectTag(high: $0.high, low: $0.low) } }

    /// Returns the index of a subject's place, or of the free place where it belongs.
    private func find(_ high: UInt64, _ low: UInt64) -> Int {
        let mask = places.count - 1
        // Neither factor is known to a caller, who could otherwise make one of them zero for many ids.
        let product = (high ^ seed).multipliedFullWidth(by: low ^ second)
        var index = Int(truncatingIfNeeded: product.high ^ product.low) & mask
        while places[index].isUsed, places[index].low != low || places[index].high != high {
            index = (index + 1) & mask
        }
        return index
    }

    /// Moves the entries that stay into a table of `size` places, a power of two with room for them.
    private mutating func rebuild(_ size: Int, _ isKept: (Entry) -> Bool) {
        let old = places
        places = Array(repeating: Place(), count: size)
        count = 0
        for place in old where place.isUsed && isKept(place.entry) {
            places[find(place.high, place.low)] = place
            count += 1
        }
    }
}
