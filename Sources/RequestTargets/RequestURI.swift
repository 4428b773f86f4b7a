// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings

/// The URI of a client's request at the edge, in normal form, without the tokens that it carried.
///
/// The scheme and host are in lower case, the default port is dropped, and dot segments are resolved. Unreserved
/// characters are decoded, and other percent encodings are in upper case. As in the catalogue, `//` counts as `/`, and
/// a path that an origin may interpret differently is no URI here. Source: RFC 9110 §4.2.3, RFC 3986 §6.2.2 and §6.2.3.
public struct RequestURI: Hashable, Sendable {
    /// The scheme; `nil` if the edge does not report it.
    public let scheme: Scheme?
    /// The host in lower case, such as `cdn.example` or `[2001:db8::1]`; `nil` if the edge does not report it.
    public let host: Substring?
    /// The port; `nil` if neither the edge nor the scheme determines it.
    public let port: UInt16?
    /// The path, percent-encoded, with its leading `/`.
    public let path: Substring
    /// The query without `?`, empty if there is none; `nil` if it is not in a form that all servers read alike.
    public let query: Substring?

    /// The scheme of a URI.
    public enum Scheme: String, Hashable, Sendable, CaseIterable {
        /// HTTP without TLS.
        case http
        /// HTTP over TLS.
        case https

        /// The port if none is given.
        public var defaultPort: UInt16 { self == .http ? 80 : 443 }

        /// The scheme with the characters before the host.
        package var start: String { self == .http ? "http://" : "https://" }
    }

    /// The accepted spellings of a path.
    public enum Form: Hashable, Sendable {
        /// Empty and dot segments are resolved.
        case resolved
        /// A path with empty or dot segments is no URI: the edge does not resolve them.
        case asIs
    }

    /// The largest target, in bytes.
    public static let maximumSize = URIPath.maximumSize

    /// Creates a URI from an absolute URL with the scheme `http` or `https`; `nil` if it has no unambiguous normal form.
    ///
    /// - Parameter url: The URL, of at most ``maximumSize`` bytes behind its authority, without user information.
    public init?(absolute url: Substring) {
        guard let scheme = Scheme.allCases.first(where: { url.lowercased().hasPrefix($0.start) }) else { return nil }
        let rest = url.dropFirst(scheme.start.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest.dropFirst(authority.count)
        let path = target.isEmpty ? "/" : target.first == "/" ? target : "/" + target
        self.init(path, scheme: scheme, authority: authority)
    }

    /// Creates a URI from an absolute URL: see ``init(absolute:)-(Substring)``.
    public init?(absolute url: String) { self.init(absolute: url[...]) }

    /// Creates the URI of a request; `nil` if its target or authority has no unambiguous normal form.
    ///
    /// - Parameters:
    ///   - target: The path and query as requested, with the tokens cut out; at most ``maximumSize`` bytes.
    ///   - scheme: The scheme of the client's connection, if it is known.
    ///   - authority: The host of the request, with or without a port, if it is known.
    ///   - form: The accepted spellings of the path.
    public init?(
        _ target: Substring,
        scheme: Scheme? = nil,
        authority: Substring? = nil,
        form: Form = .resolved
    ) {
        var parsed: URIAuthority?
        if let authority {
            parsed = URIAuthority(authority)
            guard parsed != nil else { return nil }
        }
        self.init(target, scheme: scheme, parsed: parsed, form: form)
    }

    /// Creates the URI of a request whose authority is parsed; `nil` if its target has no normal form.
    package init?(_ target: Substring, scheme: Scheme?, parsed authority: URIAuthority?, form: Form) {
        let host = authority?.host
        guard let parts = NormalTarget(target, form: form) else { return nil }
        self.scheme = scheme
        self.host = host
        // Without an authority a port that is not the default one may have been left out.
        port = authority?.port ?? (host == nil ? nil : scheme?.defaultPort)
        path = parts.path
        query = parts.query
    }

    /// True if the port is the scheme's default one, which the normal form does not write.
    public var hasDefaultPort: Bool { port != nil && port == scheme?.defaultPort }

    /// The URI without its query, as in a proof of possession (RFC 9449 §4.2); `nil` if scheme or host is unknown.
    public var withoutQuery: String? {
        guard let scheme, let host else { return nil }
        let port = port.map { hasDefaultPort ? "" : ":\($0)" } ?? ""
        return "\(scheme.rawValue)://\(host)\(port)\(path)"
    }

    /// The whole URI, as signed URIs have it (RFC 9246 §3.1); `nil` if scheme, host or query is unknown.
    public var absolute: String? {
        guard let query, let start = withoutQuery else { return nil }
        return query.isEmpty ? start : "\(start)?\(query)"
    }
}

/// The path and the query of a target in normal form.
struct NormalTarget {
    let path: Substring
    let query: Substring?

