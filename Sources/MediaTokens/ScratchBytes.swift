// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The owner of a reusable buffer, for one thread at a time.
///
/// An array in a property of a shared object would cost reference counting and exclusivity checks on every use.
@safe
struct ScratchBytes: ~Copyable, @unchecked Sendable {
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    /// Allocates `count` bytes, which are zero.
    init(count: Int) {
        unsafe bytes = .allocate(capacity: count)
        unsafe bytes.initialize(repeating: 0)
    }

    deinit { unsafe bytes.deallocate() }

    /// Calls `write` to fill the buffer, then `body` with the first bytes, as many as `write` returns. Returns `nil` if
    /// `write` returns `nil`.
    func fill<Result: ~Copyable>(
        _ write: (inout MutableSpan<UInt8>) -> Int?,
        then body: (Span<UInt8>) -> Result
    ) -> Result? {
        var output = unsafe MutableSpan(_unsafeElements: bytes)
        guard let count = write(&output) else { return nil }
        return body(unsafe Span(_unsafeElements: UnsafeBufferPointer(bytes)).extracting(first: count))
    }
}
