// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import Platform
internal import RequestTargets

/// What a token is bound to (`cnf`, RFC 7800): a key of DPoP (RFC 9449 §6.1), a certificate (RFC 8705 §3.1), or both.
struct Confirmation {
    private let keyThumbprint: [UInt8]?
    private let certificateThumbprint: [UInt8]?

    /// The algorithms of proofs.
    private static let algorithms = Set(ProofAlgorithm.allCases)

    /// Reads the members of `cnf`. A member that is not known could bind the token further: the token is refused.
    init(_ members: [JSON.Member]) throws(AccessTokenRefusal) {
        var (key, certificate): ([UInt8]?, [UInt8]?) = (nil, nil)
        for member in members {
            guard ["jkt", "x5t#S256"].contains(member.name) else { throw .confirmationUnsupported }
            guard let digest = member.value.text.flatMap({ Base64.decodeURLSafe($0) }), digest.count == 32 else {
                throw .malformed
            }
            if member.name == "jkt" { key = digest } else { certificate = digest }
        }
        guard key != nil || certificate != nil else { throw .confirmationUnsupported }
        (keyThumbprint, certificateThumbprint) = (key, certificate)
    }

    /// Checks what a request presents. Returns the use of its proof; `nil` if it needs none.
    func use(
        of presented: PresentedProof?,
        token: Span<UInt8>,
        at now: Timestamp
    ) throws(AccessTokenRefusal) -> GrantObligations.Use? {
        if let certificateThumbprint {
            guard let own = presented?.certificate else { throw .proofMissing }
            guard own.span.hasSameBytes(as: certificateThumbprint.span) else { throw .proofInvalid }
        }
        guard let keyThumbprint else { return nil }
        guard let presented, let line = presented.proofs.first, let uri = presented.uri else { throw .proofMissing }
        guard uri.scheme != nil, uri.host != nil else { throw .proofMissing }
        guard presented.proofs.count == 1, let proof = PossessionProof(line, algorithms: Self.algorithms),
            proof.jwkThumbprint.span.hasSameBytes(as: keyThumbprint.span),
            proof.isFor(uri, method: presented.method, token: token, within: PresentedProof.window, at: now)
        else { throw .proofInvalid }
        guard let use = proof.use(within: PresentedProof.window) else { throw .internalFailure }
        return use
    }
}
