// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why bytes are refused as CBOR, or a value is not written.
package enum CBORFault: Error, Equatable, Sendable {
    /// The bytes end within an item.
    case truncated
    /// Bytes follow the item.
    case trailingBytes
    /// A string, array or map of indefinite length, or a break.
    case indefiniteLength
    /// An integer or a length that has a shorter form (RFC 8949 §4.2.1).
    case notShortest
    /// Additional information 28, 29 or 30, which RFC 8949 §3 reserves.
    case reserved
    /// A simple value other than false, true and null.
    case unsupportedSimpleValue
    /// A float that is NaN, infinite or negative zero.
    case invalidFloat
    /// A text string that is not UTF-8.
    case invalidUTF8
    /// A key that is neither an integer nor a text string within the limit.
    case invalidKey
    /// A map with two equal keys.
    case duplicateKey
    /// Arrays and maps nested deeper than the limit.
    case tooDeep
    /// More items than the limit.
    case tooManyItems
    /// A string longer than the limit.
    case stringTooLong
    /// An item of another type, or a number of another range, than requested.
    case unexpectedType
}

/// The limits of a ``CBORReader``.
package struct CBORLimits: Sendable {
    /// The largest depth of nested arrays and maps, at most 16.
    let depth: Int
    /// The largest number of items in all, those in arrays and maps and tags included.
    let items: Int
    /// The largest length of a string in bytes.
    let stringLength: Int
    /// The largest length of a text key in bytes.
    let keyLength: Int
    /// True if the number of a tag may have a longer form than it needs.
    let allowsLongTags: Bool

    /// Creates limits. The defaults are those for tokens.
    package init(
        depth: Int = 16,
        items: Int = 256,
        stringLength: Int = 4096,
        keyLength: Int = 64,
        allowsLongTags: Bool = false
    ) {
        self.depth = min(depth, CBORReader.maximumDepth)
        self.items = items
        self.stringLength = stringLength
        self.keyLength = keyLength
        self.allowsLongTags = allowsLongTags
    }

    /// The limits for the claims and headers of a token.
    package static let token = CBORLimits()
    /// The limits for the envelope of a token: real ones write the tag 17 in two bytes.
    package static let envelope = CBORLimits(depth: 4, items: 64, allowsLongTags: true)
}
