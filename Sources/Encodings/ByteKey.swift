// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A key that is compared and hashed by its bytes: two Unicode spellings of one character are different keys.
package struct ByteKey: Hashable {
    package let text: Substring

    package init(_ text: Substring) { self.text = text }
    package init(_ text: String) { self.text = text[...] }

    package static func == (left: ByteKey, right: ByteKey) -> Bool {
        left.text.utf8.span.hasSameBytes(as: right.text.utf8.span)
    }

    package func hash(into hasher: inout Hasher) {
        // All bytes at once: feeding the hasher one byte at a time is ten times as slow.
        unsafe text.utf8.span.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        hasher.combine(UInt8(0xFF))
    }
}
