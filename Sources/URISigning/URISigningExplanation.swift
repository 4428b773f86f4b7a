// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// A verdict on a signed URI with the outcome of each of its claims.
public struct URISigningExplanation: Sendable {
    /// The verdict.
    public let verdict: GrantVerdict
    /// The key that made the token; `nil` if it is not authentic.
    public let key: TokenKey?
    /// The claims in the order of the payload, each by itself; empty if the token is not authentic.
    public let claims: [ExplainedClaim]
}

extension URISigningVerifier {
    /// Checks a token for a request, and reports the result for each claim. No claim of a token that is not authentic
    /// is reported.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func explain(_ token: Span<UInt8>, for facts: RequestFacts, at now: Timestamp) -> URISigningExplanation {
        let verdict = verify(token, for: facts, at: now)
        guard case .verified(let key, let payload) = verifySignature(token, at: now),
            let profile = settings.profiles.first(where: { $0.issuer.name.hasSameBytes(as: key.issuer) })
        else { return URISigningExplanation(verdict: verdict, key: nil, claims: []) }
        let claims = explained(payload, by: key, profile: profile, for: facts, at: now)
        return URISigningExplanation(verdict: verdict, key: key, claims: claims)
    }

    /// Explains the claims of a payload of any issuer.
    private func explained(
        _ payload: [UInt8],
        by key: TokenKey,
        profile: Profile,
        for facts: RequestFacts,
        at now: Timestamp
    ) -> [ExplainedClaim] {
        let hasPrivateClaims = profile.issuer.isOwn || profile.issuer.maximumSession != nil
        guard let claims = try? SignedClaims(payload.span, hasPrivateClaims: hasPrivateClaims) else { return [] }
        let grant = URISigningGrant(
            key: key,
            profile: profile,
            payload: payload,
            claims: claims,
            decryptionKeys: policy.decryptionKeys
        )
        return Self.explained(grant, for: facts, under: policy, at: now)
    }

    package static func explained(
        _ grant: URISigningGrant,
        for facts: RequestFacts,
        under policy: URISigningPolicy,
        at now: Timestamp
    ) -> [ExplainedClaim] {
        let payload = grant.payload
        var explained: [ExplainedClaim] = []
        do throws(JSONFault) {
            var reader = JSONMemberReader(payload.span, limits: SignedClaims.limits)
            while let member = try reader.next() {
                let name = try reader.name(member)
                let (outcome, refusal) = grant.outcome(of: name, for: facts, under: policy, at: now)
                explained.append(
                    ExplainedClaim(
                        label: nil,
                        name: name,
                        outcome: outcome,
                        refusal: refusal,
                        value: String(copying: payload.span.extracting(member.value))
                    )
                )
            }
        } catch {
            return []
        }
        return explained
    }
}

extension URISigningGrant {
    fileprivate func outcome(
        of name: String,
        for facts: RequestFacts,
        under policy: URISigningPolicy,
        at now: Timestamp
    ) -> (ExplainedClaim.Outcome, GrantRefusal?) {
        guard let claim = URISigningClaim(rawValue: name), claims.hasPrivateClaims || !claim.isPrivate else {
            return (.ignored, nil)
        }
        let payload = payload
        var refusal: GrantRefusal?
        switch claim {
        case .issuer:
            if !(claims.issuer?.isSame(as: issuerName, in: payload.span) ?? false) {
                refusal = GrantRefusal(.issuerRefused, member: claim)
            }
        case .version: if claims.version != 1 { refusal = GrantRefusal(.versionUnsupported, member: claim) }
        case .critical:
            if !claims.isCriticalUnderstood(payload.span) { refusal = GrantRefusal(.claimUnsupported, member: claim) }
        case .issuedAt, .depth: return (.ignored, nil)
        case .session, .revocation, .protection, .profile: return (.notEvaluated, nil)
        case .sessionEnd: return (sessionEnd.map { now < $0 } ?? true ? .pass : .fail, nil)
        case .identifier:
            refusal = self.refusal(by: claim, for: facts, under: policy, now: now.millisecondsSince1970)
            if refusal == nil { return (.notEvaluated, nil) }
        case .life, .transport:
            refusal = self.refusal(by: claim, for: facts, under: policy, now: now.millisecondsSince1970)
            if refusal == nil { return (renewal == nil ? .ignored : .notEvaluated, nil) }
        default: refusal = self.refusal(by: claim, for: facts, under: policy, now: now.millisecondsSince1970)
        }
        guard let refusal else { return (claim == .subject ? .ignored : .pass, nil) }
        return (refusal.code == .contextMissing ? .notEvaluated : .fail, refusal)
    }
}
