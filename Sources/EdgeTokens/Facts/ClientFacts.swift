// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import RequestTargets

/// The report of an edge about one fact.
package enum ReportedFact: Sendable {
    /// The edge does not report it.
    case none
    /// The edge reports it in a text. An empty text, or blanks, report nothing. For facts about TLS, they report that
    /// there is none.
    case text(Substring)
    /// The edge reports it in bytes; empty if there is none.
    case bytes([UInt8])
    /// The edge reports it more than once.
    case repeated

    /// The parsed text; `nil` if there is none, or it is malformed.
    fileprivate func parsed<Value>(_ parse: (Substring) -> Value?) -> Value? {
        guard case .text(let text) = self else { return nil }
        let trimmed = text.trimmingBlanks
        return trimmed.isEmpty ? nil : parse(trimmed)
    }

    /// The fact about TLS in these bytes, or in this text.
    fileprivate func tlsFact(
        isValid: ([UInt8]) -> Bool,
        decode: (Substring) -> [UInt8]?
    ) -> RequestFacts.TLSFact {
        let bytes: [UInt8]
        switch self {
        case .none, .repeated: return .unknown
        case .bytes(let reported): bytes = reported
        case .text(let text):
            let trimmed = text.trimmingBlanks
            if trimmed.isEmpty { return .none }
            guard let decoded = decode(trimmed), !decoded.isEmpty else { return .unknown }
            bytes = decoded
        }
        if bytes.isEmpty { return .none }
        return isValid(bytes) ? .value(bytes) : .unknown
    }
}

/// The reports of an edge about a client and its connection. Each is read and parsed when a restriction needs it. A
/// fact that cannot be parsed is unknown, and refuses only the grant that needs it.
package protocol ClientFacts: HeaderFields {
    /// True if the client's header fields are known.
    var hasHeaders: Bool { get }

    /// Returns the edge's report of a fact.
    ///
    /// - Parameter fact: A fact about the client or its connection, or the scheme or the host.
    func report(of fact: RequestFact) -> ReportedFact
}

extension ClientFacts {
    /// The client's header fields; `nil` if they are not known.
    package var headers: (any HeaderFields)? { hasHeaders ? self : nil }

    /// The client's address, with or without a port.
    package var clientAddress: IPAddress? { report(of: .clientAddress).parsed { IPAddress(reported: $0) } }

    /// The number of the client's autonomous system, 1 to 2³² - 1.
    package var clientASN: UInt32? {
        report(of: .clientASN).parsed { text in
            guard 1...10 ~= text.utf8.count, text.utf8.allSatisfy(\.isASCIIDigit), let number = UInt32(text), number > 0
            else { return nil }
            return number
        }
    }

    /// The codes of the client's country and subdivision (ISO 3166).
    package var countries: [String]? { report(of: .countries).parsed { RequestFacts.countries(reported: $0) } }

    /// The position of the client.
    package var position: Position? { report(of: .position).parsed { Position(reported: $0) } }

    /// The protocol id that the connection negotiated by ALPN (RFC 7301), such as `h2`.
    package var alpn: RequestFacts.TLSFact {
        report(of: .alpn).tlsFact(isValid: RequestFacts.isProtocolID) { Array($0.utf8) }
    }

    /// The client's key of the TLS connection: DER of a `SubjectPublicKeyInfo`. A report in a text has it in Base64.
    package var clientKey: RequestFacts.TLSFact {
        report(of: .clientKey).tlsFact(isValid: RequestFacts.isKeyInfo) { text in
            text.utf8.count <= RequestFacts.maximumKeySize ? Base64.decode(Array(text.utf8)) : nil
        }
    }

    /// The reason why a fact is not known.
    package func reason(of fact: RequestFact) -> UnknownFact.Reason {
        switch report(of: fact == .port ? .host : fact) {
        case .none: .notReported
        case .repeated: .repeated
        case .bytes: .malformed
        case .text(let text): text.trimmingBlanks.isEmpty ? .notReported : .malformed
        }
    }
}

extension IPAddress {
    /// Parses an address that an edge reports: bare, in brackets, or with a port behind it (RFC 7239 §6).
    ///
    /// - Returns: `nil` for `unknown`, an obfuscated name such as `_hidden`, and any other text.
    package init?(reported text: Substring) {
        if let address = IPAddress(text) {
            self = address
            return
        }
        let bytes = text.utf8
        guard
            let colon = bytes.lastIndex(of: UInt8(ascii: ":"))
                ?? (bytes.last == UInt8(ascii: "]") ? bytes.endIndex : nil)
        else { return nil }
        let isBracketed = bytes.first == UInt8(ascii: "[")
        let hasPort = bytes.last != UInt8(ascii: "]")
        var address = hasPort ? text[..<colon] : text
        if hasPort {
            let port = bytes[bytes.index(after: colon)...]
            guard 1...5 ~= port.count, port.allSatisfy(\.isASCIIDigit), let number = Int(Substring(port)),
                number <= 65_535
            else { return nil }
        }
        if isBracketed {
            guard address.utf8.last == UInt8(ascii: "]") else { return nil }
            address = Substring(address.utf8.dropFirst().dropLast())
        }
        // A port needs brackets behind an IPv6 address, and there are none around an IPv4 one.
        guard isBracketed == address.utf8.contains(UInt8(ascii: ":")) else { return nil }
        self.init(address)
    }
}

extension RequestURI.Scheme {
    /// Parses the name of a scheme, in any case; `nil` for another one.
    package init?(reported text: Substring) {
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
    /// The most characters of a client's key: RSA with 16,384 bits.
    fileprivate static let maximumKeySize = 4096

    /// Parses the codes of the client's country and subdivision (ISO 3166) with commas between them, 1 to 8, such as `us,US-CA`.
    ///
    /// - Returns: The codes in upper case; `nil` for any other text.
    fileprivate static func countries(reported text: Substring) -> [String]? {
        let codes = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: 8, omittingEmptySubsequences: false)
            .map { Substring($0).trimmingBlanks }
        guard codes.count <= 8, codes.allSatisfy(\.isCountryCode) else { return nil }
        return codes.map { String(decoding: $0.utf8.map(\.uppercasedASCII), as: UTF8.self) }
    }

    /// True if this is the protocol id of ALPN (RFC 7301): up to 255 visible ASCII characters except a comma.
    fileprivate static func isProtocolID(_ bytes: [UInt8]) -> Bool {
        guard 1...255 ~= bytes.count else { return false }
        for index in bytes.indices where !(0x21...0x7E ~= bytes[index]) || bytes[index] == UInt8(ascii: ",") {
            return false
        }
        return true
    }

    /// True if this is one DER SEQUENCE, such as a `SubjectPublicKeyInfo`, and nothing after it (X.690 §8.1, §10.1).
    fileprivate static func isKeyInfo(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2, bytes[0] == 0x30 else { return false }
        guard bytes[1] >= 0x80 else { return bytes.count == 2 + Int(bytes[1]) }
        let size = Int(bytes[1] & 0x7F)
        guard 1...2 ~= size, bytes.count > 2 + size, bytes[2] != 0 else { return false }
        let length = (2..<2 + size).reduce(0) { $0 << 8 | Int(bytes[$1]) }
        return length >= 0x80 && bytes.count == 2 + size + length
    }
}

extension Position {
    /// Parses `LATITUDE,LONGITUDE` in degrees; `nil` for any other text.
    fileprivate init?(reported text: Substring) {
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
