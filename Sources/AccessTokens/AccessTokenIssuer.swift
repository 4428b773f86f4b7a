// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Keys

/// An identity provider whose tokens start playbacks, and what they may start.
///
/// All of it comes from a configuration. No token and no request can change it.
public struct AccessTokenIssuer: Sendable {
    /// The issuer, compared with `iss` byte for byte: a final slash counts.
    public let identifier: String
    /// The name of the provider, which stands for the TV provider in policies, revocations and logs.
    public var name: String
    /// The own names, one of which must be in `aud`. Empty if ``requiredClaims`` name the recipient in another way.
    public var audience: [String]
    /// The accepted algorithms. HMAC is none of them, whatever stands here.
    public var algorithms: Set<KeyAlgorithm> = [.rs256, .ps256, .es256, .es384, .edDSA]
    /// The accepted types of tokens (`typ`).
    public var types = JWSTypes.accessTokens
    /// The tolerance for clocks, in all comparisons of times, from 0 to 120 s.
    public var leeway = Duration.seconds(30)
    /// The longest time after `iat` in which a token starts playbacks.
    public var maximumAge = Duration.seconds(86_400)
    /// Claims that must be there, with their accepted values.
    public var requiredClaims: [RequiredClaim] = []
    /// The claim that tells viewers apart, for limits and revocations.
    public var viewer = ClaimPath.subject
    /// The rules by which tokens entitle to resources. Without one, no token starts anything.
    public var rules: [ResourceRule] = []
    /// The claim with the number of playbacks that the viewer may have at a time; `nil` for none.
    public var streamLimit: ClaimPath?
    /// The claim with the end of what the viewer is entitled to, which ends playbacks; `nil` for none.
    public var sessionEnd: ClaimPath?
    /// True if a token starts any number of playbacks until it expires.
    public var isReusable = false
    /// True if the tokens are opaque, and their server says what they mean (RFC 7662).
    public var isIntrospected = false

    /// A claim that must be there.
    public struct RequiredClaim: Hashable, Sendable {
        /// The claim.
        public var claim: ClaimPath
        /// The accepted values; `nil` for any. A list must have one of them.
        public var values: [String]?

        /// Creates a requirement.
        public init(_ claim: ClaimPath, values: [String]? = nil) {
            self.claim = claim
            self.values = values
        }
    }

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - identifier: The issuer as tokens spell it, such as `https://id.example/realms/tv`.
    ///   - audience: The own names in `aud`; empty only if ``requiredClaims`` name the recipient.
    ///   - rules: The rules by which tokens entitle to resources.
    public init(_ identifier: String, audience: [String], rules: [ResourceRule]) {
        self.identifier = identifier
        name = identifier
        self.audience = audience
        self.rules = rules
    }

    /// The binding of the issuer's keys: their tokens, algorithms and types.
    public var binding: KeyBinding {
        var binding = KeyBinding(
            issuer: identifier,
            format: .accessToken,
            // An RSA key that names no algorithm has one of the two, and never both (RFC 8725 §3.1).
            rsaAlgorithm: algorithms.contains(.rs256) ? .rs256 : .ps256
        )
        binding.algorithms = algorithms.filter { !$0.isMAC }
        binding.types = types
        return binding
    }
}
