// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Platform
public import RequestTargets

/// The renewal of a signed URI: the length of its next life, and the way in which the new token reaches the client.
public struct URISigningRenewal: Hashable, Sendable {
    /// The way in which a renewed token reaches the client.
    public var transport: Transport
    /// The life that a renewal gives from the time of the request on (`cdniets`), in whole seconds, from 1.
    public var life: Int
    /// The number of path segments of the cookie's path (`cdnistd`); 0 for `/`.
    public var depth: Int

    /// A way in which a renewed token reaches the client. The raw values are those of `cdnistt` (RFC 9246 §6.5).
    public enum Transport: Int64, Hashable, Sendable, CaseIterable {
        /// A cookie.
        case cookie = 1
        /// The query of a redirect.
        case query = 2
    }

    /// Creates a renewal.
    public init(_ transport: Transport, life: Int, depth: Int = 0) {
        self.transport = transport
        self.life = life
        self.depth = depth
    }

    /// Returns the path of the cookie for a request: the first `depth` segments; `nil` if the path has fewer.
    public func cookiePath(for uri: RequestURI) -> String? {
        guard depth > 0 else { return "/" }
        let segments = uri.path.utf8.split(separator: UInt8(ascii: "/"))
        guard depth <= segments.count else { return nil }
        return "/" + segments.prefix(depth).map { String(Substring($0)) }.joined(separator: "/")
    }

    /// Returns the line of a `Set-Cookie` field for a renewed token; `nil` if the path has too few segments, or the cookie
    /// more than 4,096 bytes.
    ///
    /// - Parameters:
    ///   - token: The renewed token.
    ///   - expires: The time from which on it is expired.
    ///   - uri: The URI of the request, without packages.
    ///   - attribute: The name of the cookie.
    ///   - now: The time of the request.
    public func cookie(
        with token: String,
        expires: Timestamp,
        for uri: RequestURI,
        attribute: PackageAttribute = .standard,
        at now: Timestamp
    ) -> String? {
        guard let path = cookiePath(for: uri) else { return nil }
        return SetCookie.line(attribute.name, value: token, path: path, age: SetCookie.age(until: expires, at: now))
    }

    /// Returns the location of a redirect with a renewed token: the target without packages, and the new one in its query.
    public static func location(
        with token: String,
        for target: Substring,
        attribute: PackageAttribute = .standard
    ) -> String {
        attribute.inQuery(token, of: attribute.cut(target).target)
    }
}
