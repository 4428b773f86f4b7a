// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore
internal import PlaybackGate

extension ByteBuffer {
    /// Writes a number in decimal digits, without making a text of it.
    mutating func writeInteger(decimal number: Int64) {
        if number < 0 { writeInteger(UInt8(ascii: "-")) }
        let magnitude = number.magnitude
        var divisor: UInt64 = 1
        while magnitude / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            writeInteger(UInt8(ascii: "0") + UInt8(magnitude / divisor % 10))
            divisor /= 10
        }
    }
}

extension TraceID {
    /// Writes the id in 32 hexadecimal digits.
    func write(into buffer: inout ByteBuffer) {
        for part in 0..<4 {
            let half = part < 2 ? high : low
            Self.write(UInt32(truncatingIfNeeded: part % 2 == 0 ? half >> 32 : half), into: &buffer)
        }
    }

    /// Eight digits are one word.
    private static func write(_ number: UInt32, into buffer: inout ByteBuffer) {
        var word: UInt64 = 0
        for place in 0..<8 {
            let digit = UInt64(number >> UInt32(28 - 4 * place) & 0xF)
            word = word << 8 | (digit + UInt64(digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
        }
        buffer.writeInteger(word)
    }
}
