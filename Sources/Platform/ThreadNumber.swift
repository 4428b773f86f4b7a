// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// Numbers of threads, from 0 in the order in which they first ask: a thread can so have its own part of what would otherwise be
/// shared, and two threads that work at the same time rarely have the same one.
package enum ThreadNumber {
    private static let numbers = Atomic<Int>(0)
    /// The key of the number in the thread's own memory; `nil` if the process has no more keys.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// The number of the current thread.
    package static var current: Int {
        guard let key else { return 0 }
        // The memory has the number that follows, since a thread without one has 0.
        if let known = unsafe pthread_getspecific(key) { return Int(bitPattern: known) - 1 }
        let number = numbers.add(1, ordering: .relaxed).oldValue
        _ = unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number + 1))
        return number
    }
}
