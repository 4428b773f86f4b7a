// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The answer of a verification in the six names that integrators of media token verifiers know.
public enum VerificationStatus: String, Sendable, CaseIterable {
    /// Every check passed.
    case validToken = "VALID_TOKEN"
    /// The text is not a media token.
    case invalidTokenFormat = "INVALID_TOKEN_FORMAT"
    /// No trusted key made the signature.
    case invalidSignature = "INVALID_SIGNATURE"
    /// The token is too old, from the future, or good for a time that is not allowed.
    case tokenExpired = "TOKEN_EXPIRED"
    /// The token is for another resource or another requestor.
    case invalidResourceID = "INVALID_RESOURCE_ID"
    /// The token has not been verified yet, or could not be. Never means yes.
    case errorUnknown = "ERROR_UNKNOWN"
}
