// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Cryptography
public import EdgeTokens
public import Platform

/// A token of an identity provider that may start a playback of one resource.
public struct AccessToken: Sendable {
    /// The name of the provider.
    public let provider: String
    /// The viewer, as the provider names them. Personal data: hash it before logging it.
    public let viewer: String
    /// The time of issue.
    public let issued: Timestamp
    /// The last time at which the token is valid, without leeway.
    public let expires: Timestamp
    /// What is used up by the start: the hash of issuer and `jti`, or of the signed bytes of a token without one.
    public let fingerprint: SHA256Digest
    /// True if the token starts any number of playbacks until it expires.
    public let isReusable: Bool
    /// The number of playbacks that the viewer may have at a time; `nil` if the token does not limit it.
    public let streamLimit: Int?
    /// The time at which what the viewer is entitled to ends; `nil` if the token does not say.
    public let sessionEnd: Timestamp?
    /// The use of the proof of possession, which a reusable token needs; `nil` for none.
    public let proofUse: GrantObligations.Use?
}

/// The outcome of checking a token of an identity provider.
public enum AccessTokenVerification: Sendable {
    /// The token may start the playback.
    case valid(AccessToken)
    /// The first check that failed. The provider is known only if the signature is good.
    case refused(AccessTokenRefusal, provider: String?)

    /// The reason of the refusal; `nil` if the token is valid.
    public var refusal: AccessTokenRefusal? {
        if case .refused(let refusal, _) = self { refusal } else { nil }
    }
}
