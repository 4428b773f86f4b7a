// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer
package import NIOCore

extension ByteWriter {
    /// Writes a number of variable length: 1 to 10 bytes (HAProxy's doc/SPOE.txt §3.1).
    mutating func write(spopNumber number: UInt64) {
        guard number >= 240 else { return write(UInt8(number)) }
        write(UInt8(truncatingIfNeeded: number) | 240)
        var rest = (number - 240) >> 4
        while rest >= 128 {
            write(UInt8(truncatingIfNeeded: rest) | 128)
            rest = (rest - 128) >> 7
        }
        write(UInt8(rest))
    }

    /// Writes the head of a frame with one fragment, at most 29 bytes. Its length, the first four bytes, is 0 yet.
    mutating func write(headOf type: SPOPFrame.Kind, _ id: SPOPFrame.ID) {
        write(word: 0)
        write(type.rawValue)
        write(word: 1)
        write(spopNumber: id.stream)
        write(spopNumber: id.frame)
    }
}

extension ByteBuffer {
    /// Appends a number of variable length: 1 to 10 bytes.
    package mutating func writeSPOP(number: UInt64) { write(atMost: 10) { $0.write(spopNumber: number) } }

    /// Appends a string: its length, and its bytes.
    package mutating func writeSPOP(string: StaticString) {
        writeSPOP(number: UInt64(string.utf8CodeUnitCount))
        writeStaticString(string)
    }

    /// Appends a value with its type.
    package mutating func writeSPOP(_ value: SPOPValue) {
        switch value {
        case .null: writeInteger(0 as UInt8)
        case .bool(let value): writeInteger(value ? 17 as UInt8 : 1)
        case .signed(let number):
            writeInteger(4 as UInt8)
            writeSPOP(number: UInt64(bitPattern: number))
        case .unsigned(let number):
            writeInteger(5 as UInt8)
            writeSPOP(number: number)
        case .ipv4(let address): writeMultipleIntegers(6 as UInt8, address)
        case .ipv6(let address):
            writeMultipleIntegers(7 as UInt8, UInt64(address >> 64), UInt64(truncatingIfNeeded: address))
        case .string(let bytes), .binary(let bytes):
            if case .string = value { writeInteger(8 as UInt8) } else { writeInteger(9 as UInt8) }
            writeSPOP(number: UInt64(bytes.readableBytes))
            writeImmutableBuffer(bytes)
        }
    }

    /// Appends a frame with its length; `body` appends the payload.
    package mutating func writeSPOP(_ type: SPOPFrame.Kind, of id: SPOPFrame.ID, body: (inout ByteBuffer) -> Void) {
        let start = writerIndex
        write(atMost: 29) { $0.write(headOf: type, id) }
        body(&self)
        setInteger(UInt32(writerIndex - start - 4), at: start)
    }
}

/// A typed value of SPOP to write.
package enum SPOPValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case signed(Int64)
    case unsigned(UInt64)
    case ipv4(UInt32)
    case ipv6(UInt128)
    case string(ByteBuffer)
    case binary(ByteBuffer)

    /// Creates a copy of a value that was read.
    package init(copying value: borrowing SPOPReader.Value) {
        switch value {
        case .null: self = .null
        case .bool(let isTrue): self = .bool(isTrue)
        case .signed(let number): self = .signed(number)
        case .unsigned(let number): self = .unsigned(number)
        case .ipv4(let address): self = .ipv4(address)
        case .ipv6(let address): self = .ipv6(address)
        case .string(let bytes): self = .string(ByteBuffer(bytes: [UInt8](copying: bytes)))
        case .binary(let bytes): self = .binary(ByteBuffer(bytes: [UInt8](copying: bytes)))
        }
    }
}
