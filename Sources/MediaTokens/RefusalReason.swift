// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Why a media token was refused: the first check, in the fixed order of verification, that did not pass.
///
/// A closed list with stable raw values, which serve as codes in JSON, metric labels and log fields alike.
@nonexhaustive
public enum RefusalReason: String, Sendable, CaseIterable {
    // MARK: Format

    /// There is no token.
    case tokenEmpty = "token_empty"
    /// The encoded token is larger than 16 KiB.
    case tokenTooLarge = "token_too_large"
    /// The token is neither raw nor one layer of Base64 without white space.
    case invalidBase64 = "invalid_base64"
    /// Something other than `<signatureInfo>`, a signature, `<signatureInfo>` and one element.
    case invalidEnvelope = "invalid_envelope"
    /// The signature is not Base64, or is empty.
    case invalidSignatureEncoding = "invalid_signature_encoding"
    /// The element is neither `authToken` nor `shortAuthorizationToken`, such as a long-lived token.
    case unsupportedRoot = "unsupported_root"
    /// The element is not well-formed, or has anything in it but elements that hold text.
    case malformedBody = "malformed_body"
    /// A mandatory field is not there.
    case missingField = "missing_field"
    /// A field is there twice.
    case repeatedField = "repeated_field"
    /// A mandatory field has no text.
    case emptyField = "empty_field"
    /// The `ttl` is not a whole number of milliseconds.
    case invalidTTL = "invalid_ttl"
    /// The `issueTime` has none of the known forms.
    case invalidIssueTime = "invalid_issue_time"

    // MARK: Signature

    /// No key is trusted for this requestor at this time and with this policy.
    case noUsableKey = "no_usable_key"
    /// The signature has the length of none of the usable keys.
    case signatureLength = "signature_length"
    /// No usable key made the signature over these bytes.
    case untrustedSignature = "untrusted_signature"
    /// A trusted key made the signature, but that key may not speak for the token's requestor.
    case keyOutOfScope = "key_out_of_scope"

    // MARK: Requestor

    /// The token was issued to another requestor.
    case requestorMismatch = "requestor_mismatch"

    // MARK: Time

    /// The token's life is zero or negative.
    case ttlNotPositive = "ttl_not_positive"
    /// The token's life is longer than the policy allows.
    case ttlTooLong = "ttl_too_long"
    /// The token was issued later than now, beyond the leeway.
    case issuedInFuture = "issued_in_future"
    /// The token's life is over.
    case expired = "expired"

    // MARK: Resource

    /// The token is good for another resource.
    case resourceMismatch = "resource_mismatch"

    // MARK: Failure

    /// The verification could not be carried out, for want of memory in OpenSSL for example.
    case internalFailure = "internal_failure"

    /// The status that says this most closely in the six names that integrators know.
    public var status: VerificationStatus {
        switch step {
        case .envelope, .fields: .invalidTokenFormat
        case .signature: .invalidSignature
        case .time: .tokenExpired
        case .requestor, .resource: .invalidResourceID
        case nil: .errorUnknown
        }
    }

    /// The step of the verification that did not pass, or nil where verification could not be carried out.
    public var step: VerificationStep? {
        switch self {
        case .tokenEmpty, .tokenTooLarge, .invalidBase64, .invalidEnvelope, .invalidSignatureEncoding, .unsupportedRoot:
            .envelope
        case .noUsableKey, .signatureLength, .untrustedSignature, .keyOutOfScope: .signature
        case .malformedBody, .missingField, .repeatedField, .emptyField, .invalidTTL, .invalidIssueTime: .fields
        case .requestorMismatch: .requestor
        case .ttlNotPositive, .ttlTooLong, .issuedInFuture, .expired: .time
        case .resourceMismatch: .resource
        case .internalFailure: nil
        }
    }
}

/// A step of verification, in the order in which they are taken.
public enum VerificationStep: String, Sendable, CaseIterable {
    /// Size, Base64, the parts of the envelope, the name of the element.
    case envelope
    /// The signature over the element's exact bytes, by a trusted key.
    case signature
    /// The element's fields.
    case fields
    /// The requestor.
    case requestor
    /// The time of issue and the life.
    case time
    /// The resource.
    case resource
}
