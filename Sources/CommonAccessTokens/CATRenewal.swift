// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
public import RequestTargets

/// The renewal of a token (`catr`): the length of its next life, and the way in which the new token reaches the player.
public struct CATRenewal: Hashable, Sendable {
    /// The way in which a renewed token reaches the player.
    public var delivery: Delivery
    /// The life that a renewal adds to the time of the request, in whole seconds.
    public var life: Int
    /// The length of the window before the expiry in which the token is renewed, in seconds; `nil` for half the life.
    public var deadline: Int?
    /// The name of the cookie; `nil` for ``standardName``.
    public var cookieName: String?
    /// The name of the header field; `nil` for ``standardName``. It comes from the token: use it only if it is on a
    /// list of allowed names.
    public var headerName: String?
    /// The attributes of the cookie, such as `Path=/live/` and `Secure`.
    public var cookieAttributes: [String] = []
    /// The parameters of the header field.
    public var headerParameters: [String] = []
    /// The status of a redirect; `nil` for 302.
    public var redirectStatus: Int?

    /// The name of the header field, and by convention of the cookie.
    public static let standardName = "CTA-Common-Access-Token"

    /// A way in which a renewed token reaches the player. The raw values are those of `catr`.
    public enum Delivery: UInt64, Hashable, Sendable, CaseIterable {
        /// As the token came.
        case automatic = 0
        /// A cookie.
        case cookie = 1
        /// A response header field.
        case header = 2
        /// A redirect to the same URI with the new token.
        case redirect = 3
    }

    /// Creates a renewal.
    public init(_ delivery: Delivery, life: Int, deadline: Int? = nil) {
        self.delivery = delivery
        self.life = life
        self.deadline = deadline
    }

    /// Writes the value of `catr`.
    package func write(to writer: inout CBORWriter) {
        writer.map { map in
            map.entry(0) { $0.write(delivery.rawValue) }
            map.entry(1) { $0.write(life) }
            if let deadline { map.entry(2) { $0.write(deadline) } }
            if let cookieName { map.entry(3) { $0.write(cookieName) } }
            if let headerName { map.entry(4) { $0.write(headerName) } }
            if !cookieAttributes.isEmpty { map.entry(5) { $0.write(texts: cookieAttributes) } }
            if !headerParameters.isEmpty { map.entry(6) { $0.write(texts: headerParameters) } }
            if let redirectStatus { map.entry(7) { $0.write(redirectStatus) } }
        }
    }
}

/// The times of a renewal in a token.
package struct RenewalTimes {
    /// The life that a renewal adds, in milliseconds.
    package var life: Int64 = 0
    /// The deadline in milliseconds; `nil` if the token has none.
    package var deadline: Int64?

    /// The largest deadline that is a length: a larger one is a time.
    private static let longest: Int64 = 1_000_000_000_000

    /// Returns the time from which on a token that expires at `end` is renewed.
    package func start(end: Int64) -> Int64 {
        guard let deadline else { return end - life / 2 }
        return deadline > Self.longest ? deadline : end - deadline
    }
}

extension CBORWriter {
    /// Writes an array of texts.
    package mutating func write(texts: [String]) {
        write(arrayOf: texts.count)
        for text in texts { write(text) }
    }
}

extension CATRenewal {
    /// Reads the value of `catr`, which was checked when the token was read; `nil` if it does not fit.
    package init?(_ value: Span<UInt8>) {
        do throws(ClaimFault) {
            var reader = ClaimReader(value)
            self = try CATRenewal(from: &reader)
        } catch {
            return nil
        }
    }

    private init(from reader: inout ClaimReader) throws(ClaimFault) {
        self.init(.automatic, life: 0)
        for _ in 0..<(try reader.map(1...256)) {
            switch try reader.integer() {
            case 0: delivery = Delivery(rawValue: try reader.unsigned(0...3)) ?? .automatic
            case 1: life = Int(try reader.number(0...1e15))
            case 2: deadline = Int(try reader.number(0...1e15))
            case 3: cookieName = try reader.string()
            case 4: headerName = try reader.string()
            case 5: cookieAttributes = try reader.strings()
            case 6: headerParameters = try reader.strings()
            case 7: redirectStatus = Int(try reader.unsigned(300...399))
            default: try reader.skip()
            }
        }
    }

    /// The line of a `Set-Cookie` field for a renewed token. `nil` if the cookie does not fit the request: its domain
    /// is no suffix of the host, or its path no prefix of the path.
    ///
    /// - Parameters:
    ///   - token: The renewed token.
    ///   - uri: The URI of the request.
    ///   - isOwn: True to add `Secure` and `HttpOnly` if they are missing.
    public func cookie(_ token: String, for uri: RequestURI, isOwn: Bool) -> String? {
        var attributes = cookieAttributes
        for attribute in attributes where !Self.isAllowed(attribute, for: uri) { return nil }
        for flag in ["Secure", "HttpOnly"] where isOwn {
            if !attributes.contains(where: { $0.isSameField(flag == "Secure" ? "secure" : "httponly") }) {
                attributes.append(flag)
            }
        }
        return SetCookie.line(cookieName ?? Self.standardName, value: token, attributes: attributes)
    }

    private static func isAllowed(_ attribute: String, for uri: RequestURI) -> Bool {
        guard attribute.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: ";") }) else { return false }
        let parts = attribute.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count > 1 ? String(parts[1]) : ""
        switch parts[0].lowercased() {
        case "max-age", "expires", "samesite": return parts.count > 1
        case "secure", "httponly", "partitioned": return parts.count == 1
        case "path":
            return value.hasPrefix("/") && uri.path.utf8.starts(with: value.utf8)
        case "domain":
            let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
            guard let host = uri.host, !domain.isEmpty else { return false }
            return host == domain || host.hasSuffix("." + domain)
        default: return false
        }
    }
}

extension ClaimReader {
    fileprivate mutating func string() throws(ClaimFault) -> String {
        let range = try text(1...256)
        return String(copying: source.extracting(range))
    }

    fileprivate mutating func strings() throws(ClaimFault) -> [String] {
        var strings: [String] = []
        for _ in 0..<(try array(0...16)) { strings.append(try string()) }
        return strings
    }
}
