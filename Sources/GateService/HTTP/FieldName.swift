// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension String {
    /// Whether this is `name`, in letters of either case. Nothing else is folded: `_` is not `-`.
    func isSameField(_ name: StaticString) -> Bool {
        let bytes = utf8.span
        guard bytes.count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            for place in bytes.indices {
                let byte = bytes[place]
                let isUpper = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                guard unsafe (isUpper ? byte | 0x20 : byte) == name[place] else { return false }
            }
            return true
        }
    }
}
