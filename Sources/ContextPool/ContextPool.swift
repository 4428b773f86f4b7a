// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A set of contexts, each of which serves one thread at a time.
///
/// The objects of OpenSSL and libxml2 that are worth reusing are not thread-safe. A thread takes the slot that its
/// identity hashes to, or the next free one, so a context stays warm in the cache of the core that used it last. Nobody
/// ever waits: when every slot is taken, a thread gets a context that is thrown away afterwards.
package final class ContextPool<Context: AnyObject & Sendable>: Sendable {
    private let slots: [Slot]
    private let shift: UInt64
    private let make: @Sendable () -> Context

    /// Makes an empty pool.
    ///
    /// - Parameters:
    ///   - slots: How many contexts are kept; rounded up to a power of two. Twice the cores by default, so that two
    ///     threads seldom want the same slot.
    ///   - make: Makes a context when a slot is used for the first time.
    package init(slots: Int = 2 * onlineCores(), make: @escaping @Sendable () -> Context) {
        let bits = max(slots, 2).nextPowerOfTwoExponent
        self.slots = (0..<(1 << bits)).map { _ in Slot() }
        self.shift = UInt64(64 - bits)
        self.make = make
    }

    /// Takes a context that no other thread uses until it is given back.
    ///
    /// - Returns: The context, and the number of its slot for ``giveBack(_:)``. A pair and not a value that gives back by
    ///   itself: one that is generic costs a look-up of metadata each time, a third of a cache hit.
    package func take() -> (context: Context, slot: Int) {
        let home = homeSlot()
        for step in 0..<slots.count {
            let slot = (home + step) & (slots.count - 1)
            if slots[slot].take() { return (slots[slot].prepared(make), slot) }
        }
        return (make(), -1)
    }

    /// Gives back what ``take()`` returned. The context must not be used any more.
    package func giveBack(_ slot: Int) {
        if slot >= 0 { slots[slot].giveBack() }
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

    /// A context and whether somebody has it, alone on its cache lines so that neighbours do not slow each other down.
    private final class Slot: @unchecked Sendable {  // Only who has taken the slot touches the context.
        private let before = Padding()
        private let isTaken = Atomic<Bool>(false)
        private var context: Context?
        private let after = Padding()

        func take() -> Bool {
            !isTaken.load(ordering: .relaxed)
                && isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
        }

        func giveBack() { isTaken.store(false, ordering: .releasing) }

        func prepared(_ make: () -> Context) -> Context {
            if let context { return context }
            let context = make()
            self.context = context
            return context
        }
    }
}

/// 128 bytes: two cache lines, as processors fetch them in pairs.
private struct Padding: Sendable {
    let bytes: [16 of UInt64] = .init(repeating: 0)
}

/// The number of processors that are online, at least one.
package func onlineCores() -> Int {
    max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
}

extension Int {
    /// The exponent of the smallest power of two that is not below this positive number.
    fileprivate var nextPowerOfTwoExponent: Int { Int.bitWidth - (self - 1).leadingZeroBitCount }
}
