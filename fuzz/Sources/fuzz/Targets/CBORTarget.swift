// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings

extension Target {
    /// CBOR: an item that is skipped is read item by item too, up to the same place. What is written from it is read as the
    /// same again, is not longer, and is written identically.
    static let cbor = Target(name: "cbor") { input in
        let bytes = input.bytes
        let end = skipped(bytes)
        do throws(CBORFault) {
            let copy = try copied(bytes)
            demand(end == bytes.count && copy.count <= bytes.count, or: "a longer copy of \(bytes.debugText)")
            demand(skipped(copy) == copy.count, or: "the copy of \(bytes.debugText) is not read")
            let again = try copied(copy)
            demand(again == copy, or: "another copy of \(bytes.debugText)")
        } catch {
            // A key beyond 64 bits is read, and not written.
            demand(end == nil || error == .unexpectedType, or: "skipped, and not read: \(bytes.debugText)")
        }
    }

    /// The end of the one item that `bytes` are, or `nil`.
    private static func skipped(_ bytes: [UInt8]) -> Int? {
        var reader = CBORReader(bytes.span)
        guard (try? reader.skip()) != nil, (try? reader.finish()) != nil else { return nil }
        return reader.position
    }

    /// The item that `bytes` are, written anew.
    private static func copied(_ bytes: [UInt8]) throws(CBORFault) -> [UInt8] {
        var reader = CBORReader(bytes.span)
        var writer = CBORWriter()
        try copy(from: &reader, to: &writer)
        try reader.finish()
        return try writer.finish()
    }

    private static func copy(from reader: inout CBORReader, to writer: inout CBORWriter) throws(CBORFault) {
        switch try reader.next() {
        case .unsigned(let value): writer.write(value)
        case .negative(let value):
            if let number = Int64(exactly: value) {
                writer.write(-1 - number)
            } else {
                writer.write(
                    encoded: ([0x3B] + (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }).span
                )
            }
        case .bytes(let range): writer.write(reader[range])
        case .text(let range): writer.write(reader.string(range))
        case .array(let count):
            writer.write(arrayOf: count)
            for _ in 0..<count { try copy(from: &reader, to: &writer) }
        case .map(let count): try copyMap(of: count, from: &reader, to: &writer)
        case .tag(let number):
            writer.write(tag: number)
            try copy(from: &reader, to: &writer)
        case .float(let value): writer.write(value)
        case .bool(let value): writer.write(value)
        case .null: writer.writeNull()
        }
    }

    private static func copyMap(
        of count: Int,
        from reader: inout CBORReader,
        to writer: inout CBORWriter
    ) throws(CBORFault) {
        var entries: [(number: Int64?, name: String, value: [UInt8])] = []
        for _ in 0..<count {
            let key = try reader.next()
            var name = ""
            if case .text(let range) = key {
                name = reader.string(range)
            } else if key.integer == nil {
                throw .unexpectedType
            }
            var value = CBORWriter()
            try copy(from: &reader, to: &value)
            entries.append((key.integer, name, try value.finish()))
        }
        writer.map { map in
            for entry in entries {
                if let number = entry.number {
                    map.entry(number) { $0.write(encoded: entry.value.span) }
                } else {
                    map.entry(entry.name) { $0.write(encoded: entry.value.span) }
                }
            }
        }
    }
}
