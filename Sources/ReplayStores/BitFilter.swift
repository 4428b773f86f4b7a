// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A set of bits that are only ever set, read without a lock: it identifies numbers that are certainly not in a table.
@safe
final class BitFilter: @unchecked Sendable {
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int

    /// Creates a filter.
    ///
    /// - Parameter logarithm: The binary logarithm of the number of bits, at least 6.
    init(bitsAsPowerOfTwo logarithm: Int) {
        count = 1 << (max(logarithm, 6) - 6)
        unsafe words = UnsafeMutablePointer.allocate(capacity: count)
        for index in 0..<count { unsafe (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe words.deinitialize(count: count)
        unsafe words.deallocate()
    }

    /// Sets the bit of a number, after everything that the caller has written before.
    func insert(_ number: UInt64) {
        let (index, bit) = position(number)
        unsafe words[index].bitwiseOr(bit, ordering: .releasing)
    }

    /// False if the number was never inserted; true if it may have been.
    func mayContain(_ number: UInt64) -> Bool {
        let (index, bit) = position(number)
        return unsafe words[index].load(ordering: .acquiring) & bit != 0
    }

    /// The low bits select the bit. They must be evenly distributed, like those of a digest.
    private func position(_ number: UInt64) -> (index: Int, bit: UInt64) {
        (Int(truncatingIfNeeded: number >> 6) & (count - 1), 1 << (number & 63))
    }
}
