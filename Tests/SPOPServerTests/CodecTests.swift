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
        var reader = SPOPReader(ByteBuffer(bytes: bytes + [7]))
        #expect(reader.number() == number && reader.byte() == 7)
        for end in bytes.indices {
            var short = SPOPReader(ByteBuffer(bytes: bytes[..<end]))
            #expect(short.number() == nil)
        }
    }

    @Test func `has every number of 64 bits, and none of more`() {
        for shift in 0..<64 {
            for number in [UInt64.max >> UInt64(shift), 1 << UInt64(shift)] {
                var buffer = ByteBuffer()
                buffer.writeSPOP(number: number)
                var reader = SPOPReader(buffer)
                #expect(buffer.readableBytes <= 10 && reader.number() == number && reader.isAtEnd)
            }
        }
        for bytes: [UInt8] in [
            [UInt8](repeating: 255, count: 9) + [127], [UInt8](repeating: 255, count: 20),
            [240] + [UInt8](repeating: 128, count: 9) + [1], [255, 240, 254, 254, 254, 254, 254, 254, 254, 127],
        ] {
            var reader = SPOPReader(ByteBuffer(bytes: bytes))
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
        var reader = SPOPReader(buffer)
        #expect(reader.value() == value && reader.isAtEnd)
        for end in bytes.indices {
            var short = SPOPReader(ByteBuffer(bytes: bytes[..<end]))
            #expect(short.value() == nil)
        }
    }

    @Test func `has no values of other types, and no strings beyond the end`() {
        for type in 10...15 as ClosedRange<UInt8> {
            var reader = SPOPReader(ByteBuffer(bytes: [type, 0, 0, 0, 0]))
            #expect(reader.value() == nil)
        }
        var reader = SPOPReader(ByteBuffer(bytes: [8] + [255, 255, 255, 255, 255, 255, 255, 255, 1]))
        #expect(reader.value() == nil)
    }

    /// Binary header fields, and what they mean: `nil` for malformed ones.
    static let fields: [(bytes: [UInt8], names: [String]?)] = [
        ([0, 0], []), ([1, 97, 1, 98, 0, 0], ["a: b"]), ([1, 97, 0, 1, 97, 1, 99, 0, 0], ["a: ", "a: c"]),
        ([], nil), ([1, 97, 1, 98], nil), ([0, 1, 98], nil), ([0, 0, 0], nil), ([1, 58, 1, 98, 0, 0], nil),
        ([2, 97, 32, 1, 98, 0, 0], nil), ([1, 97, 9, 98, 0, 0], nil), ([1, 0xC3, 1, 98, 0, 0], nil),
    ]

    @Test(arguments: fields) func `has header fields in pairs`(bytes: [UInt8], names: [String]?) {
        var reader = SPOPReader(ByteBuffer(bytes: bytes))
        var found: [String] = []
        let isWhole = reader.forEachHeaderField { found.append("\(String(buffer: $0)): \(String(buffer: $1))") }
        #expect((isWhole ? found : nil) == names)
    }

    @Test func `has messages with arguments`() {
        let bytes: [UInt8] = [1, 109, 2, 1, 97, 17, 0, 8, 1, 120, 1, 110, 0]
        let messages = SPOPMessage.list(SPOPReader(ByteBuffer(bytes: bytes)))
        let arguments = [
            SPOPMessage.Argument(name: "a", value: .bool(true)),
            SPOPMessage.Argument(name: "", value: .string(ByteBuffer(string: "x"))),
        ]
        #expect(
            messages == [SPOPMessage(name: "m", arguments: arguments), SPOPMessage(name: "n", arguments: [])]
        )
        for end in 1..<bytes.count where end != 10 {
            #expect(SPOPMessage.list(SPOPReader(ByteBuffer(bytes: bytes[..<end]))) == nil, "\(end)")
        }
        let many = [[UInt8]](repeating: [1, 109, 0], count: SPOPMessage.maximumCount + 1)
        #expect(SPOPMessage.list(SPOPReader(ByteBuffer(bytes: many.joined()))) == nil)
    }
}
