// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A text that is compared and hashed by its bytes: two spellings of one character are two names.
struct ByteKey: Hashable {
    let text: Substring

    init(_ text: Substring) { self.text = text }
    init(_ text: String) { self.text = text[...] }

    static func == (left: ByteKey, right: ByteKey) -> Bool {
        let (left, right) = (left.text.utf8, right.text.utf8)
        return left.count == right.count && left.elementsEqual(right)
    }

    func hash(into hasher: inout Hasher) {
        // All bytes at once: a hasher that is fed them one by one takes ten times as long.
        let isWhole: Void? = unsafe text.utf8.withContiguousStorageIfAvailable {
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isWhole == nil { for byte in text.utf8 { hasher.combine(byte) } }
        hasher.combine(UInt8(0xFF))
    }
}
