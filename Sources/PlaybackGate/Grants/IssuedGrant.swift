// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
public import EdgeTokens
internal import Encodings
public import Platform

/// A grant that the gate has issued or renewed, with all that its delivery to a player needs.
public struct IssuedGrant: Hashable, Sendable {
    /// The profile by which it was issued.
    public let profile: GrantProfile
    /// The token: base64url.
    public let token: String
    /// The time from which on the grant is expired.
    public let expires: Timestamp
    /// The time from which on the grant is renewed; `nil` if it is not renewed.
    public let renewAfter: Timestamp?
    /// The playback session.
    public let session: PlaybackSession
    /// The paths that the grant opens, ending in `/` and percent-encoded.
    public let scope: String
    /// The path of the manifest, percent-encoded, if it is known.
    public let manifest: String?
    /// The carriers of a grant in another format than Common Access Tokens.
    private let carriers: Carriers?
    /// The query of ``url`` with its leading `?`; empty for none.
    private let urlEnd: String

    /// The carriers of a grant, as far as its format has them.
    struct Carriers: Hashable, Sendable {
        let cookies: [Cookie]
        let query: String?
        /// The path of the manifest, or of the scope, with the grant in it.
        let path: String?
        let url: String?
        /// The only URL that the grant opens; `nil` if it opens a scope.
        var onlyURL: String?
        /// True if the grant reaches the player by a redirect.
        var isRedirect = false
    }

    /// A cookie that carries a grant, or a part of it.
    struct Cookie: Hashable, Sendable {
        let name: String
        let value: String
        let path: String
        let attributes: [String]
    }

    /// Creates a grant in another format than Common Access Tokens.
    init(_ order: GrantOrder, token: String, expires: Timestamp, renewAfter: Timestamp?, carriers: Carriers) {
        profile = order.profile
        self.token = token
        self.expires = expires
        self.renewAfter = renewAfter
        session = order.session
        scope = order.scope
        manifest = order.manifest
        urlEnd = order.urlEnd
        self.carriers = carriers
    }

    /// Creates a Common Access Token.
    init(
        profile: GrantProfile,
        token: IssuedCAT,
        expires: Timestamp,
        session: PlaybackSession,
        scope: String,
        manifest: String?,
        urlEnd: String = ""
    ) {
        self.profile = profile
        self.token = token.token
        self.expires = expires
        renewAfter = token.renewalStart
        self.session = session
        self.scope = scope
        self.manifest = manifest
        self.urlEnd = urlEnd
        carriers = nil
    }

    private var cookies: [Cookie] {
        let rules = profile.rules
        return carriers?.cookies ?? [
            Cookie(name: rules.cookie.name, value: token, path: scope, attributes: profile.cookieAttributes)
        ]
    }

    /// The values of `Set-Cookie` that deliver the grant to a browser, one for each field. Empty if the format has no
    /// cookies, or one would exceed 4,096 bytes, which browsers drop silently.
    ///
    /// - Parameter now: The time of the answer, for `Max-Age`.
    public func setCookies(at now: Timestamp) -> [String] {
        let age = SetCookie.age(until: expires, at: now)
        var lines: [String] = []
        for cookie in cookies {
            let (name, value, path) = (cookie.name, cookie.value, cookie.path)
            guard
                let line = SetCookie.line(name, value: value, path: path, age: age, attributes: cookie.attributes)
            else { return [] }
            lines.append(line)
        }
        return lines
    }

    /// The query parameters that carry the grant, such as `cat=TOKEN`; `nil` if the format has none.
    public var query: String? { carriers.map(\.query) ?? "\(Self.queryName)=\(token)" }

    /// The path segment that carries a Common Access Token: `~cat=TOKEN`; `nil` for other formats.
    public var segment: String? { carriers == nil ? Self.segmentPrefix + token : nil }

    /// The path of the manifest with the grant in it, or of the scope; `nil` if the format has no grants in paths.
    /// Relative references retain the grant.
    public var path: String? {
        guard let carriers else { return manifest.map { "/\(Self.segmentPrefix)\(token)\($0)" } }
        return carriers.path
    }

    /// The origin of the URLs that players use, such as `https://cdn.example`; `nil` if the profile names no host.
    public var origin: String? { profile.rules.host.map { "\(profile.rules.isSecure ? "https" : "http")://\($0)" } }

    /// The URL that the grant opens, up to and including the scope, or its only URL. If the profile names no host, only
    /// the scope.
    public var scopeURL: String { carriers?.onlyURL ?? (origin ?? "") + scope }

    /// True if this is a renewed grant that reaches the player by a redirect, with the grant in its query.
    package var isByRedirect: Bool { carriers?.isRedirect ?? false }

    /// The URL of the manifest with the grant in the path, which relative references retain, or else in the query.
    /// `nil` if host or manifest is not known, or the format has only cookies.
    public var url: String? {
        if let carriers { return carriers.url }
        guard let origin, let path else { return nil }
        return origin + path + urlEnd
    }

    /// The name of the query parameter with a grant.
    public static let queryName = "cat"
    /// The prefix of a path segment with a grant.
    public static let segmentPrefix = "~cat="
}

extension GrantProfile.Rules {
    /// The attributes of a cookie besides its path and age.
    var cookieAttributes: [String] {
        var attributes = isSecure ? ["Secure", "HttpOnly"] : ["HttpOnly"]
        attributes.append("SameSite=\(cookie.sameSite.rawValue)")
        if cookie.isPartitioned { attributes.append("Partitioned") }
        if let domain = cookie.domain { attributes.append("Domain=\(domain)") }
        return attributes
    }
}
