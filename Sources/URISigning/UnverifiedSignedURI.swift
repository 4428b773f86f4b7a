// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// The content of an unverified signed URI's token, which anybody can have written: only for diagnosis.
public struct UnverifiedSignedURI: Sendable {
    /// The issuer that the token names; `nil` if it names none, or its claims cannot be read.
    public let issuer: String?
    /// The key identifier in the token's header; `nil` if there is none.
    public let keyID: KeyID?
    /// The algorithm in the token's header; `nil` for none or an unknown one.
    public let algorithm: KeyAlgorithm?

    private let payload: [UInt8]

    /// Reads a token with a header, without its key.
    ///
    /// - Parameter token: The token as presented, at most ``URISigningVerifier/maximumSize`` characters.
    /// - Throws: ``UnverifiedTokenError`` if the token is too large, or none.
    public init(_ token: Span<UInt8>) throws(UnverifiedTokenError) {
        let read: UnverifiedJWS
        do throws(JOSERefusal) { read = try UnverifiedJWS(token) } catch {
            throw UnverifiedTokenError(code: GrantCode(error))
        }
        (payload, keyID, algorithm) = (read.payload, read.keyID, read.algorithm)
        let payload = payload
        issuer = (try? SignedClaims(payload.span, hasPrivateClaims: false))?.issuer?.string(in: payload.span)
    }

    /// Reports for each claim its result if the token were authentic.
    ///
    /// - Parameters:
    ///   - facts: The facts of the request.
    ///   - policy: The own names, and the means of the caller.
    ///   - now: The time of receipt.
    /// - Returns: The claims, and the refusal of a token with them; `nil` if there is none.
    public func explain(
        for facts: RequestFacts,
        under policy: URISigningPolicy,
        at now: Timestamp
    ) -> (claims: [ExplainedClaim], refusal: GrantRefusal?) {
        // No claim is judged by a key: the key only completes the token.
        let binding = KeyBinding(issuer: issuer ?? "", format: .uriSigning)
        guard let key = try? TokenKey(secret: [UInt8](repeating: 0, count: 32), id: nil, binding: binding),
            let keys = try? KeySet([])
        else { return ([], GrantRefusal(.keyUnknown)) }
        let verifier = URISigningVerifier(keys: keys, issuers: [AcceptedSigner(issuer ?? "")], policy: policy)
        let answer = verifier.grant(from: payload, by: key, profile: verifier.settings.profiles[0])
        guard let claims = try? SignedClaims(payload.span, hasPrivateClaims: true) else {
            if case .refused(let refusal) = answer { return ([], refusal) }
            return ([], GrantRefusal(.malformed))
        }
        let grant = URISigningGrant(
            key: key,
            profile: verifier.settings.profiles[0],
            payload: payload,
            claims: claims,
            decryptionKeys: policy.decryptionKeys
        )
        let explained = URISigningVerifier.explained(grant, for: facts, under: policy, at: now)
        if case .refused(let refusal) = answer { return (explained, refusal) }
        return (explained, grant.verdict(for: facts, under: policy, now: now.millisecondsSince1970).refusal)
    }
}
