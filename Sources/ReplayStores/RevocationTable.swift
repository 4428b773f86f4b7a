// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform

/// A part of the cache of revocations: a hash table with open addressing. A look-up reads one or two cache lines.
///
/// At most three quarters of its slots are in use. Tags are evenly distributed, but callers of the API choose the ids
/// of playbacks, so the hash is seeded.
struct RevocationTable {
    /// The facts about a revoked subject.
    struct Entry {
        /// The kind of the subject; `nil` if it is not known.
        package var kind: Revocation.Kind?
        /// The time before which tokens must have been issued to be revoked.
        package var issuedBefore: Timestamp
        /// The end of the last session that the revocation covers. Stored in whole seconds, rounded up.
        package var kept: Timestamp
    }

    /// A slot: 32 bytes.
    private struct Slot {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var issuedBefore: Int64 = 0
        var kept: UInt32 = 0
        var isUsed = false
        var kind: Revocation.Kind?

        init() {}

        init(high: UInt64, low: UInt64, entry: Entry) {
            (self.high, self.low) = (high, low)
            (issuedBefore, kind, isUsed) = (entry.issuedBefore.millisecondsSince1970, entry.kind, true)
            kept = UInt32(clamping: entry.kept.advanced(byMilliseconds: 999).millisecondsSince1970 / 1000)
        }

        var entry: Entry {
            Entry(
                kind: kind,
                issuedBefore: Timestamp(millisecondsSince1970: issuedBefore),
                kept: Timestamp(secondsSince1970: Int64(kept))
            )
        }
    }

    private var slots = [Slot()]
    private let seed: UInt64
    private let second: UInt64
    /// The number of subjects.
    private(set) var count = 0

    init(seed: UInt64) {
        self.seed = seed
        second = seed.byteSwapped &* 0x9E37_79B9_7F4A_7C15 ^ 0xD1B5_4A32_D192_ED03
    }

    /// Returns the time before which revoked tokens were issued; `nil` if the subject is not in the table.
    func issuedBefore(high: UInt64, low: UInt64) -> Timestamp? {
        let slot = slots[find(high: high, low: low)]
        return slot.isUsed ? Timestamp(millisecondsSince1970: slot.issuedBefore) : nil
    }

    subscript(tag: SubjectTag) -> Entry? {
        let slot = slots[find(high: tag.high, low: tag.low)]
        return slot.isUsed ? slot.entry : nil
    }

    /// Stores the entry of a subject, instead of its present one.
    mutating func set(_ entry: Entry, for tag: SubjectTag) {
        var index = find(high: tag.high, low: tag.low)
        if !slots[index].isUsed {
            if (count + 1) * 4 > slots.count * 3 {
                rebuild(to: slots.count * 2) { _ in true }
                index = find(high: tag.high, low: tag.low)
            }
            count += 1
        }
        slots[index] = Slot(high: tag.high, low: tag.low, entry: entry)
    }

    /// Removes the entries for which `isOver` is true. Returns how many.
    mutating func remove(where isOver: (Entry) -> Bool) -> Int {
        let over = slots.count { $0.isUsed && isOver($0.entry) }
        guard over > 0 else { return 0 }
        var size = slots.count
        while size > 1, (count - over) * 8 < size * 3 { size /= 2 }
        rebuild(to: size) { !isOver($0) }
        return over
    }

    /// The tags of all subjects, in no order.
    var tags: [SubjectTag] { slots.lazy.filter(\.isUsed).map { SubjectTag(high: $0.high, low: $0.low) } }

    /// Returns the index of a subject's slot, or of the free slot where it belongs.
    private func find(high: UInt64, low: UInt64) -> Int {
        let mask = slots.count - 1
        // Neither factor is known to a caller, who could otherwise make one of them zero for many ids.
        let product = (high ^ seed).multipliedFullWidth(by: low ^ second)
        var index = Int(truncatingIfNeeded: product.high ^ product.low) & mask
        while slots[index].isUsed, slots[index].low != low || slots[index].high != high {
            index = (index + 1) & mask
        }
        return index
    }

    /// Moves the remaining entries into a table of `size` slots, a power of two with room for them.
    private mutating func rebuild(to size: Int, where isKept: (Entry) -> Bool) {
        let old = slots
        slots = Array(repeating: Slot(), count: size)
        count = 0
        for slot in old where slot.isUsed && isKept(slot.entry) {
            slots[find(high: slot.high, low: slot.low)] = slot
            count += 1
        }
    }
}
