// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A set of ASCII characters, a bit for each.
package struct ASCIISet: Sendable {
    @usableFromInline var low: UInt64 = 0
    @usableFromInline var high: UInt64 = 0

    /// Creates the set of the characters that `isMember` accepts.
    package init(_ isMember: (UInt8) -> Bool) {
        for byte in UInt8(0)..<128 where isMember(byte) {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
    }

    /// True for a character of the set.
    @inlinable
    package func contains(_ byte: UInt8) -> Bool {
        byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte & 63) & 1 == 1
    }
}
