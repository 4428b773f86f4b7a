// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension Substring {
    /// The requested path for logs: without its query, at most 2 KiB, and with an ellipsis instead of a possible token.
    ///
    /// Tokens stand in segments, in parameters of segments (RFC 3986 §3.3) and in names of vendors' folders. They are
    /// removed even if no configured source includes that position. The path is cut by bytes. A combining character
    /// after the `?` would form one character with it, and the query would reach the log.
    package var loggable: String {
        let end = utf8.firstIndex(of: UInt8(ascii: "?")) ?? endIndex
        guard self[..<end].mayHaveToken else { return self[..<end].beginning }
        var path: [UInt8] = []
        for part in self[..<end].utf8.prefix(Self.longestPath).parts {
            path += Substring(part.text).blankingTokens.utf8
            if let delimiter = part.delimiter { path.append(delimiter) }
        }
        return String(decoding: path, as: UTF8.self)
    }

    /// False if no part has a value or is as long as a token, as in nearly all paths.
    private var mayHaveToken: Bool {
        var length = 0
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "/"): length = 0
            case UInt8(ascii: "="), UInt8(ascii: "%"): return true
            default: length += 1
            }
            if length >= Self.shortestToken { return true }
        }
        return false
    }

    /// The first 2 KiB.
    package var beginning: String { String(decoding: utf8.prefix(Self.longestPath), as: UTF8.self) }

    private static let longestPath = 2048

    /// A part of a segment, with an ellipsis instead of a value or a text as long as a token.
    private var blankingTokens: String {
        if let mark = valueStart, utf8.distance(from: mark, to: endIndex) >= Self.shortestValue {
            return String(self[..<mark]) + "…"
        }
        return utf8.count >= Self.shortestToken ? "…" : String(self)
    }

    /// The beginning of the value behind the first equals sign, or its encoding.
    private var valueStart: Index? {
        let bytes = utf8.span
        for index in bytes.indices {
            let isEncoded = bytes.percentEncodedByte(at: index) == UInt8(ascii: "=")
            guard bytes[index] == UInt8(ascii: "=") || isEncoded else { continue }
            return utf8.index(startIndex, offsetBy: index + (isEncoded ? 3 : 1))
        }
        return nil
    }

    /// The shortest value that may be a token, in bytes.
    private static var shortestValue: Int { 16 }

    /// The shortest text without a name that may be a token, in bytes. A signature has 43 or more, and no token is only
    /// a signature.
    private static var shortestToken: Int { 80 }
}

extension Substring.UTF8View {
    /// The texts between the delimiters of segments and their parameters, with the delimiter behind each.
    fileprivate var parts: [(text: Substring.UTF8View, delimiter: UInt8?)] {
        var parts: [(text: Substring.UTF8View, delimiter: UInt8?)] = []
        var rest = self
        while let end = rest.firstIndex(where: { "/;,&~".utf8.contains($0) }) {
            parts.append((rest[..<end], rest[end]))
            rest = rest[rest.index(after: end)...]
        }
        return parts + [(rest, nil)]
    }
}
