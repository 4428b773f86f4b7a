// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import AccessTokens
public import EdgeTokens
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
    /// The edge does not report its client's request, or reports it ambiguously.
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
    /// The token of an identity provider was refused.
    case accessToken(AccessTokenRefusal)
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
    /// The playback got the licence before, as often as it may.
    case licenceAlreadyIssued
    /// Each content key has one licence, and the request does not say which keys it is for.
    case licenceKeyMissing
    /// The grant was refused, or is missing.
    case grant(GrantCode)
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
        case .accessToken(let refusal): refusal.rawValue
        case .mvpdNotAllowed: "mvpd_not_allowed"
        case .ratingNotAllowed: "rating_not_allowed"
        case .tokenRevoked: "token_revoked"
        case .sessionRevoked: "session_revoked"
        case .mvpdRevoked: "mvpd_revoked"
        case .tokenAlreadyUsed: "token_already_used"
        case .replayStoreFull: "replay_store_full"
        case .replayStoreUnavailable: "replay_store_unavailable"
        case .overloaded: "gate_overloaded"
        case .licenceAlreadyIssued: "licence_already_issued"
        case .licenceKeyMissing: "licence_key_missing"
        case .grant(let code): code.rawValue
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
        + RefusalReason.allCases.map { .token($0) } + AccessTokenRefusal.allCases.map { .accessToken($0) } + [
            .mvpdNotAllowed, .ratingNotAllowed, .tokenRevoked, .sessionRevoked, .mvpdRevoked, .tokenAlreadyUsed,
            .replayStoreFull, .replayStoreUnavailable, .overloaded, .licenceAlreadyIssued, .licenceKeyMissing,
        ] + GrantCode.allCases.map { .grant($0) }
}

extension DenyCode {
    /// True if the request presents no credential: a player may start a playback, and then request again.
    package var isMissing: Bool { self == .tokenMissing || self == .grant(.missing) }

    /// The action that the client should perform.
    public var action: ClientAction {
        switch self {
        case .unknownMedia, .invalidPath, .methodNotPermitted, .rangeNotPermitted, .mvpdNotAllowed, .ratingNotAllowed,
            .mvpdRevoked:
            .none
        case .token(.noUsableKey), .peerNotTrusted, .edgeRequestInvalid, .hostMissing, .licenceKeyMissing:
            .configuration
        case .token(.internalFailure), .replayStoreFull, .replayStoreUnavailable, .overloaded: .retry
        case .tokenMissing, .tokenConflict, .token, .tokenRevoked, .sessionRevoked, .tokenAlreadyUsed,
            .licenceAlreadyIssued:
            .authorization
        case .accessToken(let refusal): refusal.action
        case .grant(let code): code.action
        }
    }

    /// The status of the verifier, if verification failed.
    public var verifierStatus: VerificationStatus? {
        if case .token(let reason) = self { reason.status } else { nil }
    }

    /// A sentence on the refusal for the reader of the client's log.
    public var message: String {
        switch self {
        case .unknownMedia: "The media is not in the catalogue."
        case .invalidPath: "The path is malformed or ambiguous."
        case .peerNotTrusted: "The request comes from an untrusted peer."
        case .edgeRequestInvalid: "The edge's headers for the client's request are missing, ambiguous or malformed."
        case .hostMissing: "The request does not name a host."
        case .methodNotPermitted: "The media does not permit this method."
        case .rangeNotPermitted: "The media does not permit range requests."
        case .tokenConflict: "The request has two different media tokens."
        case .tokenMissing: "A media token is required to play this media."
        case .token(let reason): reason.message
        case .accessToken(let refusal): refusal.message
        case .mvpdNotAllowed: "Viewers of this TV provider may not play this media now."
        case .ratingNotAllowed: "The rating of this media is not allowed."
        case .tokenRevoked: "The media token was revoked."
        case .sessionRevoked: "The viewer's session was revoked after the media token was issued."
        case .mvpdRevoked: "The tokens of this TV provider were revoked."
        case .tokenAlreadyUsed: "The media token was used before."
        case .replayStoreFull: "The replay store has no room for another media token."
        case .replayStoreUnavailable: "The replay store did not answer, so a replay cannot be excluded."
        case .overloaded: "The gate has too many requests in flight."
        case .licenceAlreadyIssued: "This playback has had its licence."
        case .licenceKeyMissing: "The request does not say which content keys it is for."
        case .grant(let code): code.message
        }
    }

    /// The first check by an operator if this code is more frequent than usual.
    public var operatorHint: String {
        switch self {
        case .unknownMedia: "Check that the catalogue is complete and recent; items of a feed may have been refused."
        case .invalidPath: "Check that the edge normalises paths. Otherwise a client probes."
        case .peerNotTrusted:
            "Check edge.peers in the configuration. Otherwise a client bypasses the edge."
        case .edgeRequestInvalid:
            "Check that the edge's configuration sets the endpoint and each header once. Otherwise a client probes."
        case .hostMissing:
            "Catalogue entries name hosts: check the edge's host header, or host in the backend's request."
        case .methodNotPermitted: "Check methods of the catalogue entry; the default is GET and HEAD."
        case .rangeNotPermitted: "If a player seeks in a file, set admits: ttl in its catalogue entry."
        case .tokenConflict: "Check if the player sends an old token with a new one. Otherwise a client probes."
        case .tokenMissing: "Check that the player and the edge pass the token on."
        case .token(let reason): reason.operatorHint
        case .accessToken(let refusal): refusal.operatorHint
        case .mvpdNotAllowed: "Check the lists of MVPDs in the policies."
        case .ratingNotAllowed: "Check the maximum ratings in the policies, and the ratings in the catalogue."
        case .tokenRevoked, .sessionRevoked, .mvpdRevoked: "Check the posted revocations and their ends."
        case .tokenAlreadyUsed:
            "A player reuses its old token, or a token is shared. Retries need a playbackID."
        case .replayStoreFull: "Raise the store's capacity above the tokens per second times their time to live."
        case .replayStoreUnavailable: "Check that the replay store is up, reachable and fast enough for its deadline."
        case .overloaded:
            "Add processes, or raise the limit of concurrent requests."
        case .licenceAlreadyIssued: "Players renew licences and repeat requests: the rule session permits it."
        case .licenceKeyMissing:
            "Send the ids of the keys to POST /v1/licence, or choose another licence rule: edges do not know the keys."
        case .grant(let code): code.operatorHint
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
        case .resource: "The media token is for another resource."
        case nil: "The media token could not be verified."
        }
    }

    fileprivate var operatorHint: String {
        switch self {
        case .noUsableKey: "No trusted key is currently valid for this requestor: check for expired certificates."
        case .signatureLength, .untrustedSignature:
            "If the issuer changed its key, trust the new one in addition to the old. Otherwise a client forges tokens."
        case .blanksForPlus:
            "A reader of forms takes + for a blank: percent-encode the token wherever it is in a URL or a form."
        case .keyOutOfScope: "Check the requestors of the trusted keys."
        case .requestorMismatch: "Check the requestor of the catalogue entry and of the application."
        case .issuedInFuture: "Check the clocks of the issuer and of this machine."
        case .expired: "Players start long after their authorization, or the clock of this machine is wrong."
        case .ttlNotPositive, .ttlTooLong: "Check the issuer's ttl, and trust.advanced.maximumTimeToLive."
        case .resourceMismatch: "Compare the resource in the catalogue with the one in the player's request."
        case .internalFailure: "Check the memory of this machine."
        default: "Check if the token was cut or decoded twice on its way, or is not a media token."
        }
    }
}
