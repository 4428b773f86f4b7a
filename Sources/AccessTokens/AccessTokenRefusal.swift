// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens

/// A reason why a token of an identity provider starts no playback: the first failed check, in the fixed order of
/// ``AccessTokenVerifier/verify(_:for:presenting:at:)``.
///
/// The raw values are stable. They serve as codes in JSON, metric labels and log fields.
@nonexhaustive
public enum AccessTokenRefusal: String, Error, Sendable, CaseIterable {
    // MARK: Form

    /// More than 16,384 characters.
    case tooLarge = "access_token_too_large"
    /// Not three parts of unpadded URL-safe Base64 with strict JSON in the first two, or a claim of a wrong type.
    case malformed = "access_token_malformed"
    /// An encrypted token (JWE, RFC 7516).
    case encrypted = "access_token_encrypted"
    /// A critical header parameter, `b64` or `zip` (RFC 7515 §4.1.11, RFC 7797).
    case headerUnsupported = "access_token_header_unsupported"

    // MARK: Signature

    /// The header's `typ` is none of the issuer's, as that of an ID token (RFC 9068 §4).
    case typeRefused = "access_token_type_refused"
    /// The algorithm is not that of the key, or is none of the issuer's: `none` and HMAC never are.
    case algorithmRefused = "access_token_algorithm_refused"
    /// No key has the identifier, or several keys are possible without one.
    case keyUnknown = "access_token_key_unknown"
    /// The key is not known yet: the key set of the issuer is being fetched.
    case keyAwaited = "access_token_key_awaited"
    /// The signature is wrong.
    case signatureInvalid = "access_token_signature_invalid"

    // MARK: Introspection

    /// The server of the issuer does not know the token, or it is no longer active (RFC 7662 §2.2).
    case inactive = "access_token_inactive"
    /// The server of the issuer does not answer in time, or its answer cannot be used.
    case introspectionUnavailable = "access_token_introspection_unavailable"

    // MARK: Claims

    /// The token's `iss` is not the issuer of the key.
    case issuerRefused = "access_token_issuer_refused"
    /// None of the issuer's audiences is in the token's `aud`.
    case audienceMismatch = "access_token_audience_mismatch"
    /// A claim is missing: `exp`, `iat`, or one that the configuration names.
    case claimMissing = "access_token_claim_missing"
    /// A claim has another value than the configuration demands.
    case claimRefused = "access_token_claim_refused"
    /// The token's `nbf` or `iat` is in the future, beyond the leeway.
    case notYetValid = "access_token_not_yet_valid"
    /// The token has expired, or what it entitles to has ended.
    case expired = "access_token_expired"
    /// The token was issued longer ago than the issuer's maximum age.
    case tooOld = "access_token_too_old"

    // MARK: Possession

    /// The token is bound by a claim that is not supported (`cnf`, RFC 7800).
    case confirmationUnsupported = "access_token_confirmation_unsupported"
    /// The token is bound to a key or a certificate, and the request has no proof of it (RFC 9449 §7, RFC 8705 §3).
    case proofMissing = "access_token_proof_missing"
    /// The proof is not valid, or is by another key or for another request.
    case proofInvalid = "access_token_proof_invalid"
    /// The proof was used before.
    case proofReplayed = "access_token_proof_replayed"

    // MARK: Resource

    /// No rule of the issuer lets the token start this resource.
    case resourceRefused = "access_token_resource_refused"

    // MARK: Failure

    /// The check could not be completed, for example because OpenSSL could not allocate memory.
    case internalFailure = "access_token_internal_failure"
}

extension AccessTokenRefusal {
    /// The action that the client should perform.
    public var action: ClientAction {
        switch self {
        case .malformed, .signatureInvalid, .inactive, .expired, .tooOld: .authorization
        case .typeRefused, .algorithmRefused, .keyUnknown, .issuerRefused, .audienceMismatch, .claimMissing,
            .confirmationUnsupported, .encrypted, .headerUnsupported:
            .configuration
        case .keyAwaited, .introspectionUnavailable, .notYetValid, .internalFailure: .retry
        case .tooLarge, .claimRefused, .proofMissing, .proofInvalid, .proofReplayed, .resourceRefused: .none
        }
    }

    /// A sentence on the refusal for the reader of the client's log.
    public var message: String {
        switch self {
        case .tooLarge: "The access token is too large."
        case .malformed: "The access token is malformed."
        case .encrypted: "The access token is encrypted."
        case .headerUnsupported: "The access token has a header parameter that is not supported."
        case .typeRefused: "The type of the access token is not accepted."
        case .algorithmRefused: "The algorithm of the access token is not accepted."
        case .keyUnknown: "The key of the access token is not known."
        case .keyAwaited: "The key of the access token is being fetched."
        case .signatureInvalid: "The signature of the access token is not valid."
        case .inactive: "The access token is not active."
        case .introspectionUnavailable: "The issuer did not say whether the access token is active."
        case .issuerRefused: "The issuer of the access token is not accepted."
        case .audienceMismatch: "The access token is for other recipients."
        case .claimMissing: "The access token lacks a claim."
        case .claimRefused: "A claim of the access token has a value that is not accepted."
        case .notYetValid: "The access token is not valid yet."
        case .expired: "The access token has expired."
        case .tooOld: "The access token was issued too long ago."
        case .confirmationUnsupported: "The access token is bound in a way that is not supported."
        case .proofMissing: "The access token requires a proof of possession."
        case .proofInvalid: "The proof of possession is not valid."
        case .proofReplayed: "The proof of possession was used before."
        case .resourceRefused: "The access token does not entitle to this resource."
        case .internalFailure: "The access token could not be verified."
        }
    }

    /// The first check by an operator if this code is more frequent than usual.
    public var operatorHint: String {
        switch self {
        case .tooLarge: "Let the identity provider write fewer claims: roles of other applications are usual."
        case .malformed: "Check if the token was cut, or is opaque: then its issuer needs introspection."
        case .encrypted, .headerUnsupported: "Let the identity provider sign access tokens for this audience only."
        case .typeRefused: "Compare types of the issuer with typ in the token's header: playgate inspect prints it."
        case .algorithmRefused: "Compare algorithms of the issuer with alg in the token's header."
        case .keyUnknown: "Check source of the issuer: the key may be of another issuer, or not be published."
        case .keyAwaited: "The issuer has changed its key. If this lasts, look for key set in the log."
        case .signatureInvalid:
            "If the issuer publishes a key under an old identifier, mend that. Otherwise a client forges tokens."
        case .inactive: "Viewers have logged out, or the token is of another server."
        case .introspectionUnavailable:
            "Check introspection of the issuer: its server, its time limit and the credentials."
        case .issuerRefused: "Compare issuer with iss in the token, byte for byte: a final slash counts."
        case .audienceMismatch: "Compare audience of the issuer with aud in the token."
        case .claimMissing, .claimRefused:
            "Compare claims, viewer, streams and until of the issuer with the token's claims."
        case .notYetValid: "Check the clocks of the identity provider and of this machine."
        case .expired, .tooOld:
            "Players start with an old token: they refresh it before. Otherwise check maximumAge of the issuer."
        case .confirmationUnsupported: "Supported are jkt (DPoP) and x5t#S256 (certificates)."
        case .proofMissing: "Check that the edge passes the header DPoP on, or the backend its proof."
        case .proofInvalid, .proofReplayed:
            "Check the public scheme and host of the edge, and clocks. Otherwise a token was stolen."
        case .resourceRefused:
            "Compare allow of the issuer with the token's claims, and with the resource of the catalogue entry."
        case .internalFailure: "Check the memory of this machine."
        }
    }
}
