// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Values by byte strings, found by a hash that grows with its text. One pass over a path gives the hashes of all its
/// folders.
///
/// A dictionary hashes each folder of a path from its start, which was a fourth of a cached decision. The keys are
/// those of the catalogue, so a client cannot make them collide. A path of many segments costs no more than its length.
struct PrefixTable<Value: Sendable>: Sendable {
    private var members: [Member] = []
    /// The keys, one after the other.
    private var keys: [UInt8] = []
    /// Slots of members by hash. Their number is a power of two, and at least half of them are free.
    private var slots: [Slot] = []

    private struct Member {
        let key: Range<Int>
        let hash: UInt64
        var value: Value
    }

    private struct Slot {
        var hash: UInt64 = 0
        /// The index among the members; negative for a free slot.
        var index = -1
    }

    var isEmpty: Bool { members.isEmpty }

    /// The values, in the order in which they were inserted.
    var values: some Collection<Value> { members.lazy.map(\.value) }

    /// Returns the index of a text, for ``subscript(_:)-(Int)``; `nil` if the table does not have it.
    ///
    /// - Parameter hash: The hash of the text.
    func index(of text: Span<UInt8>, _ hash: PrefixHash) -> Int? {
        guard !slots.isEmpty else { return nil }
        let (mask, keys) = (slots.count &- 1, keys.span)
        var slot = Int(truncatingIfNeeded: hash.mixed) & mask
        while true {
            let found = slots[slot]
            if found.index < 0 { return nil }
            if found.hash == hash.value, keys.extracting(members[found.index].key).hasSameBytes(as: text) {
                return found.index
            }
            slot = (slot &+ 1) & mask
        }
    }

    /// The value at an index.
    subscript(index: Int) -> Value { members[index].value }

    /// The value of a text.
    subscript(text: Substring) -> Value? {
        get {
            let bytes = text.utf8.span
            guard let index = index(of: bytes, PrefixHash(bytes)) else { return nil }
            return members[index].value
        }
        set {
            guard let newValue else { return }
            let hash = PrefixHash(text.utf8.span)
            if let index = index(of: text.utf8.span, hash) {
                members[index].value = newValue
                return
            }
            let start = keys.count
            keys += text.utf8
            members.append(Member(key: start..<keys.count, hash: hash.value, value: newValue))
            if slots.count < 2 * members.count { grow() } else { enter(members.count - 1, under: hash) }
        }
    }

    private mutating func grow() {
        slots = [Slot](repeating: Slot(), count: max(8, 2 * slots.count))
        for (index, member) in members.enumerated() { enter(index, under: PrefixHash(value: member.hash)) }
    }

    private mutating func enter(_ index: Int, under hash: PrefixHash) {
        var slot = Int(truncatingIfNeeded: hash.mixed) & (slots.count - 1)
        while slots[slot].index >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Slot(hash: hash.value, index: index)
    }
}

/// The hash of a byte string, computed byte by byte.
///
/// Source: FNV-1a, 64 bits.
struct PrefixHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds a byte.
    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

    /// The hash with its better half, the upper one, in the lower half too.
    fileprivate var mixed: UInt64 { value ^ value >> 32 }
}

extension PrefixHash {
    /// The hash of a whole text.
    init(_ text: Span<UInt8>) {
        for index in text.indices { add(text[index]) }
    }
}
