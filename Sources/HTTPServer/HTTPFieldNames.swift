// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Names of header fields that are looked for together: one pass over the fields of a request finds them all.
package struct HTTPFieldNames: Sendable {
    private struct Name {
        let bytes: [UInt8]
        let number: Int
    }

    /// The names in the order of their lengths.
    private let names: [Name]
    /// The first name of each length; names of 64 bytes and more are in the last group.
    private let starts: [Int]

    private static let longest = 64

    /// Creates a set of names.
    ///
    /// - Parameter names: The names, and the numbers by which they are found. One name may have several numbers.
    package init(_ names: [(name: String, number: Int)]) {
        let sorted = names.map { Name(bytes: Array($0.name.lowercased().utf8), number: $0.number) }
            .sorted { ($0.bytes.count, $0.number) < ($1.bytes.count, $1.number) }
        self.names = sorted
        starts = (0...Self.longest + 1).map { length in
            sorted.firstIndex { min($0.bytes.count, Self.longest) >= length } ?? sorted.count
        }
    }

    /// The names that may have a length.
    fileprivate func candidates(_ length: Int) -> Range<Int> {
        let group = min(length, Self.longest)
        return starts[group]..<starts[group + 1]
    }

    /// Returns the number of a name, if a field has it.
    fileprivate func number(_ candidate: Int, of name: Span<UInt8>) -> Int? {
        let own = names[candidate]
        guard own.bytes.count == name.count else { return nil }
        for offset in name.indices where own.bytes[offset] != name[offset].lowercasedASCII { return nil }
        return own.number
    }
}

extension HTTPFields {
    /// Calls `body` with the index of each field that has one of some names, and the number of the name.
    package func forEach(in names: HTTPFieldNames, _ body: (_ index: Int, _ number: Int) -> Void) {
        for index in indices {
            let candidates = names.candidates(nameLength(index))
            if candidates.isEmpty { continue }
            withName(at: index) { name in
                for candidate in candidates {
                    if let number = names.number(candidate, of: name) { body(index, number) }
                }
            }
        }
    }

    /// True if the name of a field meets a condition.
    package func isName(at index: Int, condition: (Span<UInt8>) -> Bool) -> Bool {
        var isMet = false
        withName(at: index) { isMet = condition($0) }
        return isMet
    }
}
