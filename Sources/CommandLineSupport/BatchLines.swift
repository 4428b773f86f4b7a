// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An assembler of batch lines: turns chunks of a file into blocks of complete lines, each with a line feed at its end.
///
/// Memory use is constant. A line that spans chunks is truncated: each of its two fields is held up to a length that is
/// just too long. It is then refused for the same reason as the complete field, and the field after it is held.
package struct BatchLines {
    private let longestToken: Int
    private let longestResource: Int
    /// The line whose end has not been read yet.
    private var line: [UInt8] = []
    private var tab: Int?

    /// Creates an assembler.
    ///
    /// - Parameters:
    ///   - tokenSize: The maximum size of a token, in bytes.
    ///   - resourceSize: The maximum size of a resource, in bytes.
    package init(tokenSize: Int, resourceSize: Int) {
        // One byte above the maximum is too long. Another one may be the carriage return of the line end, which does not
        // count.
        longestToken = tokenSize + 2
        longestResource = resourceSize + 2
    }

    /// Adds the next chunk of the file. Returns the lines that end in it, or an empty array.
    package mutating func add(_ piece: [UInt8]) -> [UInt8] {
        guard let first = piece.firstIndex(of: UInt8(ascii: "\n")),
            let last = piece.lastIndex(of: UInt8(ascii: "\n"))
        else {
            extend(piece[...])
            return []
        }
        extend(piece[..<first])
        let block = line + piece[first...last]
        line = []
        tab = nil
        extend(piece[(last + 1)...])
        return block
    }

    /// Ends the file. Returns its last line if no line feed ended it, or an empty array.
    package mutating func end() -> [UInt8] {
        defer {
            line = []
            tab = nil
        }
        return line.isEmpty ? [] : line + [UInt8(ascii: "\n")]
    }

    private mutating func extend(_ piece: ArraySlice<UInt8>) {
        guard let tab else {
            let end = piece.firstIndex(of: UInt8(ascii: "\t"))
            line += piece[..<(end ?? piece.endIndex)].prefix(longestToken - line.count)
            guard let end else { return }
            self.tab = line.count
            line.append(UInt8(ascii: "\t"))
            return extend(piece[(end + 1)...])
        }
        line += piece.prefix(longestResource - (line.count - tab - 1))
    }
}
