// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The owner of a buffer that is written and read again and again, by one thread at a time.
///
/// An array would do, but for the counts of references and the checks for exclusive access that a property of a shared
/// object costs on every use.
@safe
struct ScratchBytes: ~Copyable, @unchecked Sendable {
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    /// Takes memory for `count` bytes, which are zero.
    init(count: Int) {
        unsafe bytes = .allocate(capacity: count)
        unsafe bytes.initialize(repeating: 0)
    }

    deinit { unsafe bytes.deallocate() }

    /// Fills the buffer with what `write` writes, and runs `body` with the first bytes, as many as `write` says; nil
    /// where it says nil.
    func fill<Result: ~Copyable>(
        _ write: (inout MutableSpan<UInt8>) -> Int?,
        then body: (Span<UInt8>) -> Result
    ) -> Result? {
        var output = unsafe MutableSpan(_unsafeElements: bytes)
        guard let count = write(&output) else { return nil }
        return body(unsafe Span(_unsafeElements: UnsafeBufferPointer(bytes)).extracting(first: count))
    }
}
