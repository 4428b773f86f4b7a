// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaTokens

/// Why a playback was refused: the first check, in the fixed order of the gate, that did not pass.
///
/// A closed list. The raw values are stable and the same in JSON, headers, metric labels and logs; those of a token that
/// did not pass verification are the raw values of `RefusalReason`.
public enum DenyCode: Hashable, Sendable {
    /// The catalogue does not know the media id or path. Unknown media is protected, and nobody has a token for it.
    case unknownMedia
    /// The path cannot be told apart from others: see `MediaPath`.
    case invalidPath
    /// Somebody asks as an edge who is none of the configuration's.
    case peerNotTrusted
    /// An edge does not say what its client asked for, or says what cannot be understood in one way only.
    case edgeRequestInvalid
    /// Entries of the catalogue name hosts, and the request does not say which one was asked for.
    case hostMissing
    /// The entry does not permit requests of this method.
    case methodNotPermitted
    /// A part of a media whose token starts one playback: the token would be consumed by it, or open all parts.
    case rangeNotPermitted
    /// Two different tokens are shown at once.
    case tokenConflict
    /// A protected media was asked for without a token.
    case tokenMissing
    /// The token did not pass verification.
    case token(RefusalReason)
    /// A policy does not let viewers of this MVPD in.
    case mvpdNotAllowed
    /// The resource is rated above the maximum, or is not rated where a rating is asked for.
    case ratingNotAllowed
    /// The token was revoked.
    case tokenRevoked
    /// The viewer's session was revoked after the token was issued.
    case sessionRevoked
    /// The MVPD was revoked.
    case mvpdRevoked
    /// The token was used before, as often as it may be.
    case tokenAlreadyUsed
    /// The use store has no room for one more live token.
    case replayStoreFull
    /// The use store is down, or did not answer within its deadline.
    case replayStoreUnavailable
    /// The gate has as many requests in hand as it may have.
    case overloaded
}

extension DenyCode: RawRepresentable {
    public var rawValue: String {
        switch self {
        case .unknownMedia: "unknown_media"
        case .invalidPath: "invalid_path"
        case .peerNotTrusted: "peer_not_trusted"
        case .edgeRequestInvalid: "edge_request_invalid"
        case .hostMissing: "host_missing"
        case .methodNotPermitted: "method_not_permitted"
        case .rangeNotPermitted: "range_not_permitted"
        case .tokenConflict: "token_conflict"
        case .tokenMissing: "media_token_missing"
        case .token(let reason): reason.rawValue
        case .mvpdNotAllowed: "mvpd_not_allowed"
        case .ratingNotAllowed: "rating_not_allowed"
        case .tokenRevoked: "token_revoked"
        case .sessionRevoked: "session_revoked"
        case .mvpdRevoked: "mvpd_revoked"
        case .tokenAlreadyUsed: "token_already_used"
        case .replayStoreFull: "replay_store_full"
        case .replayStoreUnavailable: "replay_store_unavailable"
        case .overloaded: "gate_overloaded"
        }
    }

    public init?(rawValue: String) {
        guard let code = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = code
    }
}

extension DenyCode: CaseIterable {
    /// Every code, in the order of the checks.
    public static let allCases: [DenyCode] =
        [
            .peerNotTrusted, .edgeRequestInvalid, .invalidPath, .hostMissing, .unknownMedia, .methodNotPermitted,
            .tokenConflict, .tokenMissing, .rangeNotPermitted,
        ]
        + RefusalReason.allCases.map { .token($0) } + [
            .mvpdNotAllowed, .ratingNotAllowed, .tokenRevoked, .sessionRevoked, .mvpdRevoked, .tokenAlreadyUsed,
            .replayStoreFull, .replayStoreUnavailable, .overloaded,
        ]
}

/// What the client that was refused should do, in the words of the entitlement services' enhanced errors.
@nonexhaustive
public enum ClientAction: String, Sendable, CaseIterable {
    /// Nothing: asking again changes nothing.
    case none
    /// Have somebody mend the configuration of the gate.
    case configuration
    /// Authorize again, and come back with a new media token. No new login.
    case authorization
    /// Ask again a little later, a few times at most.
    case retry
}

extension DenyCode {
    /// What the client should do.
    public var action: ClientAction {
        switch self {
        case .unknownMedia, .invalidPath, .methodNotPermitted, .rangeNotPermitted, .mvpdNotAllowed, .ratingNotAllowed,
            .mvpdRevoked:
            .none
        case .token(.noUsableKey), .peerNotTrusted, .edgeRequestInvalid, .hostMissing: .configuration
        case .token(.internalFailure), .replayStoreFull, .replayStoreUnavailable, .overloaded: .retry
        case .tokenMissing, .tokenConflict, .token, .tokenRevoked, .sessionRevoked, .tokenAlreadyUsed: .authorization
        }
    }

