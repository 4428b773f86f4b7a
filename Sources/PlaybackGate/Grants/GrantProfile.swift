// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import Keys
internal import RequestTargets

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
        /// True to count the renewals of a grant, so that one that two hold is found: see `LeakWatch`. Parallel renewals are
        /// then a grant each. For Common Access Tokens only.
        public var countsRenewals = false

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

extension GrantProfile {
    /// The facts about a player to which grants are bound: a request without the same facts is refused.
    public struct Binding: Hashable, Sendable {
        /// The part of the player's address. Source: CTA-5007, `catnip`.
        public var address = Address.none
        /// The names of header fields whose values are bound, in lower case, at most ``maximumHeaders``. Source: CTA-5007, `cath`.
        public var headers: [String] = []

        /// The maximum number of header fields.
        public static let maximumHeaders = 8

        /// The part of an address.
        public enum Address: String, Hashable, Sendable, CaseIterable {
            /// No part.
            case none
            /// The network: 24 bits of IPv4, 56 of IPv6. More bits would identify the viewer to anyone with the grant.
            case prefix
            /// The whole address, only for signed URIs, which encrypt it.
            case exact
        }

        /// Creates a binding to nothing.
        public init() {}

        /// True if grants need a fact about the player.
        package var isBinding: Bool { address != .none || !headers.isEmpty }

        /// True if a grant can be bound to a header field with this name: edges neither change nor add it.
        package static func permits(header name: String) -> Bool { CATClaims.HeaderFieldRule.isReliable(name) }
    }
}

/// The claims that bind a grant to a player.
struct BoundClaims {
    private(set) var networks: [CATClaims.Network] = []
    private(set) var headers: [CATClaims.HeaderFieldRule] = []

    /// Makes the claims for `player`; `nil` if a fact is not known.
    init?(_ binding: GrantProfile.Binding, for player: PlaybackRequest.Player?) {
        guard binding.missingFact(of: player) == nil else { return nil }
        if binding.address == .prefix, let address = player?.address {
            networks = [.prefix(address, length: address.isIPv4 ? 24 : 56)]
        }
        headers = binding.headers.compactMap { .init($0, binding: player?.values(of: $0) ?? []) }
    }
}

extension GrantProfile.Binding {
    /// Returns the refusal of a player with an unknown fact: `grant_context_missing`, with the fact.
    func missingFact(of player: PlaybackRequest.Player?) -> GrantRefusal? {
        if address != .none, player?.address == nil {
            return GrantRefusal(.contextMissing, detail: .fact(.clientAddress, for: .networks))
        }
        for name in headers where CATClaims.HeaderFieldRule(name, binding: player?.values(of: name) ?? []) == nil {
            return GrantRefusal(.contextMissing, detail: .fact(.headers, for: .headers))
        }
        return nil
    }
}

extension Catalogue.Entry.GrantTerms {
    /// True if the grants of a playback need facts about its player.
    package var bindsPlayers: Bool { profiles.contains { $0.isIssued && $0.rules.binding.isBinding } }

    /// The names of the header fields that grants are bound to.
    package var boundHeaders: [String] { profiles.flatMap(\.rules.binding.headers) }

    /// Returns the refusal of a playback whose grants cannot be bound to its player, or `nil`.
    func missingFact(of player: PlaybackRequest.Player?) -> DenyCode? {
        for profile in profiles where profile.isIssued {
            if let refusal = profile.rules.binding.missingFact(of: player) { return .grant(refusal.code) }
        }
        return nil
    }
}

extension GrantProfile {
    /// The rules of signed URIs (RFC 9246).
    public struct SignedURIs: Hashable, Sendable {
        /// The form of the container of URIs (`cdniuc`).
        public var container = Container.regex
        /// The subject (`sub`), which is encrypted.
        public var subject = Subject.none
        /// The name of the key that encrypts the subject and the player's address; `nil` for none.
        public var encryptionKey: String?
        /// True to leave the JOSE header out of the tokens: their recipients know it.
        public var omitsHeader = false

        /// A form of a container.
        public enum Container: String, Hashable, Sendable, CaseIterable {
            /// `regex:` of the scope, from `^` to `$`.
            case regex
            /// `hash:` with the SHA-256 digest of the manifest's URL, which is the only one that the token opens.
            case hash
        }

        /// A subject. Without a key of this installation, none of them identifies a viewer.
        public enum Subject: String, Hashable, Sendable, CaseIterable {
            /// No subject.
            case none
            /// The id of the playback session, in hexadecimal.
            case session
            /// The tag of the viewer's session at the MVPD, in hexadecimal: the same in all of its playbacks.
            case viewer
        }

        /// Creates the default rules.
        public init() {}
    }
}
