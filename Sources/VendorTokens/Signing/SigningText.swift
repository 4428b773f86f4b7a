// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The characters that formats and carriers accept.
enum SigningText {
    /// The largest token, in bytes.
    static let maximumSize = 4096

    /// Throws ``SigningError/Code/character`` with the first character of `text` that `isAllowed` does not accept.
    static func demand(_ text: String, named name: String, allowing isAllowed: (UInt8) -> Bool) throws(SigningError) {
        guard let character = stranger(in: text, allowing: isAllowed) else { return }
        throw SigningError(.character, value: name, character: character)
    }

    /// Returns the first character that `isAllowed` does not accept; `nil` if there is none.
    static func stranger(in text: String, allowing isAllowed: (UInt8) -> Bool) -> Unicode.Scalar? {
        let bytes = text.utf8.span
        var isFine = true
        for index in bytes.indices where bytes[index] >= 0x80 || !isAllowed(bytes[index]) { isFine = false }
        guard !isFine else { return nil }
        return text.unicodeScalars.first { !($0.isASCII && isAllowed(UInt8(truncatingIfNeeded: $0.value))) }
    }

    /// True for printable ASCII characters and the space.
    static func isPrintable(_ byte: UInt8) -> Bool { 0x20..<0x7F ~= byte }

    /// True for letters, digits and `-`, `_`, `.`.
    static func isName(_ byte: UInt8) -> Bool { byte.isUnreserved && byte != UInt8(ascii: "~") }

    /// True for a character of a query parameter that has no other meaning there; `%` and `+` for escaped characters.
    static func isQuery(_ byte: UInt8) -> Bool { query.contains(byte) }

    /// True for a character of a cookie (RFC 6265 §4.1.1).
    static func isCookie(_ byte: UInt8) -> Bool { cookie.contains(byte) }

    /// True for a character of a segment, and slashes.
    static func isSegment(_ byte: UInt8) -> Bool { segment.contains(byte) }

    private static let query = ASCIISet { $0.isUnreserved || "!$'()*,/:;=?@%+".utf8.contains($0) }
    private static let cookie = ASCIISet { 0x21..<0x7F ~= $0 && !"\",;\\".utf8.contains($0) }
    private static let segment = ASCIISet { $0.isUnreserved || "!$&'()*+,/:=@%".utf8.contains($0) }

    /// Returns a number of 1 to 15 digits without a leading zero; `nil` for other text.
    static func number(_ text: some StringProtocol) -> Int64? {
        guard 1...15 ~= text.utf8.count, text.utf8.allSatisfy(\.isASCIIDigit), text.utf8.first != UInt8(ascii: "0")
        else {
            return nil
        }
        return Int64(text)
    }

    /// Returns text in lower-case hexadecimal as bytes; `nil` for other text.
    static func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            guard let digit = character.hexadecimalDigit, !character.isASCIIUppercase else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }
}
