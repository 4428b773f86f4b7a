// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The target that a client requested from an edge: a path and a query, both undecoded.
package struct OriginalTarget {
    /// The path, with its leading `/`.
    package let path: Substring
    /// The text after the first `?`; `nil` if there is none.
    package let query: Substring?
    /// The packages of signed URIs that were cut out of the target.
    package var packages: [Substring] = []

    /// The largest target, in bytes.
    package static let maximumSize = 24 * 1024

    /// Splits a target; `nil` if it is not in the one form that gate and origin interpret alike.
    ///
    /// The form is the origin form of RFC 9112, of bytes that are valid in a request line: no scheme and host, no fragment, no
    /// space and no control character. NIO replaces invalid UTF-8 by U+FFFD, which no valid request contains, so it is
    /// refused too.
    package init?(_ target: Substring) {
        let bytes = target.utf8.span
        guard 1...Self.maximumSize ~= bytes.count, bytes[0] == UInt8(ascii: "/") else { return nil }
        if URIPath.isPlain(bytes) {
            path = target
            query = nil
            return
        }
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

    /// Splits a target after cutting the packages of signed URIs out of it, before anything else looks at it. `nil` also if
    /// servers could read differently what is left.
    package init?(_ target: Substring, cutting attribute: PackageAttribute?) {
        guard let attribute else {
            self.init(target)
            return
        }
        guard let cut = attribute.cutPlainly(target) else { return nil }
        self.init(cut.target)
        packages = cut.packages
    }

    /// Creates a target from its parts.
    package init(path: Substring, query: Substring?) {
        self.path = path
        self.query = query
    }
}

extension OriginalTarget {
    /// Returns the target with another path, and without the query parameters that carry tokens.
    package func text(path: Substring, hiding secrets: [String]) -> Substring {
        guard let query, !query.isEmpty else { return path }
        var kept: [Substring] = []
        query.forEachPart(of: UInt8(ascii: "&")) { pair in
            if !secrets.contains(where: { pair.after(name: $0) != nil }) { kept.append(pair) }
        }
        return kept.isEmpty ? path : "\(path)?\(kept.joined(separator: "&"))"[...]
    }
}

extension Span<UInt8> {
    /// True if there is a space, a control character, a `#`, or U+FFFD.
    fileprivate var hasForbiddenByte: Bool {
        var place = 0
        // Permitted text contains no such byte, so it is checked 32 bytes at a time, and looked into only if there may be one.
        unsafe withUnsafeBytes { bytes in
            var found = SIMD4<UInt64>.zero
            while place + 32 <= bytes.count {
                found |= unsafe bytes.loadUnaligned(fromByteOffset: place, as: SIMD4<UInt64>.self).forbiddenBytes
                place += 32
            }
            if found & SIMD4(repeating: 0x8080_8080_8080_8080) != .zero { place = 0 }
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
    /// Words that have the highest bit of a byte set if one of theirs may be forbidden: below 0x21, or 0x7F, `#` or 0xEF. The
    /// well-known borrow trick is exact for a word as a whole.
    fileprivate var forbiddenBytes: SIMD4<UInt64> {
        let ones = SIMD4(repeating: 0x0101_0101_0101_0101 as UInt64)
        var found = (self &- ones &* 0x21) & ~self
        let (delete, hash, replacement) = (self ^ ones &* 0x7F, self ^ ones &* 0x23, self ^ ones &* 0xEF)
        found |= (delete &- ones) & ~delete
        found |= (hash &- ones) & ~hash
        found |= (replacement &- ones) & ~replacement
        return found
    }
}
