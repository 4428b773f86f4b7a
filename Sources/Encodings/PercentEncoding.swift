// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension Substring {
    /// This text, percent-decoded once; `nil` if the encoding is malformed or the result is not UTF-8.
    package var percentDecoded: String? {
        let bytes = utf8.span
        var outcome = PercentDecoding.ascii
        let text = unsafe String(unsafeUninitializedCapacity: bytes.count) { decoded in
            var count = 0
            outcome = bytes.decodePercent(
                run: { run in
                    unsafe run.withUnsafeBytes { run in
                        unsafe UnsafeMutableRawBufferPointer(
                            rebasing: UnsafeMutableRawBufferPointer(decoded)[count..<decoded.count]
                        ).copyMemory(from: run)
                    }
                    count += run.count
                },
                byte: { byte in
                    unsafe decoded[count] = byte
                    count += 1
                }
            )
            // Bytes beyond ASCII are validated below: here invalid UTF-8 would be repaired, not refused.
            return outcome == .ascii ? count : 0
        }
        switch outcome {
        case .ascii: return text
        case .malformed: return nil
        case .other:
            var decoded: [UInt8] = []
            _ = bytes.decodePercent(run: { decoded.append(copying: $0) }, byte: { decoded.append($0) })
            return String(validating: decoded, as: UTF8.self)
        }
    }
}

/// The kind of the bytes that were percent-encoded.
private enum PercentDecoding {
    case ascii
    case other
    case malformed
}

extension Span<UInt8> {
    /// Returns the byte that the three bytes from this index on encode, such as `%2F`; `nil` if they encode none.
    @inlinable
    package func percentEncodedByte(at position: Int) -> UInt8? {
        guard position >= 0, position + 2 < count, self[position] == UInt8(ascii: "%"),
            let high = self[position + 1].hexadecimalDigit,
            let low = self[position + 2].hexadecimalDigit
        else { return nil }
        return high << 4 | low
    }

    /// Undoes percent-encoding: passes unencoded text in runs, and encoded text byte by byte.
    fileprivate func decodePercent(run: (Span<UInt8>) -> Void, byte: (UInt8) -> Void) -> PercentDecoding {
        var kind = PercentDecoding.ascii
        var start = 0
        while let mark = firstIndex(of: UInt8(ascii: "%"), from: start) {
            run(extracting(start..<mark))
            guard let decoded = percentEncodedByte(at: mark) else { return .malformed }
            if decoded >= 0x80 { kind = .other }
            byte(decoded)
            start = mark + 3
        }
        run(extracting(start..<count))
        return kind
    }
}

extension StringProtocol {
    /// The text with all characters percent-encoded except the unreserved ones (RFC 3986 §2.3).
    @inlinable
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            if byte.isUnreserved { bytes.append(byte) } else { bytes.append(percentEncoding: byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a byte as a percent sign and two digits, in upper case.
    @inlinable
    package mutating func append(percentEncoding byte: UInt8) {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
        append(UInt8(ascii: "%"))
        append(digit(byte >> 4))
        append(digit(byte & 15))
    }
}
