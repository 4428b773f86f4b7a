// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// Tokens in segments of paths: `/vod/t=TOKEN/movie.ts` is `/vod/movie.ts` to the catalogue.

extension Substring {
    /// Returns this path without the segments that may contain a token; `nil` if it has none of them.
    ///
    /// Edges decode a path and resolve its dot segments before they look for a token. Removing the token first gives
    /// another path, for example for `/vod/premium/t=/../movie.ts`. Both orders agree only if decoding and resolving
    /// change nothing near a token. Therefore a path with a token segment is ambiguous if it has an empty or a dot
    /// segment anywhere. It is also ambiguous if more of the prefix is percent-encoded than a tilde. The token may have
    /// only the characters of URL-safe Base64 and compact JOSE. A slash, for example, would end the segment once it is
    /// decoded.
    ///
    /// - Returns: The rest, and whether it is ambiguous.
    func removingSegments(_ prefixes: [String]) -> (path: Substring, isAmbiguous: Bool)? {
        guard !prefixes.isEmpty, mayHaveSegment(prefixes) else { return nil }
        var kept = ""
        var (hasToken, isUnclear) = (false, false)
        var segments = SegmentIterator(self)
        while let segment = segments.next() {
            let decoded = segment.text.percentDecoded
            guard let prefix = prefixes.first(where: { (decoded?[...] ?? segment.text).hasBytePrefix($0) }) else {
                // A segment that cannot be decoded is refused later, with the whole path.
                let isDots = URIPath.dots(of: segment.text.utf8.span) > 0
                isUnclear = isUnclear || isDots || (segment.text.isEmpty && !segment.isLast)
                kept += "/" + segment.text
                continue
            }
            hasToken = true
            let isUsual = segment.text.utf8.span.lengthOfTokenPrefix(prefix) != nil
            isUnclear = isUnclear || !isUsual || !(decoded?[...].isTokenSegment(behind: prefix) ?? false)
        }
        return hasToken ? (kept.isEmpty ? "/" : kept[...], isUnclear) : nil
    }
}

/// The segments of a path, in order.
private struct SegmentIterator {
    private let path: Substring
    private var position: Substring.Index
    private var isDone = false

    init(_ path: Substring) {
        self.path = path
        // Every path begins with a slash.
        position = path.isEmpty ? path.endIndex : path.utf8.index(after: path.startIndex)
    }

    mutating func next() -> (text: Substring, isLast: Bool)? {
        guard !isDone else { return nil }
        let rest = path.utf8[position...]
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
        isDone = end == path.endIndex
        defer { position = isDone ? end : path.utf8.index(after: end) }
        return (path[position..<end], isDone)
    }
}

extension Substring {
    /// True if the segments need to be examined: one begins with a prefix, or the path has percent-encoding.
    fileprivate func mayHaveSegment(_ prefixes: [String]) -> Bool {
        let bytes = utf8.span
        if bytes.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil { return true }
        // Every path begins with a slash.
        var slash: Int? = 0
        while let index = slash, index < bytes.count {
            let rest = bytes.extracting((index + 1)...)
            for prefix in prefixes where rest.hasPrefix(prefix.utf8.span) { return true }
            slash = bytes.firstIndex(of: UInt8(ascii: "/"), from: index + 1)
        }
        return false
    }

    /// True if the rest after `prefix` has only characters that a token in a segment may have.
    fileprivate func isTokenSegment(behind prefix: String) -> Bool {
        utf8.dropFirst(prefix.utf8.count).allSatisfy { byte in
            byte.isUnreserved || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "+")
        }
    }
}