    /// The verifier's status, where verification was what did not pass.
    public var verifierStatus: VerificationStatus? {
        if case .token(let reason) = self { reason.status } else { nil }
    }

    /// What happened, in a sentence for the person who reads the client's log.
    public var message: String {
        switch self {
        case .unknownMedia: "This media is not in the catalogue."
        case .invalidPath: "This path is not in the one form that names a media."
        case .peerNotTrusted: "Only an edge that the gate trusts may ask this."
        case .edgeRequestInvalid: "The edge did not say clearly what its client asked for."
        case .hostMissing: "The request does not say which host it is for."
        case .methodNotPermitted: "This media is not to be had by this method."
        case .rangeNotPermitted: "This media is to be had as a whole only."
        case .tokenConflict: "The request shows two different media tokens."
        case .tokenMissing: "A media token is needed to play this media."
        case .token(let reason): reason.message
        case .mvpdNotAllowed: "Viewers of this TV provider may not play this media now."
        case .ratingNotAllowed: "The rating of this media is not allowed."
        case .tokenRevoked: "The media token was revoked."
        case .sessionRevoked: "The viewer's session was revoked after the media token was issued."
        case .mvpdRevoked: "The tokens of this TV provider were revoked."
        case .tokenAlreadyUsed: "The media token was used before."
        case .replayStoreFull: "There is no room to record one more use of a media token."
        case .replayStoreUnavailable: "It could not be found out whether the media token was used before."
        case .overloaded: "The gate has too many requests in hand."
        }
    }

    /// What an operator should look at who sees this more often than usual.
    public var operatorHint: String {
        switch self {
        case .unknownMedia: "Is the catalogue complete and recent? A feed may have items that were refused."
        case .invalidPath: "Somebody probes with encoded paths, or an edge sends what it did not normalise."
        case .peerNotTrusted:
            "edge.trustedPeers in the configuration; otherwise somebody reaches the gate past its edge."
        case .edgeRequestInvalid:
            "The edge's configuration: the endpoint and its headers, each set once. Otherwise somebody probes."
        case .hostMissing:
            "The header with the host in the edge's configuration, or host in the backend's request: entries name hosts."
        case .methodNotPermitted: "methods of the catalogue's entry; GET and HEAD by default."
        case .rangeNotPermitted: "A player that seeks in a file: give its entry use: within-ttl."
        case .tokenConflict: "Does the player show an old token beside a new one? Otherwise somebody probes."
        case .tokenMissing: "Does the player, or the edge, pass the token on?"
        case .token(let reason): reason.operatorHint
        case .mvpdNotAllowed: "The lists of MVPDs in the configuration's policies."
        case .ratingNotAllowed: "The maximum ratings in the configuration's policies, and the ratings in the catalogue."
        case .tokenRevoked, .sessionRevoked, .mvpdRevoked: "The revocations that were posted, and when they end."
        case .tokenAlreadyUsed:
            "A player that plays again with its old token, or tokens that are shared. Retries need a playbackID."
        case .replayStoreFull: "The store's capacity is below tokens a second times their life: raise it."
        case .replayStoreUnavailable: "The use store: is it up, reachable and fast enough for its deadline?"
        case .overloaded:
            "More load than this process may take: add processes, or raise the limit of concurrent requests."
        }
    }
}

extension RefusalReason {
    fileprivate var message: String {
        switch step {
        case .envelope, .fields: "The media token is malformed."
        case .signature: "The signature of the media token is not trusted."
        case .requestor: "The media token was issued to another requestor."
        case .time: self == .issuedInFuture ? "The media token is not valid yet." : "The media token has expired."
        case .resource: "The media token is good for another resource."
        case nil: "The media token could not be verified."
        }
    }

    fileprivate var operatorHint: String {
        switch self {
        case .noUsableKey: "No trusted key is valid now for this requestor: has a certificate expired?"
        case .signatureLength, .untrustedSignature:
            "Has the issuer changed its key? Trust the new one beside the old. Otherwise somebody forges."
        case .keyOutOfScope: "The requestors of the trusted keys."
        case .requestorMismatch: "The requestor of the catalogue's entry, and the application that asked for the token."
        case .issuedInFuture: "The clocks of the issuer and of this machine."
        case .expired: "Players that start long after they authorized, or the clock of this machine."
        case .ttlNotPositive, .ttlTooLong: "What the issuer puts into ttl, and verification.maximumTimeToLive."
        case .resourceMismatch: "The spelling of the resource in the catalogue and in the player's request."
        case .internalFailure: "The memory of this machine."
        default: "What happened to the token on its way: was it cut, decoded twice, or is it not a media token?"
        }
    }
}
