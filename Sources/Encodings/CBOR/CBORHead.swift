// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An item as ``CBORReader/next()`` returns it: a whole number, string or simple value, or the start of a composite.
///
/// Strings are ranges of positions in the reader's bytes, so that reading allocates nothing.
package enum CBORHead: Equatable, Sendable {
    /// An unsigned integer.
    case unsigned(UInt64)
    /// The negative integer −1 − n.
    case negative(UInt64)
    /// A byte string.
    case bytes(Range<Int>)
    /// A text string, which is valid UTF-8.
    case text(Range<Int>)
    /// An array, whose elements follow: this many items.
    case array(Int)
    /// A map, whose entries follow: this many pairs of a key and a value.
    case map(Int)
    /// A tag. The item that it is for follows.
    case tag(UInt64)
    /// A finite number, read from 16, 32 or 64 bits.
    case float(Double)
    case bool(Bool)
    case null

    /// The integer, or `nil` for other items and beyond 64 bits.
    package var integer: Int64? {
        switch self {
        case .unsigned(let value): Int64(exactly: value)
        case .negative(let value): Int64(exactly: value).map { -1 - $0 }
        default: nil
        }
    }
}