    /// Brings a target to normal form. A target that has it already is not copied.
    init?(_ target: Substring, form: RequestURI.Form) {
        let bytes = target.utf8.span
        guard bytes.count <= RequestURI.maximumSize, bytes.count > 0, bytes[0] == UInt8(ascii: "/") else { return nil }
        let (pathEnd, end) = Self.plainLengths(bytes)
        if let pathEnd {
            // A slice of a text costs more than all else here.
            if pathEnd == bytes.count {
                path = target
                query = Substring()
                return
            }
            let mark = target.utf8.index(target.startIndex, offsetBy: pathEnd)
            path = target[..<mark]
            if end == bytes.count {
                query = target[target.utf8.index(after: mark)...]
            } else {
                query = Self.normalQuery(bytes.extracting((pathEnd + 1)...))
            }
            return
        }
        guard let normal = Self.normalPath(of: bytes, form: form) else { return nil }
        path = normal
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0)
        query = mark.map { Self.normalQuery(bytes.extracting(($0 + 1)...)) } ?? ""
    }

    /// Returns the lengths of the path and of the whole target. If they may not be in normal form, the length is `nil`
    /// for the path, or less than the count for the target.
    private static func plainLengths(_ bytes: Span<UInt8>) -> (path: Int?, target: Int) {
        if URIPath.isPlain(bytes) { return (bytes.count, bytes.count) }
        // Read once: each access to them asks whether they were made.
        let (inPath, inQuery) = (plainInPath, plainInQuery)
        var position = 0
        var previous: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            // Most are letters and digits.
            if !byte.isASCIIAlphanumeric {
                if byte == UInt8(ascii: "?") { break }
                guard inPath.contains(byte) else { return (nil, position) }
                // No dot and no slash may follow a slash.
                if previous == UInt8(ascii: "/"), byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".") {
                    return (nil, position)
                }
            }
            previous = byte
            position += 1
        }
        let path = position
        while position < bytes.count, inQuery.contains(bytes[position]) { position += 1 }
        return (path, position)
    }

    /// Returns the normal form of the path at the start of a target; `nil` if it has none.
    private static func normalPath(of bytes: Span<UInt8>, form: RequestURI.Form) -> Substring? {
        do throws(URIPath.Fault) {
            let decoded = try URIPath.decode(bytes)
            guard String(validating: decoded, as: UTF8.self) != nil else { return nil }
            let end = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? bytes.count
            guard let encoded = URIPath.normalText(bytes.extracting(..<end), plain: plainInPath) else { return nil }
            let resolved = try URIPath.resolve(encoded.span)
            guard form == .resolved || resolved.count == encoded.count else { return nil }
            return String(decoding: resolved, as: UTF8.self)[...]
        } catch {
            return nil
        }
    }

    /// `/` and the characters of a segment (RFC 3986 §3.3) but `;`.
    private static let plainInPath = ASCIISet { $0.isUnreserved || "/!$&'()*+,=:@".utf8.contains($0) }
    /// The characters of a query (RFC 3986 §3.4).
    private static let plainInQuery = ASCIISet { $0.isUnreserved || "/?!$&'()*+,;=:@".utf8.contains($0) }

    private static func normalQuery(_ bytes: Span<UInt8>) -> Substring? {
        URIPath.normalText(bytes, plain: plainInQuery).map { String(decoding: $0, as: UTF8.self)[...] }
    }
}

extension RequestURI {
    /// Creates the URI of a request from an absolute `http` or `https` URL; `nil` for any other text, and for a URL with user
    /// information or a fragment.
    ///
    /// - Parameter url: At most ``maximumSize`` bytes behind the host.
    public init?(url: Substring) {
        guard let scheme = Scheme.allCases.first(where: { url.utf8.starts(with: "\($0.rawValue)://".utf8) }) else {
            return nil
        }
        let rest = url.utf8.dropFirst(scheme.rawValue.utf8.count + 3)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = Substring(rest[..<end])
        var target = Substring(rest[end...])
        guard !authority.isEmpty, !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
        if target.utf8.first != UInt8(ascii: "/") { target = "/\(target)" }
        self.init(target, scheme: scheme, authority: authority)
    }
}
