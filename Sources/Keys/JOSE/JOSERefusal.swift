// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why a JSON Web Signature is refused. Its raw value is the stable code of the grant that it is.
@nonexhaustive
public enum JOSERefusal: String, Error, Sendable, CaseIterable {
    /// More than 8,192 characters.
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
}
