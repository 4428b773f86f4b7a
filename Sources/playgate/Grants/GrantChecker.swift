// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import EdgeTokens
import Keys
import Platform

/// A verifier of grants with the keys of a file.
struct GrantChecker: Sendable {
    private let keys: GrantKeySet
    private let policy: CATPolicy
    /// The verifier for the issuer of the command line; `nil` if there is none.
    private let fixed: CATVerifier?

    /// Creates a checker.
    ///
    /// - Parameters:
    ///   - issuer: The issuer of the keys; `nil` to take each token's own word for the name.
    ///   - audience: The own names.
    init(_ keys: GrantKeySet, issuer: String?, audience: [String]) throws(CommandFailure) {
        self.keys = keys
        let policy = Self.policy(audience: audience)
        self.policy = policy
        fixed = try issuer.map { (issuer) throws(CommandFailure) in
            try Self.verifier(keys, issuer, policy)
        }
    }

    /// The policy of the command line, which has no stores: what they would be asked is assumed, and said.
    static func policy(audience: [String]) -> CATPolicy {
        var policy = CATPolicy()
        policy.audience = audience
        policy.hasReplayStore = true
        policy.hasReuseDetector = true
        policy.hasRejectionList = true
        policy.proofAlgorithms = Set(CATPolicy.ProofAlgorithm.allCases)
        return policy
    }

    private static func verifier(
        _ keys: GrantKeySet,
        _ issuer: String,
        _ policy: CATPolicy
    ) throws(CommandFailure) -> CATVerifier {
        CATVerifier(keys: try keys.keys(of: issuer), issuers: [AcceptedIssuer(issuer)], policy: policy)
    }

    /// A verifier for one issuer.
    struct Selected: Sendable {
        let issuer: String
        /// True if the name of the issuer is the token's own word.
        let isIssuerAssumed: Bool
        let verifier: CATVerifier
    }

    /// Returns the verifier for a token.
    ///
    /// - Parameter known: A verifier that is taken again if the token names its issuer.
    func select(for token: String, known: Selected? = nil) throws(CommandFailure) -> Selected {
        if let fixed, let name = fixed.issuers.first?.name {
            return Selected(issuer: name, isIssuerAssumed: false, verifier: fixed)
        }
        // No token can name the empty issuer, so one that names none is refused.
        let name = (try? UnverifiedCAT(token.utf8.span))?.issuer ?? ""
        if let known, known.issuer.utf8.elementsEqual(name.utf8) { return known }
        return Selected(issuer: name, isIssuerAssumed: true, verifier: try Self.verifier(keys, name, policy))
    }

    /// Checks a token for a request.
    ///
    /// - Parameter facts: The facts; `nil` if the URL has no form that all servers read alike.
    func check(
        _ token: String,
        _ facts: RequestFacts?,
        at now: Timestamp,
        known: inout Selected?
    ) throws(CommandFailure) -> GrantAnswer {
        let selected = try select(for: token, known: known)
        known = selected
        var answer = GrantAnswer(issuer: selected.issuer, isIssuerAssumed: selected.isIssuerAssumed)
        guard let facts else {
            answer.refusal = GrantRefusal(.uriMismatch)
            return answer
        }
        switch selected.verifier.authenticate(token.utf8.span, at: now) {
        case .refused(let refusal): answer.refusal = refusal
        case .authentic(let grant):
            answer.grant = grant
            switch selected.verifier.judge(grant, shownAs: token.utf8.span, facts, at: now) {
            case .allowed(let obligations): answer.obligations = obligations
            case .refused(let refusal): answer.refusal = refusal
            }
        }
        return answer
    }
}
