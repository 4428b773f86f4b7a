// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// What a client asked an edge for: a path and a query, neither of them decoded.
struct OriginalTarget {
    let path: Substring
    /// What follows the first `?`; nil where there is none.
    let query: Substring?

    /// The most bytes that a target may have.
    static let maximumSize = 24 * 1024

    /// Splits a target; nil where it is not in the one form that a gate and an origin understand alike.
    ///
    /// That form is RFC 9112's origin form, of bytes that can stand in a request line: no scheme and host, no fragment,
    /// no space and no control character. Invalid UTF-8 comes here as U+FFFD, which nobody sends, and is refused too.
    init?(_ target: Substring) {
        let bytes = target.utf8.span
        guard 1...Self.maximumSize ~= bytes.count, bytes[0] == UInt8(ascii: "/") else { return nil }
        guard !bytes.hasForbiddenByte else { return nil }
        let queryStart = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0)
        if let queryStart {
            let mark = target.utf8.index(target.startIndex, offsetBy: queryStart)
            path = target[..<mark]
            query = target[target.utf8.index(after: mark)...]
        } else {
            path = target
            query = nil
        }
    }

    init(path: Substring, query: Substring?) {
        self.path = path
        self.query = query
    }
}

extension Span<UInt8> {
    /// Whether there is a space, a control character, a `#`, or U+FFFD.
    fileprivate var hasForbiddenByte: Bool {
        var place = 0
        // Thirty-two bytes at a time: what is allowed has none of these.
        unsafe withUnsafeBytes { bytes in
            let word = { (offset: Int) in
                unsafe bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            }
            while place + 32 <= bytes.count, !word(place).mayHaveForbiddenByte { place += 32 }
        }
        while place < count {
            switch self[place] {
            case 0...0x20, 0x7F, UInt8(ascii: "#"): return true
            case 0xEF where place + 2 < count && self[place + 1] == 0xBF && self[place + 2] == 0xBD: return true
            default: place += 1
            }
        }
        return false
    }
}

extension SIMD4<UInt64> {
    /// Whether one of the bytes may be forbidden: below 0x21, or one of the few above. Source: the usual tricks with
    /// borrows, which are exact for a word as a whole.
    fileprivate var mayHaveForbiddenByte: Bool {
        let ones = SIMD4(repeating: 0x0101_0101_0101_0101 as UInt64)
        var found = (self &- ones &* 0x21) & ~self
        let (delete, hash, replacement) = (self ^ ones &* 0x7F, self ^ ones &* 0x23, self ^ ones &* 0xEF)
        found |= (delete &- ones) & ~delete
        found |= (hash &- ones) & ~hash
        found |= (replacement &- ones) & ~replacement
        return found & ones &* 0x80 != .zero
    }
}
