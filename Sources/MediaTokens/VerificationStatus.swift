// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The result of a verification as one of the six statuses of the vendor's verifier library.
public enum VerificationStatus: String, Sendable, CaseIterable {
    /// The token passed every check.
    case validToken = "VALID_TOKEN"
    /// The text is not a media token.
    case invalidTokenFormat = "INVALID_TOKEN_FORMAT"
    /// No trusted key made the signature.
    case invalidSignature = "INVALID_SIGNATURE"
    /// The token has expired, was issued in the future, or has a time to live that is not allowed.
    case tokenExpired = "TOKEN_EXPIRED"
    /// The token was issued for another resource or to another requestor.
    case invalidResourceID = "INVALID_RESOURCE_ID"
    /// The token has not been verified yet, or the verification could not be completed. Never permits playback.
    case errorUnknown = "ERROR_UNKNOWN"
}
