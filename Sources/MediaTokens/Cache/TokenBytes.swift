// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// Hashing and comparison of token bytes. The only unsafe code of the cache.
enum TokenBytes {
    /// True if both have the same bytes.
    static func areEqual(_ left: [UInt8], _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Returns a hash that selects a place in the table. A collision costs only a comparison, so the hash need not be
    /// cryptographic: four lanes of multiply and fold, eight bytes at a time, from a secret seed.
    static func hash(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return fold(seed) }
            var (a, b, c, d) = (seed, seed ^ 0x9E37_79B9_7F4A_7C15, seed ^ 0xC2B2_AE3D_27D4_EB4F, ~seed)
            var position = 0
            while position &+ 32 <= bytes.count {
                unsafe a = fold(a ^ word(start + position))
                unsafe b = fold(b ^ word(start + position + 8))
                unsafe c = fold(c ^ word(start + position + 16))
                unsafe d = fold(d ^ word(start + position + 24))
                position &+= 32
            }
            while position &+ 8 <= bytes.count {
                unsafe a = fold(a ^ word(start + position))
                position &+= 8
            }
            var rest: UInt64 = 0
            while position < bytes.count {
                rest = unsafe rest << 8 | UInt64(bytes[position])
                position &+= 1
            }
            return fold(fold(a ^ rest) ^ fold(b ^ UInt64(bytes.count)) &+ fold(c) ^ fold(d &+ 1))
        }
    }

    @unsafe
    private static func word(_ pointer: UnsafeRawPointer) -> UInt64 {
        unsafe pointer.loadUnaligned(as: UInt64.self)
    }

    private static func fold(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
