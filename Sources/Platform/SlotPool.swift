// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// Hands out the numbers of a set of slots, each to one holder at a time.
///
/// The objects of OpenSSL and libxml2 that are worth reusing are not thread-safe. Whoever has such objects, one for each
/// slot, uses the one whose number it holds. A thread gets the slot that its identity hashes to, or the next free one, so
/// an object stays warm in the cache of the core that used it last. Nobody waits, and no lock is shared.
///
/// It does not hold the objects itself: it would be generic then, and a generic class that is used across modules costs
/// a look-up of metadata on every call, which is a third of a cache hit.
package final class SlotPool: Sendable {
    private let slots: [Slot]
    private let shift: UInt64

    /// Makes a pool.
    ///
    /// - Parameter count: How many slots there are; rounded up to a power of two. Twice the cores by default, so that two
    ///   threads seldom want the same one.
    package init(count: Int = 2 * onlineCores()) {
        let bits = max(count, 2).nextPowerOfTwoExponent
        slots = (0..<(1 << bits)).map { _ in Slot() }
        shift = UInt64(64 - bits)
    }

    /// The number of slots.
    package var count: Int { slots.count }

    /// Takes a slot that nobody else holds; nil where all are taken.
    package func take() -> Int? {
        let home = homeSlot()
        for step in 0..<slots.count {
            let number = (home + step) & (slots.count - 1)
            if slots[number].take() { return number }
        }
        return nil
    }

    /// Gives a slot back that ``take()`` returned.
    package func release(_ slot: Int?) {
        if let slot { slots[slot].release() }
    }

    private func homeSlot() -> Int {
        #if canImport(Darwin)
            let thread = UInt64(UInt(bitPattern: unsafe pthread_self()))
        #else
            let thread = UInt64(pthread_self())
        #endif
        // Thread identities are addresses that differ in a few middle bits: spread them (Knuth's multiplicative hash).
        return Int(truncatingIfNeeded: (thread &* 0x9E37_79B9_7F4A_7C15) >> shift)
    }

    /// Whether somebody holds a slot, alone on its cache lines so that neighbours do not slow each other down.
    private final class Slot: Sendable {
        private let before = Padding()
        private let isTaken = Atomic<Bool>(false)
        private let after = Padding()

        func take() -> Bool {
            !isTaken.load(ordering: .relaxed)
                && isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        }

        func release() { isTaken.store(false, ordering: .releasing) }
    }
}

/// 128 bytes: two cache lines, as processors fetch them in pairs.
private struct Padding: Sendable {
    let bytes: [16 of UInt64] = .init(repeating: 0)
}

extension Int {
    /// The exponent of the smallest power of two that is not below this positive number.
    fileprivate var nextPowerOfTwoExponent: Int { Int.bitWidth - (self - 1).leadingZeroBitCount }
}
