// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A way of comparing a value of the request with a value in the token. The raw values are the labels of `catu` and `cath`.
package enum ValueMatch: Int64 {
    case exact = 0
    case prefix = 1
    case suffix = 2
    case contains = 3
    case regex = 4
    case sha256 = -1
    /// SHA-512/256, with its own initial values (FIPS 180-4 §5.3.6.2).
    case sha512t256 = -2

    /// Returns true if `value` matches `operand`. A pattern is compared by ``Pattern`` instead.
    package func holds(for value: Span<UInt8>, against operand: Span<UInt8>) -> Bool {
        switch self {
        case .exact: value.hasSameBytes(as: operand)
        case .prefix: value.contains(operand, at: 0)
        case .suffix: value.contains(operand, at: value.count - operand.count)
        case .contains: value.contains(operand)
        case .regex: false
        case .sha256: MessageDigest.sha256.isDigest(operand, of: value)
        case .sha512t256: MessageDigest.sha512_256.isDigest(operand, of: value)
        }
    }
}

extension Span<UInt8> {
    /// True if the bytes at `position` are `other`.
    package func contains(_ other: Span<UInt8>, at position: Int) -> Bool {
        guard position >= 0, position + other.count <= count else { return false }
        return extracting(position..<position + other.count).hasSameBytes(as: other)
    }

    /// True if `other`, which is not empty, occurs in these bytes.
    package func contains(_ other: Span<UInt8>) -> Bool {
        guard other.count > 0 else { return true }
        var start = 0
        while let index = firstIndex(of: other[0], from: start), index + other.count <= count {
            if contains(other, at: index) { return true }
            start = index + 1
        }
        return false
    }
}
