// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A JSON value with the position of each value in its text, so that an error can name the line.
package struct LocatedJSON: Sendable {
    /// The value.
    package let json: JSON
    /// The offsets of all values, each before those in it.
    package let offsets: [Int]

    /// A text that is no such value, with the offset at which that was found.
    package struct Fault: Error {
        /// The reason.
        package let fault: JSONFault
        /// The offset in bytes.
        package let offset: Int
    }

    init(_ json: JSON, offsets: [Int]) {
        self.json = json
        self.offsets = offsets
    }

    /// Returns the offset of a value.
    ///
    /// - Parameter path: The indices of members and elements that lead to it from the whole.
    package func offset(of path: [Int]) -> Int {
        var (value, number) = (json, 0)
        for step in path {
            let parts = value.parts
            guard parts.indices.contains(step) else { break }
            number += 1 + parts[..<step].reduce(0) { $0 + $1.size }
            value = parts[step]
        }
        return offsets.indices.contains(number) ? offsets[number] : 0
    }
}

extension JSON {
    /// The values of members or elements.
    fileprivate var parts: [JSON] {
        switch self {
        case .array(let values): values
        case .object(let members): members.map(\.value)
        default: []
        }
    }

    /// The number of values, with this one.
    fileprivate var size: Int { parts.reduce(1) { $0 + $1.size } }
}

extension Span<UInt8> {
    /// Returns the line and the column of an offset, both from 1 on.
    package func lineAndColumn(of offset: Int) -> (line: Int, column: Int) {
        var (line, start, position) = (1, 0, 0)
        while let end = firstIndex(of: 0x0A, from: position), end < offset {
            (line, start, position) = (line + 1, end + 1, end + 1)
        }
        return (line, Swift.max(offset - start, 0) + 1)
    }
}
