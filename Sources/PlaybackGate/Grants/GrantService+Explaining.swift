// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
public import EdgeTokens
public import Keys
public import Platform
internal import URISigning

extension GrantService {
    /// The verdict on a grant, with the outcome of each of its claims.
    public struct Explanation: Sendable {
        /// The verdict. Catalogue and revocations are not looked at.
        public let verdict: GrantVerdict
        /// The key that made the grant; `nil` if it is not authentic.
        public let key: TokenKey?
        /// The claims in the order of the grant; empty if it is not authentic.
        public let claims: [ExplainedClaim]
    }

    /// Checks a Common Access Token or a signed URI for a request, and reports the result for each claim. Consumes
    /// nothing.
    ///
    /// An unknown key is fetched, as by a check of an edge: see `GrantRefusal.Detail.keySetAwaited`.
    ///
    /// - Parameters:
    ///   - token: The grant as presented.
    ///   - facts: The facts of the request.
    ///   - time: The time of the request, which may be another than the present.
    ///   - now: The present time.
    public func explain(
        _ token: Span<UInt8>,
        for facts: RequestFacts,
        asOf time: Timestamp,
        at now: Timestamp
    ) -> Explanation {
        if isSignedURI(token), let signedURIs {
            let explained = signedURIs.explain(token, for: facts, at: time)
            return Explanation(
                verdict: awaited(explained.verdict, of: token, at: now),
                key: explained.key,
                claims: explained.claims
            )
        }
        let explained = verifier.explain(token, for: facts, at: time)
        return Explanation(
            verdict: awaited(explained.verdict, of: token, at: now),
            key: explained.key,
            claims: explained.claims
        )
    }

    private func awaited(_ verdict: GrantVerdict, of token: Span<UInt8>, at now: Timestamp) -> GrantVerdict {
        guard case .refused(let refusal) = verdict else { return verdict }
        return .refused(awaited(refusal, of: token, at: now))
    }
}
