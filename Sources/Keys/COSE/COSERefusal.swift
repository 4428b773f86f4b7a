// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why an envelope is refused. Its raw value is the stable code of the grant that it is in.
@nonexhaustive
public enum COSERefusal: String, Error, Sendable, CaseIterable {
    /// More than 4,096 bytes, or 5,464 characters.
    case tooLarge = "grant_too_large"
    /// Not URL-safe Base64, not strict CBOR, or not an envelope of RFC 9052.
    case malformed = "grant_malformed"
    /// An algorithm that is not that of the key, does not agree with the tag, or is not accepted.
    case algorithmRefused = "grant_algorithm_refused"
    /// No key with the identifier, too many without one, or several without an algorithm.
    case keyUnknown = "grant_key_unknown"
    /// A wrong signature or authentication code.
    case signatureInvalid = "grant_signature_invalid"
    /// A critical header, or a kind of envelope, that is registered and not evaluated here.
    case claimUnsupported = "grant_claim_unsupported"
}
