// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

extension ByteBuffer {
    /// Appends at most `limit` bytes that `body` writes. The buffer is grown once, not for every part.
    package mutating func write(atMost limit: Int, _ body: (inout ByteWriter) -> Void) {
        unsafe writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
            var writer = unsafe ByteWriter(bytes)
            body(&writer)
            return writer.count
        }
    }
}

/// Writes sequentially into memory of a ``ByteBuffer``. Traps at its end.
@safe package struct ByteWriter {
    @usableFromInline
    let bytes: UnsafeMutableRawBufferPointer
    /// The number of bytes written.
    @usableFromInline
    package var count = 0

    fileprivate init(_ bytes: UnsafeMutableRawBufferPointer) { unsafe self.bytes = bytes }

    @usableFromInline
    mutating func write(copying source: UnsafeRawPointer?, _ length: Int) {
        precondition(unsafe bytes.count - count >= length, "a response exceeds its declared length")
        guard length > 0, let source = unsafe source, let start = unsafe bytes.baseAddress else { return }
        unsafe (start + count).copyMemory(from: source, byteCount: length)
        count += length
    }

    @inlinable
    package mutating func write(_ text: StaticString) { unsafe write(copying: text.utf8Start, text.utf8CodeUnitCount) }

    @inlinable
    package mutating func write(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBytes { unsafe write(copying: $0.baseAddress, $0.count) }
    }

    @inlinable
    package mutating func write(_ byte: UInt8) {
        precondition(unsafe count < bytes.count, "a response exceeds its declared length")
        unsafe bytes[count] = byte
        count += 1
    }

    /// Writes a number in network byte order.
    package mutating func write(word number: UInt32) {
        precondition(unsafe bytes.count - count >= 4, "a response exceeds its declared length")
        unsafe bytes.storeBytes(of: number.bigEndian, toByteOffset: count, as: UInt32.self)
        count += 4
    }

    /// The number of bytes for which there is room.
    package var room: Int { unsafe bytes.count - count }

    /// Removes all after the first `count` bytes.
    package mutating func truncate(to count: Int) {
        precondition(0...self.count ~= count)
        self.count = count
    }

    /// Overwrites the bytes from this index on, and not beyond the end.
    ///
    /// - Returns: The index after the last byte that `body` has written.
    package mutating func rewrite(from position: Int, _ body: (inout ByteWriter) -> Void) -> Int {
        let end = count
        precondition(0...end ~= position)
        count = position
        body(&self)
        defer { count = end }
        precondition(count <= end)
        return count
    }

    /// Removes written bytes, and moves those after them forward.
    package mutating func remove(_ range: Range<Int>) {
        precondition(0 <= range.lowerBound && range.upperBound <= count)
        guard !range.isEmpty, let start = unsafe bytes.baseAddress else { return }
        unsafe (start + range.lowerBound).copyMemory(
            from: start + range.upperBound,
            byteCount: count - range.upperBound
        )
        count -= range.count
    }

    /// Writes a number as 16 hexadecimal digits.
    package mutating func write(hexadecimal number: UInt64) {
        write(digits: UInt32(truncatingIfNeeded: number >> 32))
        write(digits: UInt32(truncatingIfNeeded: number))
    }

    /// Writes eight hexadecimal digits at once: each half of a byte is spread to a byte, and becomes a digit there.
    private mutating func write(digits number: UInt32) {
        precondition(unsafe bytes.count - count >= 8, "a response exceeds its declared length")
        var halves = UInt64(number)
        halves = (halves | halves << 16) & 0x0000_FFFF_0000_FFFF
        halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
        halves = (halves | halves << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let ones = 0x0101_0101_0101_0101 as UInt64
        // 1 in the bytes of 10 and more, which are letters.
        let letters = (halves &+ ones &* 6) >> 4 & ones
        let (zero, distance) = (UInt8(ascii: "0"), UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
        let digits = halves &+ ones &* UInt64(zero) &+ letters &* UInt64(distance)
        unsafe bytes.storeBytes(of: digits.bigEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    /// Writes a number in decimal digits, at most 20 bytes.
    package mutating func write(decimal number: Int64) {
        if number < 0 { write(UInt8(ascii: "-")) }
        let magnitude = number.magnitude
        var divisor: UInt64 = 1
        while magnitude / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            write(UInt8(ascii: "0") + UInt8(magnitude / divisor % 10))
            divisor /= 10
        }
    }
}
