// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// Numbers of threads, so that a thread can have its own part of a shared object.
///
/// A thread gets the lowest number that no other one has, and gives it back when it ends. Threads that work at the same
/// time therefore have numbers without gaps. The first two never have the same part of two.
package enum ThreadNumber {
    /// The numbers up to 63 that threads have, a bit for each.
    private static let taken = Atomic<UInt64>(0)
    /// The next number of a thread for which none of those is left. These numbers are not given back.
    private static let next = Atomic<Int>(64)
    /// The key of the number in the thread's own memory; `nil` if the process has no more keys.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key) { giveBack(Int(bitPattern: $0) - 1) } == 0 ? key : nil
    }()

    /// The number of the current thread.
    package static var current: Int {
        guard let key else { return 0 }
        // The memory has the number that follows, since a thread without one has 0.
        if let known = unsafe pthread_getspecific(key) { return Int(bitPattern: known) - 1 }
        let number = claim()
        _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number + 1))
        return number
    }

    private static func claim() -> Int {
        var known = taken.load(ordering: .relaxed)
        while known != .max {
            let number = (~known).trailingZeroBitCount
            let (isTaken, present) = taken.compareExchange(
                expected: known,
                desired: known | 1 << UInt64(number),
                ordering: .acquiringAndReleasing
            )
            if isTaken { return number }
            known = present
        }
        return next.add(1, ordering: .relaxed).oldValue
    }

    private static func giveBack(_ number: Int) {
        guard 0..<64 ~= number else { return }
        _ = taken.bitwiseAnd(~(1 << UInt64(number)), ordering: .acquiringAndReleasing)
    }
}
