// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension URIPath {
    /// Returns the path or query of a URI in normal form. Unreserved characters are decoded, other encodings are in
    /// upper case, and characters that are invalid in a URI are encoded.
    ///
    /// `nil` for controls, for `#`, and for percent signs that encode nothing. Source: RFC 3986 §6.2.2.
    ///
    /// - Parameter plain: The characters that stay as they are.
    package static func normalText(_ bytes: Span<UInt8>, plain: ASCIISet) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            var byte = bytes[position]
            var isWritten = plain.contains(byte)
            if byte == UInt8(ascii: "%") {
                guard let encoded = bytes.percentEncodedByte(at: position) else { return nil }
                position += 3
                byte = encoded
                isWritten = byte.isUnreserved
            } else if byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "#") {
                return nil
            } else {
                position += 1
            }
            if isWritten { text.append(byte) } else { text.append(percentEncoding: byte) }
        }
        return text
    }
}
