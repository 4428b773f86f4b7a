// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// Comparisons whose time does not depend on the bytes, only on their number.
package enum ConstantTime {
    /// True if both have the same bytes.
    package static func equals(_ left: Span<UInt8>, to right: Span<UInt8>) -> Bool {
        unsafe right.withUnsafeBufferPointer { unsafe equals(left, to: $0) }
    }

    /// True if both have the same bytes.
    @unsafe
    static func equals(_ left: Span<UInt8>, to right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            guard let first = left.baseAddress, let second = right.baseAddress else { return true }
            return unsafe CRYPTO_memcmp(first, second, left.count) == 0
        }
    }
}

/// Random bytes of OpenSSL's generator, which the system seeds.
package enum RandomBytes {
    /// Returns `count` bytes that nobody can foretell.
    package static func make(_ count: Int) throws(OpenSSLError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&bytes, Int32(count)) == 1 else { throw .drained() }
        return bytes
    }
}
