// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2

/// A list of names that names from libxml2 are looked up in, by their first two bytes.
struct XMLNameTable: Sendable {
    private let names: [StaticString]
    /// The index in the caller's list for each of `names`.
    private let indices: [Int]
    /// The indices at which the names of each ``slot(first:second:)`` begin, and the end of the last ones.
    private let starts: [Int]

    /// Creates a table of names.
    init(_ list: [StaticString]) {
        func slot(_ name: StaticString) -> Int {
            name.withUTF8Buffer { bytes in
                unsafe Self.slot(first: bytes.first ?? 0, second: bytes.dropFirst().first ?? 0)
            }
        }
        let order = list.indices.sorted { (slot(list[$0]), $0) < (slot(list[$1]), $1) }
        names = order.map { list[$0] }
        indices = order
        starts = (0...128).map { number in order.count { slot(list[$0]) < number } }
    }

    /// Nearly all names of a document are not in the list: few of those in it have both bytes.
    private static func slot(first: UInt8, second: UInt8) -> Int { Int((first &* 7 &+ second) & 0x7F) }

    /// Returns the index of `name`, which ends with a zero; nil if it is not in the list.
    func index(of name: UnsafePointer<xmlChar>) -> Int? {
        let first = unsafe name.pointee
        // The second byte may be the zero.
        let slot = Self.slot(first: first, second: first == 0 ? 0 : unsafe name[1])
        for entry in starts[slot]..<starts[slot + 1] where unsafe xmlStrEqual(name, names[entry].utf8Start) != 0 {
            return indices[entry]
        }
        return nil
    }
}
