// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import MediaTokens

/// The reason of a refusal: the first check, in the fixed order of the gate, that failed.
///
/// A closed list. The raw values are stable, and the same in JSON, header fields, metric labels and logs. The raw value of a
/// failed verification is that of its `RefusalReason`.
public enum DenyCode: Hashable, Sendable {
    /// The media id or path is not in the catalogue. Unknown media is protected, and no token opens it.
    case unknownMedia
    /// The path is ambiguous or malformed: see `MediaPath`.
    case invalidPath
    /// A request from an untrusted peer on an edge endpoint.
    case peerNotTrusted
    /// The edge does not state its client's request, or states it ambiguously.
    case edgeRequestInvalid
    /// Entries of the catalogue name hosts, and the request names none.
    case hostMissing
    /// The entry does not permit the request method.
    case methodNotPermitted
    /// A request for a part of media whose token starts one playback. It would consume the token, or open all parts.
    case rangeNotPermitted
    /// The request contains two different tokens.
    case tokenConflict
    /// The media is protected, and the request has no token.
    case tokenMissing
    /// The token failed verification.
    case token(RefusalReason)
    /// A policy excludes viewers of this MVPD.
    case mvpdNotAllowed
    /// The resource is rated above the maximum, or has no comparable rating although one is required.
    case ratingNotAllowed
    /// The token was revoked.
    case tokenRevoked
    /// The viewer's session was revoked after the token was issued.
    case sessionRevoked
    /// The MVPD was revoked.
    case mvpdRevoked
    /// The token was consumed before, as often as it may be.
    case tokenAlreadyUsed
    /// The replay store has no room for another live token.
    case replayStoreFull
    /// The replay store is down, or did not answer within its deadline.
    case replayStoreUnavailable
    /// The gate has the maximum number of requests in flight.
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
    /// All codes, in the order of the checks.
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

/// The action that a refused client should take, in the terms of the entitlement services' enhanced errors.
@nonexhaustive
public enum ClientAction: String, Sendable, CaseIterable {
    /// No action: a retry changes nothing.
    case none
    /// An operator must correct the configuration of the gate.
    case configuration
    /// Authorize again, and retry with a new media token. No new login is needed.
    case authorization
    /// Retry after a short delay, a few times at most.
    case retry
}

extension DenyCode {
    /// The action that the client should take.
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

    /// The status of the verifier, if verification failed.
    public var verifierStatus: VerificationStatus? {
        if case .token(let reason) = self { reason.status } else { nil }
    }

    /// A sentence on the refusal for the reader of the client's log.
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

    /// The first thing for an operator to check if this code is more frequent than usual.
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
