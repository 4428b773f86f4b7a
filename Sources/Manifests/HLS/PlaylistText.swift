// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The characters of a playlist, checked as they arrive.
///
/// Source: RFC 8216 §4.1, which demands UTF-8 without control characters. Each character that a reader could accept as
/// the end of a line is refused: the rest of a comment would be a reference to it.
struct PlaylistText {
    /// A fault, and its position in the checked bytes.
    struct Fault: Error {
        let code: ManifestCode
        let position: Int
        let reason: String
    }

    /// The number of bytes that are missing of a character.
    private var missing = 0
    /// The range of the next byte of a character.
    private var range: ClosedRange<UInt8> = 0x80...0xBF
    private var scalar: UInt32 = 0
    private var isAfterReturn = false

    /// True between characters, and not within the end of a line.
    var isComplete: Bool { missing == 0 && !isAfterReturn }

    /// Checks the next bytes.
    mutating func check(_ bytes: Span<UInt8>) throws(Fault) {
        // Most playlists have nothing but printable ASCII in lines that end in a line feed.
        if isComplete, bytes.isPlainText { return }
        for position in bytes.indices {
            if let (code, reason) = read(bytes[position]) {
                throw Fault(code: code, position: position, reason: reason)
            }
        }
    }

    private mutating func read(_ byte: UInt8) -> (ManifestCode, String)? {
        if isAfterReturn {
            isAfterReturn = false
            guard byte == 0x0A else { return (.malformed, "a carriage return is not followed by a line feed") }
        }
        guard missing == 0 else { return readRest(byte) }
        switch byte {
        case 0: return (.encodingInvalid, "a NUL byte")
        case 0x0D: isAfterReturn = true
        case 0x09, 0x0A, 0x20...0x7E: break
        case 0x01...0x1F, 0x7F: return (.malformed, "a control character")
        case 0xC2...0xDF: begin(missing: 1, bits: byte & 0x1F)
        case 0xE0: begin(missing: 2, bits: byte & 0x0F, range: 0xA0...0xBF)
        case 0xED: begin(missing: 2, bits: byte & 0x0F, range: 0x80...0x9F)
        case 0xE1...0xEF: begin(missing: 2, bits: byte & 0x0F)
        case 0xF0: begin(missing: 3, bits: byte & 0x07, range: 0x90...0xBF)
        case 0xF4: begin(missing: 3, bits: byte & 0x07, range: 0x80...0x8F)
        case 0xF1...0xF3: begin(missing: 3, bits: byte & 0x07)
        default: return Self.invalid
        }
        return nil
    }

    private static let invalid = (ManifestCode.encodingInvalid, "the playlist is not UTF-8")

    private mutating func begin(missing: Int, bits: UInt8, range: ClosedRange<UInt8> = 0x80...0xBF) {
        self.missing = missing
        self.range = range
        scalar = UInt32(bits)
    }

    private mutating func readRest(_ byte: UInt8) -> (ManifestCode, String)? {
        guard range ~= byte else { return Self.invalid }
        range = 0x80...0xBF
        scalar = scalar << 6 | UInt32(byte & 0x3F)
        missing -= 1
        guard missing == 0 else { return nil }
        switch scalar {
        case 0x80...0x9F: return (.malformed, "a control character")
        case 0x2028, 0x2029: return (.malformed, "a separator of lines or paragraphs")
        default: return nil
        }
    }
}

extension Span<UInt8> {
    /// True if there is nothing but printable ASCII, tabs and line feeds.
    fileprivate var isPlainText: Bool {
        unsafe withUnsafeBufferPointer { bytes in
            // Without a way out of the loop, the compiler makes it one over vectors.
            var others: UInt8 = 0
            for position in 0..<bytes.count {
                let byte = unsafe bytes[position]
                let isText: UInt8 = byte &- 0x20 < 0x5F ? 1 : 0
                let isFeed: UInt8 = byte == 0x0A ? 1 : 0
                let isTab: UInt8 = byte == 0x09 ? 1 : 0
                others |= (isText | isFeed | isTab) ^ 1
            }
            return others == 0
        }
    }
}
