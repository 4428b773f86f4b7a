// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

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

    /// Creates a grant.
    init(
        _ profile: GrantProfile,
        _ token: IssuedCAT,
        expires: Timestamp,
        session: PlaybackSession,
        scope: String,
        manifest: String?
    ) {
        self.profile = profile
        self.token = token.token
        self.expires = expires
        renewAfter = token.renewalStart
        self.session = session
        self.scope = scope
        self.manifest = manifest
    }

    private var cookie: GrantProfile.Cookie { profile.rules.cookie }

    /// The value of `Set-Cookie` that hands the grant to a browser, or `nil` if it would exceed 4,096 bytes, which browsers
    /// drop silently.
    ///
    /// - Parameter now: The time of the answer, for `Max-Age`.
    public func setCookie(at now: Timestamp) -> String? {
        let age = max(0, (expires.millisecondsSince1970 - now.millisecondsSince1970) / 1000)
        var line = "\(cookie.name)=\(token); Path=\(scope); Max-Age=\(age)"
        for attribute in profile.cookieAttributes { line += "; \(attribute)" }
        return line.utf8.count <= 4096 ? line : nil
    }

    /// The query parameter that carries the grant: `cat=TOKEN`.
    public var query: String { "\(Self.queryName)=\(token)" }

    /// The path segment that carries the grant: `~cat=TOKEN`.
    public var segment: String { Self.segmentPrefix + token }

    /// The origin of the URLs that players use, such as `https://cdn.example`; `nil` if the profile names no host.
    public var origin: String? { profile.rules.host.map { "\(profile.rules.isSecure ? "https" : "http")://\($0)" } }

    /// The URL that the grant opens, up to and including the scope; the scope alone if the profile names no host.
    public var scopeURL: String { (origin ?? "") + scope }

    /// The URL of the manifest with the grant in a path segment, which relative references keep; `nil` if host or manifest is
    /// not known.
    public var url: String? {
        guard let origin, let manifest else { return nil }
        return "\(origin)/\(segment)\(manifest)"
    }

    /// The name of the query parameter with a grant.
    public static let queryName = "cat"
    /// The prefix of a path segment with a grant.
    public static let segmentPrefix = "~cat="
}

extension GrantProfile.Rules {
    /// The attributes of a cookie beside its path and age.
    var cookieAttributes: [String] {
        var attributes = isSecure ? ["Secure", "HttpOnly"] : ["HttpOnly"]
        attributes.append("SameSite=\(cookie.sameSite.rawValue)")
        if cookie.isPartitioned { attributes.append("Partitioned") }
        if let domain = cookie.domain { attributes.append("Domain=\(domain)") }
        return attributes
    }
}
