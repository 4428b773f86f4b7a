// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Eight bytes of ASCII in a word, compared together.

extension UInt64 {
    /// The highest bit of each byte.
    static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// Sets the highest bit of each byte that is at least `character`, if no byte is above 0x7F. The other bits mean nothing.
    func reaching(_ character: UInt8) -> UInt64 {
        // No byte carries into the next.
        self &+ 0x0101_0101_0101_0101 &* UInt64(0x80 - character)
    }
}
