// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A pool of slot numbers, each held by one holder at a time.
///
/// The OpenSSL and libxml2 objects that are worth reusing are not thread-safe. Their owner has one object for each
/// slot, and uses the one whose slot it holds. A thread gets the slot of the hash of its identity, or the next free
/// one, so an object stays in the cache of the core that used it last. Callers never wait, and share no lock.
///
/// The pool does not hold the objects itself. It would have to be generic, and a generic class that is used across
/// modules costs a metadata look-up on every call, which is a third of a cache hit.
package final class SlotPool: Sendable {
    private let slots: [Slot]
    private let shift: UInt64

    /// Creates a pool.
    ///
    /// - Parameter count: The number of slots, rounded up to a power of two, at least 2. By default twice the number of
    ///   cores, so that two threads rarely need the same one.
    package init(count: Int = 2 * onlineCores()) {
        let bits = max(count, 2).nextPowerOfTwoExponent
        slots = (0..<(1 << bits)).map { _ in Slot() }
        shift = UInt64(64 - bits)
    }

    /// The number of slots.
    package var count: Int { slots.count }

    /// Acquires a free slot. Returns `nil` if all are in use.
    package func acquire() -> Int? {
        let home = homeSlot()
        for step in 0..<slots.count {
            let number = (home + step) & (slots.count - 1)
            if slots[number].acquire() { return number }
        }
        return nil
    }

    /// Returns a slot of ``acquire()`` to the pool. Ignores `nil`.
    package func release(_ slot: Int?) {
        if let slot { slots[slot].release() }
    }

    private func homeSlot() -> Int {
        #if canImport(Darwin)
            let thread = UInt64(UInt(bitPattern: unsafe pthread_self()))
        #else
            let thread = UInt64(pthread_self())
        #endif
        // Thread identities are addresses that differ in a few middle bits. Knuth's multiplicative hash spreads them.
        return Int(truncatingIfNeeded: (thread &* 0x9E37_79B9_7F4A_7C15) >> shift)
    }

    /// A flag that is set while the slot is held, with cache lines of its own so that neighbours do not slow each other
    /// down.
    private final class Slot: Sendable {
        private let before = Padding()
        private let isTaken = Atomic<Bool>(false)
        private let after = Padding()

        func acquire() -> Bool {
            !isTaken.load(ordering: .relaxed)
                && isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        }

        func release() { isTaken.store(false, ordering: .releasing) }
    }
}

/// Padding of 128 bytes: two cache lines, as processors fetch them in pairs.
private struct Padding: Sendable {
    let bytes: [16 of UInt64] = .init(repeating: 0)
}

extension Int {
    /// The exponent of the smallest power of two that is at least this positive number.
    fileprivate var nextPowerOfTwoExponent: Int { Int.bitWidth - (self - 1).leadingZeroBitCount }
}
