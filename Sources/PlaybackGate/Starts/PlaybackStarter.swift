// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import AccessTokens
internal import EdgeTokens
internal import Encodings
public import Keys
internal import MediaTokens
public import Platform

/// Starts playbacks by the tokens of identity providers, beside media tokens.
///
/// It needs keys, and no network: a service passes those that it fetches.
///
/// ```swift
/// let starter = PlaybackStarter(try AccessTokenVerifier([provider], keys: keys))
/// let gate = Gate(catalogue: catalogue, verifier: verifier, starter: starter, store: MemoryReplayStore())
/// ```
public final class PlaybackStarter: Sendable {
    /// The verifier of the tokens.
    public let verifier: AccessTokenVerifier
    /// Asks the servers of opaque tokens; `nil` if no token is opaque.
    let introspector: (any TokenIntrospector)?
    /// The tokens about which only the service can decide; `nil` for a starter that decides itself.
    private let deferred: Deferral?
    private let askForKey: @Sendable (KeyID, Timestamp) -> Bool

    /// Creates a starter.
    ///
    /// - Parameters:
    ///   - verifier: The verifier of the tokens.
    ///   - introspector: Asks the servers of opaque tokens; `nil` if no token is opaque.
    ///   - askForKey: Called with the identifier of a key that the verifier does not have, and the time. Returns true if a key
    ///     set is being fetched that may bring it. It must not wait.
    public init(
        _ verifier: AccessTokenVerifier,
        introspector: (any TokenIntrospector)? = nil,
        askForKey: @escaping @Sendable (KeyID, Timestamp) -> Bool = { _, _ in false }
    ) {
        self.verifier = verifier
        self.introspector = introspector
        self.askForKey = askForKey
        deferred = nil
    }

    /// The tokens beside media tokens that start playbacks.
    package enum Deferral: String, Sendable {
        /// JSON Web Tokens.
        case jwt
        /// JSON Web Tokens and opaque ones.
        case any
    }

    /// What an edge defers to its service.
    package var deferral: Deferral { verifier.isIntrospecting ? .any : .jwt }

    /// Creates a starter for an edge, which leaves each such token to its service.
    package init(deferring deferral: Deferral) {
        verifier = .none
        introspector = nil
        deferred = deferral
        askForKey = { _, _ in false }
    }

    /// Creates a starter like another one, with another verifier.
    package init(_ present: PlaybackStarter, verifier: AccessTokenVerifier) {
        self.verifier = verifier
        introspector = present.introspector
        deferred = present.deferred
        askForKey = present.askForKey
    }

    /// The work that a presented token is.
    enum Demand {
        /// A media token: the gate's verifier decides.
        case mediaToken
        /// A JSON Web Token of an identity provider.
        case accessToken
        /// A token that only a server understands: an opaque one, or at an edge any.
        case introspection
    }

    /// Returns the work that a presented token is.
    func demand(of token: Span<UInt8>) -> Demand {
        switch PresentedTokenKind(token) {
        case .mediaToken: .mediaToken
        case .otherJWS: deferred == nil ? .accessToken : .introspection
        case .other: introspector != nil || deferred == .any ? .introspection : .mediaToken
        }
    }

    /// Verifies a JSON Web Token for the start of a playback of an entry.
    func verify(
        _ token: Span<UInt8>,
        for entry: Catalogue.Entry,
        presenting proof: PresentedProof?,
        at now: Timestamp
    ) -> Verification {
        guard case .resource(let resource, let requestor) = entry.protection else { return .refused(.resourceRefused) }
        switch verifier.verify(token, for: resource, presenting: proof, at: now) {
        case .refused(.keyUnknown, _):
            let id = try? UnverifiedJWS(token, format: .accessToken).keyID
            return .refused(id.map { askForKey($0, now) } ?? false ? .keyAwaited : .keyUnknown)
        case .refused(let refusal, _): return .refused(refusal)
        case .valid(let token): return Verification(token, requestor: requestor, resource: resource)
        }
    }

    /// Verifies what a server has said about an opaque token.
    func verify(
        _ answer: TokenIntrospection,
        of token: Span<UInt8>,
        for entry: Catalogue.Entry,
        presenting proof: PresentedProof?,
        at now: Timestamp
    ) -> Verification {
        guard case .resource(let resource, let requestor) = entry.protection else { return .refused(.resourceRefused) }
        let outcome = verifier.verify(
            introspection: answer.body,
            of: token,
            by: answer.issuer,
            for: resource,
            presenting: proof,
            at: now
        )
        switch outcome {
        case .refused(let refusal, _): return .refused(refusal)
        case .valid(let token): return Verification(token, requestor: requestor, resource: resource)
        }
    }

    /// The outcome of verifying a token for an entry.
    enum Verification {
        /// The token proves the authorization, after the use of its proof of possession if it has one.
        case valid(MediaToken, proofUse: GrantObligations.Use?)
        case refused(AccessTokenRefusal)
    }
}

extension PlaybackStarter.Verification {
    fileprivate init(_ token: AccessToken, requestor: String, resource: MediaResource) {
        let terms = ProviderTerms(
            isReusable: token.isReusable,
            streamLimit: token.streamLimit,
            sessionEnd: token.sessionEnd
        )
        let proof = MediaToken(
            requestor: requestor,
            resource: resource.text,
            viewer: token.viewer,
            provider: token.provider,
            issued: token.issued,
            expires: token.expires,
            fingerprint: token.fingerprint,
            terms: terms
        )
        self = proof.map { .valid($0, proofUse: token.proofUse) } ?? .refused(.tooLarge)
    }
}
