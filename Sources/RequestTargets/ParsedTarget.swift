// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The target that a client requested from an edge, parsed once: a path and a query, both undecoded.
package struct ParsedTarget: Sendable {
    /// The path without its token segments, with its leading `/`.
    package let path: Substring
    /// The text after the first `?`, except for the packages of signed URIs; `nil` if there is none.
    package let query: Substring?
    /// True if edge, gate and origin could read the path differently, because of its token segments.
    package let isAmbiguous: Bool
    /// The parts that were cut out of the target; `nil` for none.
    private let cut: Cut?

    /// The parts that were cut out of a target. This is a class, so that a target without them stays small.
    private final class Cut: Sendable {
        package let sentPath: Substring
        package let packages: [Substring]

        init(sentPath: Substring, packages: [Substring]) {
            self.sentPath = sentPath
            self.packages = packages
        }
    }

    /// The path as it was sent, except for the packages of signed URIs.
    package var sentPath: Substring { cut?.sentPath ?? path }
    /// The packages of signed URIs that were cut out of the target.
    package var packages: [Substring] { cut?.packages ?? [] }

    /// The largest target, in bytes.
    package static let maximumSize = 24 * 1024

    /// Splits a target without tokens; `nil` if it is not in the form that gate and origin interpret alike.
    ///
    /// The form is the origin form of RFC 9112, of bytes that are valid in a request line. It has no scheme and host,
    /// no fragment, no space and no control character. NIO replaces invalid UTF-8 by U+FFFD, which no valid request
    /// contains, so it is refused too.
    ///
    /// - Parameter isAmbiguous: True if the removed token segments make the path ambiguous.
    package init?(_ target: Substring, isAmbiguous: Bool = false) {
        guard let parts = Self.split(target) else { return nil }
        self.init(path: parts.path, query: parts.query, isAmbiguous: isAmbiguous, cut: nil)
    }

    /// Splits a target, and removes the parts that carry tokens: first packages of signed URIs, then segments.
    ///
    /// `nil` also if servers could read the target without a package differently.
    package init?(_ target: Substring, tokens names: TokenNames) {
        var (rest, packages): (Substring, [Substring]) = (target, [])
        if let attribute = names.package {
            guard let cut = attribute.cutPlainly(target) else { return nil }
            (rest, packages) = (cut.target, cut.packages)
        }
        guard let parts = Self.split(rest) else { return nil }
        let kept = parts.path.removingSegments(names.segments)
        let isPlain = kept == nil && packages.isEmpty
        self.init(
            path: kept?.path ?? parts.path,
            query: parts.query,
            isAmbiguous: kept?.isAmbiguous ?? false,
            cut: isPlain ? nil : Cut(sentPath: parts.path, packages: packages)
        )
    }

    private init(path: Substring, query: Substring?, isAmbiguous: Bool, cut: Cut?) {
        self.path = path
        self.query = query
        self.isAmbiguous = isAmbiguous
        self.cut = cut
    }

    /// Returns the path and the query of a target in the accepted form; `nil` for another form.
    private static func split(_ target: Substring) -> (path: Substring, query: Substring?)? {
        let bytes = target.utf8.span
        guard 1...maximumSize ~= bytes.count, bytes[0] == UInt8(ascii: "/") else { return nil }
        if URIPath.isPlain(bytes) { return (target, nil) }
        guard !bytes.hasForbiddenByte else { return nil }
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0) else { return (target, nil) }
        let end = target.utf8.index(target.startIndex, offsetBy: mark)
        return (target[..<end], target[target.utf8.index(after: end)...])
    }

    /// The names by which a target carries tokens.
    package struct TokenNames: Sendable {
        /// The names of query parameters.
        package let parameters: [String]
        /// The prefixes of path segments.
        package let segments: [String]
        /// The attribute of signed URIs; `nil` for none.
        package let package: PackageAttribute?

        /// Creates a set of names.
        package init(parameters: [String], segments: [String], package: PackageAttribute?) {
            self.parameters = parameters
            self.segments = segments
            self.package = package
        }
    }

    /// Returns the path without token segments, and the query without the parameters that carry tokens.
    package func text(hiding parameters: [String]) -> Substring {
        guard let query, !query.isEmpty else { return path }
        var kept: [Substring] = []
        query.forEachPart(of: UInt8(ascii: "&")) { pair in
            if !parameters.contains(where: { pair.after(name: $0) != nil }) { kept.append(pair) }
        }
        return kept.isEmpty ? path : "\(path)?\(kept.joined(separator: "&"))"[...]
    }

    /// Calls `body` with each value of a query parameter.
    package func forEachValue(parameter name: String, _ body: (Substring) -> Void) {
        query?.forEachPart(of: UInt8(ascii: "&")) { pair in
            if let value = pair.after(name: name) { body(value) }
        }
    }

    /// Calls `body` with the rest of each path segment that begins with a prefix.
    package func forEachValue(segment prefix: String, _ body: (Substring) -> Void) {
        sentPath.forEachPart(of: UInt8(ascii: "/")) { segment in
            if let length = segment.utf8.span.lengthOfTokenPrefix(prefix) { body(segment.droppingBytes(length)) }
        }
    }
}

extension Span<UInt8> {
    /// True if there is a space, a control character, a `#`, or U+FFFD.
    fileprivate var hasForbiddenByte: Bool {
        var position = 0
        // Permitted text contains no such byte, so it is checked 32 bytes at a time, and looked into only if there may be one.
        unsafe withUnsafeBytes { bytes in
            var found = SIMD4<UInt64>.zero
            while position + 32 <= bytes.count {
                found |= unsafe bytes.loadUnaligned(fromByteOffset: position, as: SIMD4<UInt64>.self).forbiddenBytes
                position += 32
            }
            if found & SIMD4(repeating: 0x8080_8080_8080_8080) != .zero { position = 0 }
        }
        while position < count {
            switch self[position] {
            case 0...0x20, 0x7F, UInt8(ascii: "#"): return true
            case 0xEF where position + 2 < count && self[position + 1] == 0xBF && self[position + 2] == 0xBD:
                return true
            default: position += 1
            }
        }
        return false
    }
}

extension SIMD4<UInt64> {
    /// Words whose bytes have the highest bit set if the byte may be forbidden: below 0x21, or 0x7F, `#` or 0xEF. The
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
