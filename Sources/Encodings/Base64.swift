// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CBase64

/// Base64 as used for tokens (RFC 4648 §4 and §5): either alphabet, with or without padding.
///
/// Refuses white space, partial padding and unused bits that are not zero, so a text has at most one reading.
package enum Base64 {
    /// Returns an upper bound of the number of bytes that `count` characters decode to.
    @inlinable
    package static func decodedCapacity(_ count: Int) -> Int { count / 4 * 3 + 3 }

    /// Decodes `text` into the front of `output`, which needs room for `decodedCapacity` bytes.
    ///
    /// Returns the number of bytes, or `nil` if `text` is not Base64 or `output` is too small.
    @inlinable
    package static func decode(_ text: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Int? {
        guard output.count >= decodedCapacity(text.count) else { return nil }
        return unsafe text.withUnsafeBufferPointer { text in
            unsafe output.withUnsafeMutableBytes { output in unsafe decode(text, into: output) }
        }
    }

    /// Decodes `text`. Returns `nil` if it is not Base64.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: decodedCapacity(text.count))
        var span = output.mutableSpan
        guard let count = decode(text.span, into: &span) else { return nil }
        output.removeLast(output.count - count)
        return output
    }

    /// Decodes blocks with vector instructions if the processor has them. The rest is decoded in a loop without bounds
    /// checks, which would use half of its time. Reads within `text`. Writes a few bytes after the decoded ones, within
    /// the capacity.
    @unsafe @usableFromInline
    static func decode(_ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableRawBufferPointer) -> Int? {
        guard let input = text.baseAddress, let start = output.baseAddress else { return 0 }
        var end = text.count
        if end % 4 == 0, unsafe end >= 4 && input[end - 1] == padding {
            end -= unsafe input[end - 2] == padding ? 2 : 1
        }
        let tail = end % 4
        let whole = end - tail
        var isValid = true
        let read = unsafe playgate_base64_blocks(
            input,
            whole,
            start.assumingMemoryBound(to: UInt8.self),
            output.count,
            &isValid
        )
        guard isValid else { return nil }
        let union = unsafe decodeGroups(input, from: read, to: whole, into: start + read / 4 * 3)
        guard union & invalid == 0 else { return nil }
        let written = whole / 4 * 3
        if tail == 0 { return written }
        return unsafe decodeTail(input + whole, count: tail, into: start + written).map { written + $0 }
    }

    /// Decodes the groups of four characters between two indices of `input` to `output`. Returns the union of their
    /// bits.
    @unsafe
    @inline(__always)
    private static func decodeGroups(
        _ input: UnsafePointer<UInt8>,
        from start: Int,
        to end: Int,
        into output: UnsafeMutableRawPointer
    ) -> UInt32 {
        var (read, written, union) = (start, 0, UInt32(0))
        unsafe tables.withUnsafeBufferPointer { tables in
            guard let table = tables.baseAddress else { return }
            // Two groups at a time: six bytes, and two that the next groups overwrite.
            while read &+ 8 <= end {
                let first = unsafe bytes(of: input + read, table)
                let second = unsafe bytes(of: input + read + 4, table)
                union |= first | second
                let six = UInt64(second) &<< 24 | UInt64(first)  // Invalid characters are refused at the end.
                unsafe (output + written).storeBytes(of: six.littleEndian, as: UInt64.self)
                read &+= 8
                written &+= 6
            }
            while read < end {
                let group = unsafe bytes(of: input + read, table)
                union |= group
                unsafe (output + written).storeBytes(of: group.littleEndian, as: UInt32.self)
                read &+= 4
                written &+= 3
            }
        }
        return union
    }

    /// Returns the three bytes of a group of four characters, first byte lowest.
    @unsafe
    @inline(__always)
    private static func bytes(of text: UnsafePointer<UInt8>, _ table: UnsafePointer<UInt32>) -> UInt32 {
        unsafe table[Int(text[0])] | table[256 &+ Int(text[1])]
            | table[512 &+ Int(text[2])] | table[768 &+ Int(text[3])]
    }

    /// Decodes the last two or three characters. Returns `nil` if they are malformed, otherwise the number of bytes.
    @unsafe
    @inline(__always)
    private static func decodeTail(
        _ input: UnsafePointer<UInt8>,
        count: Int,
        into output: UnsafeMutableRawPointer
    ) -> Int? {
        guard count > 1 else { return nil }
        let third = unsafe count == 3 ? input[2] : UInt8(ascii: "A")
        let group = unsafe tables[Int(input[0])] | tables[256 + Int(input[1])] | tables[512 + Int(third)]
        // Unused bits must be zero. Otherwise one token would have several encodings. Invalid characters set one, too.
        guard group & (count == 3 ? 0xFFFF_0000 : 0xFFFF_FF00) == 0 else { return nil }
        for index in 0..<count - 1 {
            unsafe output.storeBytes(
                of: UInt8(truncatingIfNeeded: group >> (8 * UInt32(index))),
                toByteOffset: index,
                as: UInt8.self
            )
        }
        return count - 1
    }

    /// Encodes `bytes` in the standard alphabet, padded.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0) }
            for digit in 0..<4 {
                text.append(digit <= count ? alphabet[Int(group >> (18 - 6 * UInt32(digit)) & 63)] : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Encodes `bytes` in the URL-safe alphabet, without padding (RFC 4648 §5).
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe urlSafeAlphabet.withUnsafeBufferPointer { unsafe encode(bytes, alphabet: $0, into: text) }
            }
        }
    }

    /// Encodes `bytes` into the front of `text`, which has room for them. Returns the number of characters.
    @unsafe
    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>,
        alphabet: UnsafeBufferPointer<UInt8>,
        into text: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        guard let source = bytes.baseAddress, let letters = alphabet.baseAddress, let target = text.baseAddress
        else { return 0 }
        let whole = bytes.count / 3 * 3
        var (read, written) = (0, 0)
        while read < whole {
            let group = unsafe Int(source[read]) << 16 | Int(source[read &+ 1]) << 8 | Int(source[read &+ 2])
            unsafe target[written] = letters[group >> 18]
            unsafe target[written &+ 1] = letters[group >> 12 & 63]
            unsafe target[written &+ 2] = letters[group >> 6 & 63]
            unsafe target[written &+ 3] = letters[group & 63]
            read &+= 3
            written &+= 4
        }
        let rest = bytes.count - whole
        guard rest > 0 else { return written }
        let group = unsafe Int(source[whole]) << 16 | (rest == 2 ? Int(source[whole + 1]) << 8 : 0)
        unsafe target[written] = letters[group >> 18]
        unsafe target[written + 1] = letters[group >> 12 & 63]
        if rest == 2 { unsafe target[written + 2] = letters[group >> 6 & 63] }
        return written + rest + 1
    }

    private static let urlSafeAlphabet =
        [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let padding = UInt8(ascii: "=")

    private static let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The mark of an invalid character: a bit that no group of three bytes sets.
    private static let invalid: UInt32 = 0x8000_0000

    /// The bits of a character in a group of three bytes, first byte lowest: 256 entries per position.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: invalid, count: 1024)
        func set(_ character: UInt8, to value: UInt32) {
            for digit in 0..<4 {
                let group = value << (18 - 6 * UInt32(digit))
                tables[256 * digit + Int(character)] = group >> 16 | group & 0xFF00 | (group & 0xFF) << 16
            }
        }
        for (value, character) in alphabet.enumerated() { set(character, to: UInt32(value)) }
        set(UInt8(ascii: "-"), to: 62)
        set(UInt8(ascii: "_"), to: 63)
        return tables
    }()
}

