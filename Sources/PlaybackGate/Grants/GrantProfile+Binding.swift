// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import RequestTargets

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
