// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An issuer whose Common Access Tokens are accepted, by the keys that are bound to its name.
public struct AcceptedIssuer: Sendable {
    /// The name that `iss` holds.
    public let name: String
    /// True if a token without `iss` is accepted by the issuer's keys.
    public var isNameOptional = false
    /// True if a token without `exp` is refused.
    public var requiresExpiration = true
    /// True if the issuer is this installation: its private claims are read, and a malformed renewal refuses the token.
    public var isOwn = true
    /// The longest session that renewals here give to tokens of an issuer that is not this installation; `nil` if its
    /// tokens are not renewed.
    public var maximumSession: Duration?
    /// The labels of the issuer's claims that differ from those of the registry.
    public var labels = CATLabels.registered

    /// The UTF-8 bytes of the name.
    let nameBytes: [UInt8]

    /// Creates an issuer with the rules for own tokens.
    public init(_ name: String) {
        self.name = name
        nameBytes = [UInt8](name.utf8)
    }

    /// The options of reading its tokens.
    package var options: ClaimSet.Options {
        ClaimSet.Options(labels: labels, hasPrivateClaims: isOwn || maximumSession != nil)
    }
}
