// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension Span<UInt8> {
    /// Returns this reference without blanks around it, and with those in its path or query as `%20`, as players read it; `nil` if it
    /// has none. A blank in a scheme or host is a fault.
    ///
    /// Source: WHATWG URL, which drops tabs within a reference; those stay, and are refused later.
    func encodingBlanks() throws(ReferenceFault) -> [UInt8]? {
        guard count > 0, self[0].isBlank || self[count - 1].isBlank || firstIndex(of: 0x20, from: 0) != nil else {
            return nil
        }
        var (start, end) = (0, count)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        let text = extracting(start..<end)
        guard !text.hasBlankInScheme else { throw .controlCharacter }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.count + 8)
        for index in text.indices {
            if text[index] == 0x20 { encoded += "%20".utf8 } else { encoded.append(text[index]) }
        }
        return encoded
    }

    /// True if there is a blank before a possible colon of a scheme.
    private var hasBlankInScheme: Bool {
        var isBlank = false
        for index in indices {
            switch self[index] {
            case 0x20: isBlank = true
            case UInt8(ascii: ":"): return isBlank
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return false
            default: continue
            }
        }
        return false
    }
}
