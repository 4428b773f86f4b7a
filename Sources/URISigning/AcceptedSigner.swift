// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Keys

/// An issuer whose signed URIs are accepted, by the keys that are bound to its name, and the rules for them.
public struct AcceptedSigner: Sendable {
    /// The name that `iss` holds.
    public let name: String
    /// True if a token without `iss` is accepted by the issuer's keys.
    public var isNameOptional = false
    /// True if a token without `exp` is refused.
    public var requiresExpiration = true
    /// True if a token without `cdniuc` is refused. Without it a token opens every URI of the entry.
    public var requiresContainer = true
    /// The position of a pattern's match in a URI.
    public var match = URIPatternMatch.whole
    /// True if the issuer is this installation: its private claims are read.
    public var isOwn = true
    /// The longest session that renewals here give to tokens of another installation, or to tokens that lost their
    /// private claims. `nil` if such tokens are not renewed.
    public var maximumSession: Duration?
    /// The window before the expiry in which a token is renewed; `nil` for half the life that a renewal gives.
    public var renewalWindow: Duration?
    /// The JOSE headers of tokens that have none (the metadata `jwt-header`), in the order in which they are tried; empty if all
    /// tokens have one.
    public var headers: [JWSHeader] = []
    /// The keys that decrypt `cdniip` and `sub` of this issuer's tokens, besides those of the policy.
    public var decryptionKeys: [EncryptionKey] = []

    /// Creates an issuer with the rules for own tokens.
    public init(_ name: String) { self.name = name }
}

/// The names of this recipient of signed URIs, and the caller's means to judge facts that are not in the token.
public struct URISigningPolicy: Sendable {
    /// The own names that `aud` may hold, compared byte for byte. Without one, a token with `aud` is refused.
    public var audience: [String] = []
    /// True if the caller's store can use a token once for each URI, for `jti`.
    public var hasReplayStore = false
    /// The keys that decrypt `cdniip` and `sub` of all issuers.
    public var decryptionKeys: [EncryptionKey] = []

    /// Creates a policy without own names, stores and keys.
    public init() {}
}
