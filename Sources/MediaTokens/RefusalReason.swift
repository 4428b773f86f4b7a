// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reason for the refusal of a media token: the first failed check, in the fixed order of verification.
///
/// The raw values are stable. They serve as codes in JSON, metric labels and log fields.
@nonexhaustive
public enum RefusalReason: String, Sendable, CaseIterable {
    // MARK: Format

    /// The token is empty.
    case tokenEmpty = "token_empty"
    /// The encoded token is larger than 16 KiB.
    case tokenTooLarge = "token_too_large"
    /// The token is neither raw nor one layer of Base64 without white space.
    case invalidBase64 = "invalid_base64"
    /// Blanks stand where the token had plus signs: a reader of forms has replaced them on the way.
    case blanksForPlus = "blanks_for_plus"
    /// The token does not consist of `<signatureInfo>`, a signature, `<signatureInfo>` and one element.
    case invalidEnvelope = "invalid_envelope"
    /// The signature is not Base64, or is empty.
    case invalidSignatureEncoding = "invalid_signature_encoding"
    /// The element is neither `authToken` nor `shortAuthorizationToken`, for example that of a long-lived token.
    case unsupportedRoot = "unsupported_root"
    /// The element is not well-formed, or has content other than elements with text, such as comments.
    case malformedBody = "malformed_body"
    /// A mandatory field is missing.
    case missingField = "missing_field"
    /// A field occurs more than once.
    case repeatedField = "repeated_field"
    /// A mandatory field is empty or only white space.
    case emptyField = "empty_field"
    /// The `ttl` is not a whole number of milliseconds of at most 18 digits.
    case invalidTTL = "invalid_ttl"
    /// The `issueTime` has none of the known formats.
    case invalidIssueTime = "invalid_issue_time"

    // MARK: Signature

    /// No trusted key is usable for the policy's requestors at this time and with this policy.
    case noUsableKey = "no_usable_key"
    /// The signature's length matches no usable key.
    case signatureLength = "signature_length"
    /// No usable key verifies the signature over the element's bytes.
    case untrustedSignature = "untrusted_signature"
    /// A trusted key made the signature, but its scope does not include the token's requestor.
    case keyOutOfScope = "key_out_of_scope"

    // MARK: Requestor

    /// The token was issued to another requestor.
    case requestorMismatch = "requestor_mismatch"

    // MARK: Time

    /// The time to live is zero or negative.
    case ttlNotPositive = "ttl_not_positive"
    /// The time to live is longer than the policy allows.
    case ttlTooLong = "ttl_too_long"
    /// The issue time is in the future, beyond the policy's early leeway.
    case issuedInFuture = "issued_in_future"
    /// The time to live is over, including the policy's late leeway.
    case expired = "expired"

    // MARK: Resource

    /// The token was issued for another resource.
    case resourceMismatch = "resource_mismatch"

    // MARK: Failure

    /// The verification could not be completed, for example because OpenSSL could not allocate memory.
    case internalFailure = "internal_failure"

    /// The closest of the six statuses of the vendor's verifier library.
    public var status: VerificationStatus {
        switch step {
        case .envelope, .fields: .invalidTokenFormat
        case .signature: .invalidSignature
        case .time: .tokenExpired
        case .requestor, .resource: .invalidResourceID
        case nil: .errorUnknown
        }
    }

    /// The step that failed, or `nil` if the verification could not be completed.
    public var step: VerificationStep? {
        switch self {
        case .tokenEmpty, .tokenTooLarge, .invalidBase64, .blanksForPlus, .invalidEnvelope, .invalidSignatureEncoding,
            .unsupportedRoot:
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

/// A step of the verification. The cases are in the order of the steps.
public enum VerificationStep: String, Sendable, CaseIterable {
    /// The size, the Base64, the parts of the envelope and the name of the element.
    case envelope
    /// The signature over the element's exact bytes, by a trusted key.
    case signature
    /// The fields of the element.
    case fields
    /// The requestor's id.
    case requestor
    /// The issue time and the time to live.
    case time
    /// The resource.
    case resource
}
