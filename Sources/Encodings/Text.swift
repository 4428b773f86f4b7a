// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

// Text as bytes, and as a line for people.

extension String {
    /// Returns true if both strings have the same bytes.
    ///
    /// Unlike `==`, it distinguishes canonically equivalent spellings of a character: identifiers are compared as written.
    package func hasSameBytes(as other: String) -> Bool {
        // Native Swift strings are contiguous, so the closures run. `elementsEqual` is fifty times as slow.
        unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count else { return false }
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }

    /// Returns this text in one printable line of at most `limit` characters, for errors and logs.
    package func printable(limit: Int) -> String {
        var line = ""
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else { return line + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: line.append(" ")
            default: line.unicodeScalars.append(scalar)
            }
            count += 1
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}

extension StringProtocol {
    /// True if the UTF-8 bytes of `other` are among those of the text, in their order. The search of the standard library compares
    /// characters, where an accent after a letter hides it, and brings a megabyte of regular expressions into `libplaygate`.
    package func hasBytes(of other: String) -> Bool {
        other.utf8.isEmpty || Array(utf8).span.firstPosition(of: other.utf8.span) != nil
    }
}

extension String {
    /// Returns the number of bytes to add, remove, replace or exchange with their neighbour to turn this text into `other`,
    /// ignoring case.
    package func distance(to other: String) -> Int {
        let (mine, its) = (Array(lowercased().utf8), Array(other.lowercased().utf8.prefix(64)))
        var (before, row) = ([Int](), Array(0...its.count))
        for (line, letter) in mine.enumerated() {
            var next = [line + 1]
            for (column, wanted) in its.enumerated() {
                var cost = Swift.min(row[column] + (letter == wanted ? 0 : 1), row[column + 1] + 1, next[column] + 1)
                if line > 0, column > 0, letter == its[column - 1], mine[line - 1] == wanted {
                    cost = Swift.min(cost, before[column - 1] + 1)
                }
                next.append(cost)
            }
            (before, row) = (row, next)
        }
        return row[its.count]
    }
}