// Base64 with only the URL-safe alphabet (RFC 4648 §5), as JOSE and COSE tokens are written.

extension Base64 {
    /// Decodes `text` into the front of `output`, which needs room for `decodedCapacity` bytes. Returns the number of
    /// bytes, or `nil` if `text` is not URL-safe Base64 in its only form.
    ///
    /// - Parameter allowsPadding: True if the padding may be there, then as RFC 4648 §3.2 has it.
    package static func decodeURLSafe(
        _ text: Span<UInt8>,
        into output: inout MutableSpan<UInt8>,
        allowsPadding: Bool = false
    ) -> Int? {
        guard text.firstIndex(of: UInt8(ascii: "+"), from: 0) == nil,
            text.firstIndex(of: UInt8(ascii: "/"), from: 0) == nil,
            allowsPadding || text.firstIndex(of: UInt8(ascii: "="), from: 0) == nil
        else { return nil }
        return decode(text, into: &output)
    }

    /// Decodes unpadded `text`. Returns `nil` if it is not URL-safe Base64 in its only form.
    package static func decodeURLSafe(_ text: String) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: decodedCapacity(text.utf8.count))
        let bytes = [UInt8](text.utf8)
        var span = output.mutableSpan
        guard let count = decodeURLSafe(bytes.span, into: &span) else { return nil }
        output.removeLast(output.count - count)
        return output
    }
}
