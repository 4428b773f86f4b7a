// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The fields of a message of Protocol Buffers, one after the other, as the wire has them.
///
/// It is strict: a length beyond the end, a number of more than 64 bits, a field number of 0, and groups, which no message of
/// Envoy has, are faults. Source: the encoding of Protocol Buffers, "Message Structure".
struct ProtobufReader {
    /// Bytes that are no message.
    struct Fault: Error {}

    /// The value of a field.
    enum Value {
        /// A varint.
        case number(UInt64)
        /// A string, bytes, or a message.
        case bytes(ArraySlice<UInt8>)
        /// A value of four or eight bytes.
        case fixed
    }

    private let bytes: ArraySlice<UInt8>
    private var position: Int

    /// Creates a reader of a message, or of a field that is one.
    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// Reads the next field; `nil` at the end.
    mutating func next() throws(Fault) -> (field: UInt64, value: Value)? {
        guard position < bytes.endIndex else { return nil }
        let tag = try number()
        let field = tag >> 3
        guard 1...0x1FFF_FFFF ~= field else { throw Fault() }
        switch tag & 7 {
        case 0: return (field, .number(try number()))
        case 1:
            _ = try readBytes(8)
            return (field, .fixed)
        case 2:
            guard let length = Int(exactly: try number()) else { throw Fault() }
            return (field, .bytes(try readBytes(length)))
        case 5:
            _ = try readBytes(4)
            return (field, .fixed)
        default: throw Fault()
        }
    }

    private mutating func readBytes(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
        guard count <= bytes.endIndex - position else { throw Fault() }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private mutating func number() throws(Fault) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 70, by: 7) {
            guard position < bytes.endIndex else { throw Fault() }
            let byte = bytes[position]
            position += 1
            // The tenth byte has the last bit.
            guard shift < 63 || byte <= 1 else { throw Fault() }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw Fault()
    }
}

extension ProtobufReader.Value {
    /// The text of a string.
    var text: String {
        get throws(ProtobufReader.Fault) {
            guard let text = String(validating: try bytes, as: UTF8.self) else { throw ProtobufReader.Fault() }
            return text
        }
    }

    /// The bytes of a string, of bytes, or of a message.
    var bytes: ArraySlice<UInt8> {
        get throws(ProtobufReader.Fault) {
            guard case .bytes(let bytes) = self else { throw ProtobufReader.Fault() }
            return bytes
        }
    }
}
