// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// The texts in which edges state facts about a request.

extension RequestURI.Scheme {
    /// Parses the name of a scheme, in any case; `nil` for another one.
    package init?(stated text: Substring) {
        if text.isSameField("https") {
            self = .https
        } else if text.isSameField("http") {
            self = .http
        } else {
            return nil
        }
    }
}

extension RequestFacts {
    /// Parses the codes of the client's country and subdivision (ISO 3166) with commas between them, 1 to 8, such as `us,US-CA`.
    ///
    /// - Returns: The codes in upper case; `nil` for any other text.
    package static func countries(stated text: Substring) -> [String]? {
        let codes = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: 8, omittingEmptySubsequences: false)
            .map { Substring($0).trimmingBlanks }
        guard codes.count <= 8, codes.allSatisfy(\.isCountryCode) else { return nil }
        return codes.map { String(decoding: $0.utf8.map(\.uppercasedASCII), as: UTF8.self) }
    }

    /// True if this is the protocol id of ALPN (RFC 7301): up to 255 visible ASCII characters but a comma.
    package static func isProtocolID(_ bytes: Span<UInt8>) -> Bool {
        guard 1...255 ~= bytes.count else { return false }
        for place in bytes.indices where !(0x21...0x7E ~= bytes[place]) || bytes[place] == UInt8(ascii: ",") {
            return false
        }
        return true
    }

    /// True if this is one DER SEQUENCE, such as a `SubjectPublicKeyInfo`, and nothing after it (X.690 §8.1, §10.1).
    package static func isKeyInfo(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2, bytes[0] == 0x30 else { return false }
        guard bytes[1] >= 0x80 else { return bytes.count == 2 + Int(bytes[1]) }
        let size = Int(bytes[1] & 0x7F)
        guard 1...2 ~= size, bytes.count > 2 + size, bytes[2] != 0 else { return false }
        let length = bytes[2..<2 + size].reduce(0) { $0 << 8 | Int($1) }
        return length >= 0x80 && bytes.count == 2 + size + length
    }
}

extension Position {
    /// Parses `LATITUDE,LONGITUDE` in degrees; `nil` for any other text.
    package init?(stated text: Substring) {
        let parts = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0).trimmingBlanks.degrees }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}

extension Substring {
    /// True for two or three letters, or two letters, a hyphen and one to three letters or digits.
    fileprivate var isCountryCode: Bool {
        let parts = utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let country = parts.first, country.allSatisfy(\.isASCIILetter) else { return false }
        guard parts.count == 2 else { return 2...3 ~= country.count }
        return country.count == 2 && 1...3 ~= parts[1].count && parts[1].allSatisfy(\.isASCIIAlphanumeric)
    }

    /// The number of degrees: a sign, one to three digits, and up to twelve more after a point; `nil` for any other text.
    fileprivate var degrees: Double? {
        let hasSign = utf8.first == UInt8(ascii: "-") || utf8.first == UInt8(ascii: "+")
        let parts = utf8.dropFirst(hasSign ? 1 : 0)
            .split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }), 1...3 ~= parts[0].count,
            parts.count == 1 || 1...12 ~= parts[1].count
        else { return nil }
        return Double(self)
    }
}

extension UInt8 {
    fileprivate var uppercasedASCII: UInt8 { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self ? self & 0xDF : self }
}
