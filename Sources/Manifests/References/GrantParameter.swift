// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The parameter of a query that carries a grant.
enum GrantParameter {
    /// Appends a query with `parameter` in it, which is `name=GRANT`. Other parameters stay as they are, byte for byte.
    ///
    /// - Parameters:
    ///   - query: The query without `?`; `nil` if there is none. A parameter `name` in it, encoded or not, is replaced.
    ///   - isFirst: True to write a new parameter before the others.
    static func append(
        _ parameter: Span<UInt8>,
        named name: String,
        to query: Span<UInt8>?,
        isFirst: Bool,
        _ output: inout [UInt8]
    ) {
        guard let query, query.count > 0 else { return output.append(copying: parameter) }
        var isWritten = isFirst
        var start = 0
        var isEmpty = !isFirst
        if isFirst { output.append(copying: parameter) }
        while true {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            let isGrant = part.isParameter(name)
            if !isGrant || !isWritten {
                if !isEmpty { output.append(UInt8(ascii: "&")) }
                isEmpty = false
                output.append(copying: isGrant ? parameter : part)
                isWritten = isWritten || isGrant
            }
            guard end < query.count else { break }
            start = end + 1
        }
        if !isWritten {
            output.append(UInt8(ascii: "&"))
            output.append(copying: parameter)
        }
    }

    /// Returns true if a parameter with another name than `name` has a variable, `{$name}`.
    static func hasVariable(in query: Span<UInt8>, notNamed name: String) -> Bool {
        var start = 0
        while true {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            if part.hasVariable, !part.isParameter(name) { return true }
            guard end < query.count else { return false }
            start = end + 1
        }
    }

    /// Appends a query without the parameters `name`. Returns false if nothing is left.
    static func appendOthers(than name: String, of query: Span<UInt8>, _ output: inout [UInt8]) -> Bool {
        var (start, isEmpty) = (0, true)
        while true {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            if !part.isParameter(name) {
                if !isEmpty { output.append(UInt8(ascii: "&")) }
                output.append(copying: part)
                isEmpty = false
            }
            guard end < query.count else { return !isEmpty }
            start = end + 1
        }
    }
}

extension Span<UInt8> {
    /// True if there is the beginning of a variable, `{$`.
    var hasVariable: Bool { firstVariable(from: 0) != nil }

    /// Returns the position of the first `{$` from `start` on.
    func firstVariable(from start: Int) -> Int? {
        var place = start
        while let brace = firstIndex(of: UInt8(ascii: "{"), from: place) {
            if brace + 1 < count, self[brace + 1] == UInt8(ascii: "$") { return brace }
            place = brace + 1
        }
        return nil
    }

    /// True if this part of a query has that name.
    fileprivate func isParameter(_ name: String) -> Bool {
        let end = firstIndex(of: UInt8(ascii: "="), from: 0) ?? count
        let key = extracting(..<end)
        guard key.hasEncodedPrefix(name) else { return false }
        // A prefix alone is another name.
        return key.decodedCount == name.utf8.count
    }

    /// The number of bytes, with each percent encoding as one.
    private var decodedCount: Int {
        var (decoded, place) = (0, 0)
        while place < count {
            place += self[place] == UInt8(ascii: "%") ? 3 : 1
            decoded += 1
        }
        return decoded
    }
}
