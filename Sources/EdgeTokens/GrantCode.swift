// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reason for the refusal of a grant: the first check, in the fixed order, that failed.
///
/// A closed list. The raw values are stable, and the same in JSON, header fields, metric labels and logs.
public enum GrantCode: String, Hashable, Sendable, CaseIterable {
    /// The request presents no grant.
    case missing = "grant_missing"
    /// The token, or a part of it, exceeds the limits.
    case tooLarge = "grant_too_large"
    /// The Base64url, CBOR, COSE or JSON is malformed, or a claim has another type or range.
    case malformed = "grant_malformed"
    /// The algorithm is none, not that of the key, or not that of the envelope.
    case algorithmRefused = "grant_algorithm_refused"
    /// No key has the token's key id, too many keys may have made it, or its key set was not fetched.
    case keyUnknown = "grant_key_unknown"
    /// The MAC or signature is not by the key.
    case signatureInvalid = "grant_signature_invalid"
    /// The issuer is missing or unknown, or not the one of the key or of the catalogue's entry.
    case issuerRefused = "grant_issuer_refused"
    /// The subject of a signed URI is not encrypted.
    case subjectInvalid = "grant_subject_invalid"
    /// The token is for other recipients.
    case audienceMismatch = "grant_audience_mismatch"
    /// The token has expired.
    case expired = "grant_expired"
    /// The token is not valid yet.
    case notYetValid = "grant_not_yet_valid"
    /// The token's renewal is malformed.
    case renewalInvalid = "grant_renewal_invalid"
    /// The token was used before, or no store knows it.
    case replayed = "grant_replayed"
    /// The token is of another version.
    case versionUnsupported = "grant_version_unsupported"
    /// A restriction of the token is not evaluated here.
    case claimUnsupported = "grant_claim_unsupported"
    /// The grant was issued for another resource or requestor than the entry's.
    case resourceMismatch = "grant_resource_mismatch"
    /// The client's address is not one of the token's.
    case addressMismatch = "grant_address_mismatch"
    /// The URI is not one of the token's, or not one of the entry's.
    case uriMismatch = "grant_uri_mismatch"
    /// The method is not one of the token's.
    case methodRefused = "grant_method_refused"
    /// A header field is not as the token demands.
    case headerMismatch = "grant_header_mismatch"
    /// The TLS connection is not as the token demands.
    case tlsMismatch = "grant_tls_mismatch"
    /// The client is not at a location that the token allows.
    case locationMismatch = "grant_location_mismatch"
    /// The token demands a proof of possession, and the request has none.
    case proofMissing = "grant_proof_missing"
    /// The proof of possession is malformed, or of another key, request, time or token.
    case proofInvalid = "grant_proof_invalid"
    /// The edge does not report a fact that a restriction needs.
    case contextMissing = "grant_context_missing"
    /// The token's probability of rejection struck.
    case sampled = "grant_rejected_by_probability"
    /// A revocation applies to the grant.
    case revoked = "grant_revoked"
    /// The playback was ended, because several players had its grant.
    case shared = "playback_shared"
    /// The session of the playback has ended.
    case sessionEnded = "session_ended"
    /// The viewer has as many playbacks as allowed.
    case streamLimitReached = "stream_limit_reached"
}

extension GrantCode {
    /// The status of RFC 9246 §4.4 for the logs of a content delivery network; `nil` if it has none for this reason.
    public var signingStatus: Int? {
        switch self {
        case .missing: 0
        case .tooLarge, .malformed: 500
        case .algorithmRefused, .keyUnknown, .signatureInvalid: 400
        case .issuerRefused: 401
        case .subjectInvalid: 402
        case .audienceMismatch: 403
        case .expired: 404
        case .notYetValid: 405
        case .renewalInvalid: 406
        case .replayed: 407
        case .versionUnsupported: 408
        case .claimUnsupported: 409
        case .addressMismatch: 410
        case .uriMismatch: 411
        case .resourceMismatch, .methodRefused, .headerMismatch, .tlsMismatch, .locationMismatch, .proofMissing,
            .proofInvalid, .contextMissing, .sampled, .revoked, .shared, .sessionEnded, .streamLimitReached:
            nil
        }
    }

    /// The status of the answer to an edge.
    public var edgeStatus: Int { self == .missing ? 401 : 403 }

