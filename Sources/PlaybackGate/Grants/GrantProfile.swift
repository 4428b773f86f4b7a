// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Keys

/// The rules by which the gate issues grants for entries of the catalogue.
///
/// Entries refer to their profiles, so a check compares no names. Source: CTA-5007 for the claims.
public final class GrantProfile: Sendable {
    /// The name of the profile in the configuration and in metrics.
    public let name: String
    /// The issuer (`iss`) of the grants. Entries with the profile accept grants of this issuer only.
    public let issuer: String
    /// The ids of the signing keys. The key that began to sign last is used. Empty for a profile that only accepts
    /// grants of others.
    public let keyIDs: [String]
    /// The format of the grants.
    public let format: GrantFormat
    /// The rules.
    public let rules: Rules
    package let keys: [KeyID]

    /// The attributes of a cookie besides its path and age.
    let cookieAttributes: [String]
    /// The rule for the host in the grants.
    let hostRule: CATClaims.URIRule?

    /// The longest name, in bytes: grants carry it.
    package static let longestName = 32

    /// True if edges without this catalogue check the grants.
    package var isCheckedByOthers: Bool { format != .cat || rules.isCheckedByOthers }

    /// True if the profile has keys that sign.
    package var isIssued: Bool { !keyIDs.isEmpty }

    /// Creates a profile with one signing key, or none.
    public convenience init(
        _ name: String,
        format: GrantFormat = .cat,
        issuer: String,
        keyID: String?,
        rules: Rules = Rules()
    ) {
        self.init(name, format: format, issuer: issuer, keyIDs: keyID.map { [$0] } ?? [], rules: rules)
    }

    /// Creates a profile with signing keys that follow each other.
    public init(
        _ name: String,
        format: GrantFormat = .cat,
        issuer: String,
        keyIDs: [String],
        rules: Rules = Rules()
    ) {
        self.name = name
        self.format = format
        self.issuer = issuer
        self.keyIDs = keyIDs
        self.rules = rules
        keys = keyIDs.compactMap { KeyID($0) }
        cookieAttributes = rules.cookieAttributes
        hostRule = rules.host.map { CATClaims.URIRule(.host, match: .exact($0.hostWithoutPort)) }
    }

    /// The rules of a profile.
    public struct Rules: Hashable, Sendable {
        /// The recipients (`aud`); empty for any.
        public var audience: [String] = []
        /// The life of a grant, from 5 s to 24 h, and never past the end of its session.
        public var life = Duration.seconds(300)
        /// The longest session, from the issue of the media token, from ``life`` to 12 h.
        public var session = Duration.seconds(12 * 3600)
        /// The renewal; `nil` for grants that are not renewed.
        public var renewal: Renewal? = Renewal()
        /// The permitted methods; empty for any.
        public var methods = ["GET", "HEAD"]
        /// The paths that a grant opens.
        public var scope = Scope.folder
        /// The facts about the player to which a grant is bound.
        public var binding = Binding()
        /// The host that a grant is valid for; `nil` for any.
        public var host: String?
        /// The scheme of the URLs that players use; `https` unless they are without TLS, as in a demonstration.
        public var isSecure = true
        /// The ways in which a grant is handed to a backend.
        public var deliveries: Set<Delivery> = [.cookie]
        /// The cookie.
        public var cookie = Cookie()
        /// True if a grant carries the facts that its revocation needs.
        public var isRevocable = true
        /// The maximum number of concurrent playbacks of a viewer, from 1 to 64; `nil` for any number.
        public var streamLimit: Int?
        /// The rules of signed URIs, for profiles of that format.
        public var signing = SignedURIs()
        /// True if edges without this catalogue check the grants too, as a content delivery network does. Only the
        /// paths of a grant then define its scope. Always true for vendors' tokens and signed URIs.
        public var isCheckedByOthers = false
        /// True to issue grants also for playbacks in shadow mode, and for playbacks that were allowed without an
        /// answer of the store.
        public var coversUnverified = false

        /// Creates the default rules.
        public init() {}
    }

    /// The renewal of grants.
    public struct Renewal: Hashable, Sendable {
        /// The way in which a renewed grant reaches the player.
        public var way = Way.cookie
        /// The time before the expiry in which a grant is renewed: less than its life.
        public var deadline = Duration.seconds(120)

        /// A way to the player.
        public enum Way: String, Hashable, Sendable, CaseIterable {
            /// The way in which the grant came.
            case automatic
            /// A cookie.
            case cookie
            /// A response header field.
            case header
            /// The query of a redirect, only for signed URIs.
            case query
        }

        /// Creates a renewal by cookie.
        public init() {}
    }

    /// The paths that a grant opens.
    public enum Scope: Hashable, Sendable {
        /// The folder of the catalogue's entry, or of the requested path if the entry is no folder.
        case folder
        /// All paths that begin with this one, which ends in `/`.
        case prefix(String)
    }

    /// A way to hand a grant to a backend.
    public enum Delivery: String, Hashable, Sendable, CaseIterable {
        /// `Set-Cookie` lines.
        case cookie
        /// A path segment.
        case segment
        /// A query parameter.
        case query
        /// A header field.
        case header
    }

    /// The cookie of a grant.
    public struct Cookie: Hashable, Sendable {
        /// The name.
        public var name = "CTA-Common-Access-Token"
        /// The value of `SameSite`.
        public var sameSite = SameSite.none
        /// True to set a cookie for each site that embeds the player.
        public var isPartitioned = false
        /// The domain; `nil` for only the host.
        public var domain: String?

        /// The sites whose requests carry the cookie.
        public enum SameSite: String, Hashable, Sendable, CaseIterable {
            /// All sites.
            case none = "None"
            /// The own site, and navigation to it.
            case lax = "Lax"
            /// The own site only.
            case strict = "Strict"
        }

        /// Creates the standard cookie.
        public init() {}
    }
}

extension String {
    /// The host of `HOST` or `HOST:PORT`: claims name the port separately.
    fileprivate var hostWithoutPort: String {
        guard utf8.last != UInt8(ascii: "]"), let colon = utf8.lastIndex(of: UInt8(ascii: ":")) else { return self }
        return String(self[..<colon])
    }
}

extension GrantProfile: Hashable {
    /// Compares all properties.
    public static func == (left: GrantProfile, right: GrantProfile) -> Bool {
        left === right
            || left.name == right.name && left.format == right.format && left.issuer == right.issuer
                && left.keyIDs == right.keyIDs && left.rules == right.rules
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
