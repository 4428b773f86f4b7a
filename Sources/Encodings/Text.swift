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
