// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Manifests
internal import RequestTargets

/// The redirects of the origin that are followed: to itself, and to configured hosts.
package struct OriginRedirects: Sendable {
    /// The most redirects that follow each other.
    package static let maximum = 5
    package let origin: OriginAddress
    /// The other hosts, in lower case, with their port unless it is the scheme's.
    package let hosts: [URIAuthority]

    /// Returns the absolute URL of a `Location`; `nil` if it must not be followed. That is a URL of a host that is not
    /// configured, a change from `https` to `http`, or a URL that servers could read differently.
    ///
    /// Source: RFC 9110 §10.2.2.
    ///
    /// - Parameter url: The URL of the answer.
    package func target(of location: String, from url: String) -> String? {
        guard let from = ReferenceBase(url: url, .query()), let target = try? from.resolving(location.utf8.span),
            // Refuses what a relative reference may have brought.
            let read = ReferenceBase(url: target.url, .query()), let uri = RequestURI(url: read.url[...]),
            uri.scheme == .https || url.hasPrefix("http:")
        else { return nil }
        return origin.path(of: read.url) != nil || names(uri) ? read.url : nil
    }

    private func names(_ uri: RequestURI) -> Bool {
        hosts.contains { $0.host == uri.host && ($0.port ?? uri.scheme?.defaultPort) == uri.port }
    }
}
