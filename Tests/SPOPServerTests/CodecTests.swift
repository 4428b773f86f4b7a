// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import SPOPServer
import Testing

/// The encoding of HAProxy's doc/SPOE.txt §3.
@Suite struct `The encoding of SPOP` {
    /// Numbers and their bytes: the ends of each range of the specification's table.
    static let numbers: [(number: UInt64, bytes: [UInt8])] = [
        (0, [0]), (239, [239]), (240, [240, 0]), (241, [241, 0]), (256, [240, 1]), (2287, [255, 127]),
        (2288, [240, 128, 0]), (264_431, [255, 255, 127]), (264_432, [240, 128, 128, 0]),
        (33_818_863, [255, 255, 255, 127]), (33_818_864, [240, 128, 128, 128, 0]),
        (4_328_786_159, [255, 255, 255, 255, 127]), (16_380, [252, 240, 6]),
    ]

    @Test(arguments: numbers) func `has numbers of variable length`(number: UInt64, bytes: [UInt8]) {
        var buffer = ByteBuffer()
        buffer.writeSPOP(number: number)
        #expect(Array(buffer.readableBytesView) == bytes)
        let longer = bytes + [7]
        var reader = SPOPReader(longer.span)
        #expect(reader.number() == number && reader.byte() == 7)
        for end in bytes.indices {
            var short = SPOPReader(bytes.span.extracting(first: end))
            #expect(short.number() == nil)
        }
    }

    @Test func `has every number of 64 bits, and none of more`() {
        for shift in 0..<64 {
            for number in [UInt64.max >> UInt64(shift), 1 << UInt64(shift)] {
                var buffer = ByteBuffer()
                buffer.writeSPOP(number: number)
                var reader = SPOPReader(buffer.readableBytesUInt8Span)
                #expect(buffer.readableBytes <= 10 && reader.number() == number && reader.isAtEnd)
            }
        }
        for bytes: [UInt8] in [
            [UInt8](repeating: 255, count: 9) + [127], [UInt8](repeating: 255, count: 20),
            [240] + [UInt8](repeating: 128, count: 9) + [1], [255, 240, 254, 254, 254, 254, 254, 254, 254, 127],
        ] {
            var reader = SPOPReader(bytes.span)
            #expect(reader.number() == nil, "\(bytes)")
        }
    }

    static let values: [(value: SPOPValue, bytes: [UInt8])] = [
        (.null, [0]), (.bool(false), [1]), (.bool(true), [17]), (.signed(7), [4, 7]),
        (.signed(-1), [4] + [255, 240, 254, 254, 254, 254, 254, 254, 254, 14]), (.unsigned(240), [5, 240, 0]),
        (.ipv4(0xC000_0201), [6, 192, 0, 2, 1]),
        (.ipv6(0x2001_0DB8 << 96 | 1), [7, 0x20, 1, 13, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (.string(ByteBuffer(string: "ab")), [8, 2, 97, 98]), (.binary(ByteBuffer()), [9, 0]),
    ]

    @Test(arguments: values) func `has values with their types`(value: SPOPValue, bytes: [UInt8]) {
        var buffer = ByteBuffer()
        buffer.writeSPOP(value)
        #expect(Array(buffer.readableBytesView) == bytes)
        var reader = SPOPReader(buffer.readableBytesUInt8Span)
        #expect(reader.copiedValue() == value && reader.isAtEnd)
        for end in bytes.indices {
            var short = SPOPReader(bytes.span.extracting(first: end))
            #expect(short.copiedValue() == nil)
        }
    }

    @Test func `has no values of other types, and no strings beyond the end`() {
        for type in 10...15 as ClosedRange<UInt8> {
            let bytes = [type, 0, 0, 0, 0]
            var reader = SPOPReader(bytes.span)
            #expect(reader.copiedValue() == nil)
        }
        let bytes: [UInt8] = [8] + [255, 255, 255, 255, 255, 255, 255, 255, 1]
        var reader = SPOPReader(bytes.span)
        #expect(reader.copiedValue() == nil)
    }

    /// Binary header fields, and what they mean: `nil` for malformed ones.
    static let fields: [(bytes: [UInt8], names: [String]?)] = [
        ([0, 0], []), ([1, 97, 1, 98, 0, 0], ["a: b"]), ([1, 97, 0, 1, 97, 1, 99, 0, 0], ["a: ", "a: c"]),
        ([], nil), ([1, 97, 1, 98], nil), ([0, 1, 98], nil), ([0, 0, 0], nil), ([1, 58, 1, 98, 0, 0], nil),
        ([2, 97, 32, 1, 98, 0, 0], nil), ([1, 97, 9, 98, 0, 0], nil), ([1, 0xC3, 1, 98, 0, 0], nil),
    ]

    @Test(arguments: fields) func `has header fields in pairs`(bytes: [UInt8], names: [String]?) {
        var reader = SPOPReader(bytes.span)
        var found: [String] = []
        let isWhole = reader.forEachHeaderField { found.append("\($0.text): \($1.text)") }
        #expect((isWhole ? found : nil) == names)
    }

    /// The messages of a payload, each as its name and the names of its arguments, with their values; `nil` if they are malformed.
    private static func messages(_ bytes: [UInt8]) -> [[String: SPOPValue]]? {
        guard var messages = SPOPMessages(SPOPReader(bytes.span)) else { return nil }
        let count = messages.count
        var found: [[String: SPOPValue]] = []
        while var message = messages.next() {
            var arguments: [String: SPOPValue] = [message.name.text: .null]
            while let argument = message.next() {
                arguments["\(message.name.text).\(argument.name.text)"] = SPOPValue(copying: argument.value)
            }
            found.append(arguments)
        }
        return found.count == count ? found : nil
    }

    @Test func `has messages with arguments`() {
        let bytes: [UInt8] = [1, 109, 2, 1, 97, 17, 0, 8, 1, 120, 1, 110, 0]
        let first: [String: SPOPValue] = ["m": .null, "m.a": .bool(true), "m.": .string(ByteBuffer(string: "x"))]
        #expect(Self.messages(bytes) == [first, ["n": .null]])
        #expect(Self.messages([]) == [])
        for end in 1..<bytes.count where end != 10 {
            #expect(Self.messages(Array(bytes[..<end])) == nil, "\(end)")
        }
        let one: [UInt8] = [1, 109, 0]
        let most = [[UInt8]](repeating: one, count: SPOPMessages.maximumCount).flatMap { $0 }
        #expect(Self.messages(most)?.count == SPOPMessages.maximumCount && Self.messages(most + one) == nil)
    }
}

extension SPOPReader {
    /// Reads a value, and copies it.
    @_lifetime(self: copy self)
    fileprivate mutating func copiedValue() -> SPOPValue? {
        guard let value = value() else { return nil }
        return SPOPValue(copying: value)
    }
}

extension Span<UInt8> {
    /// The bytes as text.
    var text: String { String(decoding: indices.map { self[$0] }, as: UTF8.self) }
}
