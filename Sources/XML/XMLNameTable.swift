// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2

/// A list of names that names from libxml2 are looked up in, by their first byte.
struct XMLNameTable: Sendable {
    private let names: [StaticString]
    /// The index in the caller's list for each of `names`.
    private let indices: [Int]
    /// The places at which the names with each first byte of ASCII begin, and the end of the last ones.
    private let starts: [Int]

    /// Creates a table of names that begin with ASCII letters.
    init(_ list: [StaticString]) {
        func first(_ name: StaticString) -> Int { name.withUTF8Buffer { unsafe Int($0[0] & 0x7F) } }
        let order = list.indices.sorted { (first(list[$0]), $0) < (first(list[$1]), $1) }
        names = order.map { list[$0] }
        indices = order
        starts = (0...128).map { byte in order.count { first(list[$0]) < byte } }
    }

    /// Returns the index of `name`, which ends with a zero; nil if it is not in the list.
    func index(of name: UnsafePointer<xmlChar>) -> Int? {
        let byte = Int(unsafe name.pointee & 0x7F)
        for place in starts[byte]..<starts[byte + 1] where unsafe xmlStrEqual(name, names[place].utf8Start) != 0 {
            return indices[place]
        }
        return nil
    }
}
