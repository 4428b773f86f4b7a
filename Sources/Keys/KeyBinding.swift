// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A format of tokens.
@nonexhaustive
public enum TokenFormat: String, Sendable, CaseIterable {
    /// CTA-5007 Common Access Tokens.
    case cat
    /// URI signing of RFC 9246.
    case uriSigning = "uri-signing"
    /// JSON Web Tokens of an identity provider (RFC 7519).
    case accessToken = "access-token"
    /// Tokens for licence servers.
    case licence
}

/// The binding of keys by configuration: no token can change any of it.
public struct KeyBinding: Sendable, Equatable {
    /// The issuer (`iss`) whose tokens the keys are for.
    public var issuer: String
    /// The format of those tokens.
    public var format: TokenFormat
    /// The algorithm of RSA keys that name none: `ps256`, `rs256`, or `nil` to refuse such keys.
    public var rsaAlgorithm: KeyAlgorithm?
    /// The exceptions from the rules.
    public var leniency: KeyLeniency
    /// The only algorithms of the keys; empty for any.
    public var algorithms: Set<KeyAlgorithm> = []
    /// The types (`typ`) of the tokens; `nil` if they do not matter. Access tokens have always some: `at+jwt` by default.
    public var types: JWSTypes?

    /// Creates a binding.
    public init(
        issuer: String,
        format: TokenFormat,
        rsaAlgorithm: KeyAlgorithm? = nil,
        leniency: KeyLeniency = []
    ) {
        self.issuer = issuer
        self.format = format
        self.rsaAlgorithm = rsaAlgorithm
        self.leniency = leniency
        types = format == .accessToken ? .accessTokens : nil
    }
}

/// Exceptions from the rules for an issuer, each named in its configuration.
public struct KeyLeniency: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Codes of `HMAC 256/64`, cut to 8 bytes, with keys for HS256.
    public static let shortMAC = KeyLeniency(rawValue: 1)
    /// Key identifiers that are a text string in a COSE header.
    public static let textKeyID = KeyLeniency(rawValue: 2)
}

/// The permitted uses of a key.
public struct KeyOperations: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Verifying signatures or authentication codes.
    public static let verify = KeyOperations(rawValue: 1)
    /// Making them.
    public static let sign = KeyOperations(rawValue: 2)
}