    /// The action that the client should perform.
    public var action: ClientAction {
        switch self {
        case .missing, .malformed, .signatureInvalid, .expired, .replayed, .addressMismatch, .sampled, .revoked,
            .shared, .sessionEnded, .resourceMismatch:
            .authorization
        case .algorithmRefused, .keyUnknown, .issuerRefused, .audienceMismatch, .versionUnsupported, .claimUnsupported,
            .contextMissing:
            .configuration
        case .notYetValid, .streamLimitReached: .retry
        case .tooLarge, .subjectInvalid, .renewalInvalid, .uriMismatch, .methodRefused, .headerMismatch, .tlsMismatch,
            .locationMismatch, .proofMissing, .proofInvalid:
            .none
        }
    }

    /// A sentence on the refusal for the reader of the client's log.
    public var message: String {
        switch self {
        case .missing: "A grant is required for this media."
        case .tooLarge: "The grant is too large."
        case .malformed: "The grant is malformed."
        case .algorithmRefused: "The algorithm of the grant is not the one of its key."
        case .keyUnknown: "The key of the grant is not known."
        case .signatureInvalid: "The signature of the grant is not valid."
        case .issuerRefused: "The issuer of the grant is not accepted."
        case .subjectInvalid: "The subject of the grant is not encrypted."
        case .audienceMismatch: "The grant is for other recipients."
        case .expired: "The grant has expired."
        case .notYetValid: "The grant is not valid yet."
        case .renewalInvalid: "The renewal of the grant is malformed."
        case .replayed: "The grant was used before."
        case .versionUnsupported: "The version of the grant is not supported."
        case .claimUnsupported: "A restriction of the grant is not supported."
        case .resourceMismatch: "The grant was given for another resource."
        case .addressMismatch: "The grant is for another network address."
        case .uriMismatch: "The grant is for other media."
        case .methodRefused: "The grant is for other methods."
        case .headerMismatch: "The grant is for requests with other header fields."
        case .tlsMismatch: "The grant is for another TLS connection."
        case .locationMismatch: "The grant is for another place."
        case .proofMissing: "The grant requires a proof of possession of its key."
        case .proofInvalid: "The proof of possession is not valid."
        case .contextMissing: "The edge does not state what the grant requires."
        case .sampled: "The grant was rejected by chance, as it demands."
        case .revoked: "The grant was revoked."
        case .shared: "The playback was ended: several players had its grant. Start it again."
        case .sessionEnded: "The playback session has ended."
        case .streamLimitReached: "The viewer has the maximum number of playbacks."
        }
    }

    /// The first check by an operator if this code is more frequent than usual.
    public var operatorHint: String {
        switch self {
        case .missing: "Check that the player started its playback, and that the edge passes cookie, path and query on."
        case .tooLarge, .malformed: "Check if the grant was cut or decoded on its way. Otherwise a client probes."
        case .algorithmRefused, .keyUnknown: "Check keys, and grants.issuers: an issuer may have changed its key."
        case .signatureInvalid:
            "If gates have different keys for one key id, mend that. Otherwise a client forges grants."
        case .issuerRefused: "Check grants.issuers, and the profiles of the catalogue entry."
        case .audienceMismatch: "Check audience of the issuer in grants.issuers."
        case .subjectInvalid, .renewalInvalid, .versionUnsupported, .claimUnsupported:
            "Ask the issuer of the grant for one without this claim."
        case .expired: "Check that renewed grants reach the player, or raise life of the profile."
        case .notYetValid: "Check the clocks of the gates."
        case .replayed: "A grant for one use was shown twice, or the replay store does not answer."
        case .resourceMismatch:
            "The client plays one resource with the grant of another. Compare resource and requestor of the entries."
        case .addressMismatch, .locationMismatch, .tlsMismatch, .headerMismatch, .proofMissing, .proofInvalid:
            "A grant is shared, or the facts of the edge are not those of its client."
        case .uriMismatch: "Compare the scope of the profile with the paths of manifest and segments."
        case .methodRefused: "Check methods of the profile."
        case .contextMissing: "Let the edge state what the claim needs: see docs/concepts/edges.md."
        case .sampled: "The issuer's sampling refuses a share of the grants."
        case .revoked: "Check the posted revocations and their ends."
        case .shared: "Look at the evidence with playgate leaks show."
        case .sessionEnded: "Raise session of the profile, if playbacks are longer."
        case .streamLimitReached: "Raise maxConcurrentStreams of the profile. Otherwise an account is shared."
        }
    }
}
