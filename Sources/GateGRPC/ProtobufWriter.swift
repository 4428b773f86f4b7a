// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A message of Protocol Buffers that is being written.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// Writes a number. Zero is omitted, because an absent field means zero.
    mutating func write(_ number: Int, field: UInt8) {
        guard number > 0 else { return }
        bytes.append(field << 3)
        write(varint: UInt64(number))
    }

    /// Writes a string.
    mutating func write(_ text: String, field: UInt8) { write(text.utf8, field: field) }

    /// Writes a message, also an empty one: it is present then.
    mutating func write(field: UInt8, _ body: (inout ProtobufWriter) -> Void) {
        var message = ProtobufWriter()
        body(&message)
        write(message.bytes, field: field)
    }

    private mutating func write(_ content: some Collection<UInt8>, field: UInt8) {
        bytes.append(field << 3 | 2)
        write(varint: UInt64(content.count))
        bytes += content
    }

    private mutating func write(varint: UInt64) {
        var rest = varint
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
