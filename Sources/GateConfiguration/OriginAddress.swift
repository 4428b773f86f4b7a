// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import RequestTargets

/// The origin of manifests: scheme, host and port, and a path that all its paths begin with.
package struct OriginAddress: Hashable, Sendable {
    /// The URL up to its path, such as `https://origin.example:8443`.
    package let site: String
    /// The path before the paths of requests, without its last slash; empty for none.
    package let base: String
    /// The host, and the port unless it is the scheme's default one.
    package let authority: String

    /// A substitute for an address that cannot be parsed. The configuration with it is refused.
    package static let none = OriginAddress(site: "", base: "", authority: "")

    private init(site: String, base: String, authority: String) {
        self.site = site
        self.base = base
        self.authority = authority
    }

    /// Parses an `http` or `https` URL without user, query and fragment.
    package init(_ text: String) throws(ParseFault) {
        guard let uri = RequestURI(url: text[...]), let scheme = uri.scheme, let host = uri.host,
            uri.query?.isEmpty ?? false, !text.utf8.contains(UInt8(ascii: "@")), text.utf8.last != UInt8(ascii: "?")
        else { throw ParseFault("must be an http or https URL without a query, such as https://origin.example") }
        authority = uri.hasDefaultPort || uri.port == nil ? String(host) : "\(host):\(uri.port ?? 0)"
        site = "\(scheme.rawValue)://\(authority)"
        base = uri.path.utf8.last == UInt8(ascii: "/") ? String(uri.path.dropLast()) : String(uri.path)
    }

    /// Returns the path and query of requests for a URL of the origin; `nil` if it is not one.
    package func path(of url: String) -> Substring? {
        guard url.utf8.starts(with: (site + base).utf8) else { return nil }
        let path = Substring(url.utf8.dropFirst((site + base).utf8.count))
        return path.utf8.first == UInt8(ascii: "/") ? path : nil
    }

    /// Returns the URL of a path, both in normal form, and a query, which may be empty.
    package func url(path: Substring, query: Substring) -> String {
        query.isEmpty ? "\(site)\(base)\(path)" : "\(site)\(base)\(path)?\(query)"
    }
}
