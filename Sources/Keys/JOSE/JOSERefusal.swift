// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why a JSON Web Signature is refused. Its raw value is the stable code if the token is a grant.
@nonexhaustive
public enum JOSERefusal: String, Error, Sendable, CaseIterable {
    /// More characters than tokens of the format have: see ``JWS/maximumSize(of:)``.
    case tooLarge = "grant_too_large"
    /// Not three parts of unpadded URL-safe Base64, or the header is not strict JSON, or the signature has a wrong size.
    case malformed = "grant_malformed"
    /// An algorithm that is not that of the key, or is not accepted: `none` is not.
    case algorithmRefused = "grant_algorithm_refused"
    /// No key with the identifier, or too many, or several without one.
    case keyUnknown = "grant_key_unknown"
    /// A wrong signature or authentication code.
    case signatureInvalid = "grant_signature_invalid"
    /// A critical header parameter.
    case claimUnsupported = "grant_claim_unsupported"
    /// The header's `typ` is none of those that the key is bound to. No grant has it: its format has no types.
    case typeRefused = "token_type_refused"
}
