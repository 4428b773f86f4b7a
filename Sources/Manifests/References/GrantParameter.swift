// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The parameter of a query that carries a grant.
enum GrantParameter {
    /// The fewest bytes of a grant: one of CTA-5007 has some claims and a signature, of at least 32 bytes in Base64. A shorter value is
    /// a parameter of the origin's.
    static let shortestGrant = 64

    /// Appends a query with `parameter` in it, which is `name=GRANT`. Other parameters stay as they are, byte for byte.
    ///
    /// - Parameters:
    ///   - query: The query without `?`; `nil` if there is none. A grant in a parameter `name` of it, encoded or not, is replaced.
    ///     Another value is the origin's own, which is refused.
    ///   - isFirst: True to write a new parameter before the others.
    static func append(
        _ parameter: Span<UInt8>,
        named name: String,
        to query: Span<UInt8>?,
        isFirst: Bool,
        into output: inout [UInt8]
    ) throws(ReferenceFault) {
        guard let query, query.count > 0 else { return output.append(copying: parameter) }
        var isWritten = isFirst
        var start = 0
        var isEmpty = !isFirst
        if isFirst { output.append(copying: parameter) }
        while true {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            let isGrant = part.isParameter(name)
            guard !isGrant || part.hasGrant(parameter) else { throw .foreignParameter }
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
    ///
    /// - Parameter onlyGrants: True to retain those whose value is no grant.
    static func appendOthers(
        than name: String,
        of query: Span<UInt8>,
        onlyGrants: Bool = false,
        _ output: inout [UInt8]
    ) -> Bool {
        var (start, isEmpty) = (0, true)
        while true {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            let part = query.extracting(start..<end)
            if !part.isParameter(name) || onlyGrants && !part.hasGrant(Span()) {
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
        var position = start
        while let brace = firstIndex(of: UInt8(ascii: "{"), from: position) {
            if brace + 1 < count, self[brace + 1] == UInt8(ascii: "$") { return brace }
            position = brace + 1
        }
        return nil
    }

    /// True if the last part of a path ends in a variable.
    var endsInVariable: Bool {
        guard count > 0, self[count - 1] == UInt8(ascii: "}") else { return false }
        var position = count - 1
        while position > 0, self[position] != UInt8(ascii: "{") { position -= 1 }
        return extracting(position...).hasVariable
    }

    /// True if there is nothing but one variable.
    private var isOneVariable: Bool {
        firstVariable(from: 0) == 0 && firstIndex(of: UInt8(ascii: "}"), from: 0) == count - 1
    }

    /// True if the bytes may be a grant, and no value of an origin's.
    var isGrant: Bool {
        for position in indices where !self[position].isGrantByte { return false }
        return count >= GrantParameter.shortestGrant
    }

    /// True if the value of this part of a query is a grant: the present one, one of before, or a variable for it.
    fileprivate func hasGrant(_ present: Span<UInt8>) -> Bool {
        if hasSameBytes(as: present) { return true }
        guard let mark = firstIndex(of: UInt8(ascii: "="), from: 0) else { return false }
        let value = extracting((mark + 1)...)
        return value.isOneVariable || value.isGrant
    }

    /// True if this part of a query has that name.
    fileprivate func isParameter(_ name: String) -> Bool {
        let end = firstIndex(of: UInt8(ascii: "="), from: 0) ?? count
        let key = extracting(..<end)
        guard key.hasEncodedPrefix(name) else { return false }
        // A prefix without a grant is another name.
        return key.decodedCount == name.utf8.count
    }

    /// The number of bytes, with each percent encoding as one.
    private var decodedCount: Int {
        var (decoded, position) = (0, 0)
        while position < count {
            position += self[position] == UInt8(ascii: "%") ? 3 : 1
            decoded += 1
        }
        return decoded
    }
}
