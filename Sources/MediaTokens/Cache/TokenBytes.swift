// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// Hashing of token bytes.
enum TokenBytes {
    /// Returns a hash that selects a slot in the table. A collision costs only a comparison, so the hash need not be
    /// cryptographic: two lanes that multiply two words with each other and fold, 32 bytes at a time. Both factors contain secrets
    /// that come from the seed, so no sender can choose a factor of zero.
    static func hash(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return fold(seed) }
            let (one, other) = (0x9E37_79B9_7F4A_7C15 as UInt64, 0xC2B2_AE3D_27D4_EB4F as UInt64)
            var (a, b) = (fold(seed &+ one), fold(seed &+ other))
            let (first, second) = (fold(a &+ one), fold(b &+ other))
            var rest: UInt64 = 0
            if bytes.count >= 32 {
                // The last step processes the last 32 bytes, some of them again.
                let last = bytes.count &- 32
                let step = { (pointer: UnsafeRawPointer) in
                    unsafe a = fold(a ^ word(pointer), with: first ^ word(pointer + 8))
                    unsafe b = fold(b ^ word(pointer + 16), with: second ^ word(pointer + 24))
                }
                var position = 0
                while position < last {
                    unsafe step(start + position)
                    position &+= 32
                }
                unsafe step(start + last)
            } else {
                for position in bytes.indices {
                    rest = unsafe rest << 8 | UInt64(bytes[position])
                    if position & 7 == 7 { a = fold(a ^ rest) }
                }
            }
            return fold(fold(a ^ rest) ^ fold(b ^ UInt64(bytes.count)))
        }
    }

    @unsafe
    private static func word(_ pointer: UnsafeRawPointer) -> UInt64 {
        unsafe pointer.loadUnaligned(as: UInt64.self)
    }

    private static func fold(_ value: UInt64, with other: UInt64 = 0xD6E8_FEB8_6659_FD93) -> UInt64 {
        let product = value.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }
}
