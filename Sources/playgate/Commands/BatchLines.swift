// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The lines of a batch, gathered from pieces of a file into blocks of whole lines with a line feed behind each.
///
/// In constant memory: of a line that is spread over pieces, each of the two fields is kept up to a length at which it is
/// too long for what it is, so it is refused for the same reason as the whole would be, and the field behind it is kept.
struct BatchLines {
    private let longestToken: Int
    private let longestResource: Int
    /// The line whose end was not read yet.
    private var line: [UInt8] = []
    private var tab: Int?

    /// - Parameters:
    ///   - tokenSize: The most bytes that a token may have.
    ///   - resourceSize: The most bytes that a resource may have.
    init(tokenSize: Int, resourceSize: Int) {
        // One byte more is too long; another one may be the carriage return of the line's end, which does not count.
        longestToken = tokenSize + 2
        longestResource = resourceSize + 2
    }

    /// Takes the next piece of the file; gives the lines that end in it, or nothing.
    mutating func add(_ piece: [UInt8]) -> [UInt8] {
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

    /// Ends the file; gives its last line where no line feed ended it, or nothing.
    mutating func end() -> [UInt8] {
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
