// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import CommonAccessTokens
import EdgeTokens
import Keys
import Platform
import URISigning

/// A verifier of grants with the keys of a file.
struct GrantChecker: Sendable {
    private let keys: GrantKeySet
    private let policy: CATPolicy
    private let signedPolicy: URISigningPolicy
    private let options: SignedURIOptions
    private let format: GrantFormatName
    /// The verifier for the issuer of the command line; `nil` if there is none.
    private let fixed: Selected?

    /// A verifier of one format.
    enum Verifier: Sendable {
        case cat(CATVerifier)
        case signedURI(URISigningVerifier)
    }

    /// Creates a checker.
    ///
    /// - Parameters:
    ///   - issuer: The issuer of the keys; `nil` to use the name in each token.
    ///   - audience: The own names.
    ///   - options: The options for signed URIs.
    init(
        _ keys: GrantKeySet,
        issuer: String?,
        audience: [String],
        format: GrantFormatName,
        options: SignedURIOptions
    ) throws(CommandFailure) {
        self.keys = keys
        self.format = format
        self.options = options
        policy = Self.policy(audience: audience)
        signedPolicy = Self.signedPolicy(audience: audience, try options.decryptionKeys())
        let make = (keys, policy, signedPolicy, options, format)
        fixed = try issuer.map { (issuer) throws(CommandFailure) in
            let verifier = try Self.verifier(
                keys: make.0,
                issuer: issuer,
                policy: make.1,
                signedPolicy: make.2,
                options: make.3,
                format: make.4
            )
            return Selected(issuer: issuer, isIssuerAssumed: false, verifier: verifier)
        }
    }

    /// The policy for signed URIs, as that of ``policy(audience:)``.
    static func signedPolicy(audience: [String], _ keys: [EncryptionKey]) -> URISigningPolicy {
        var policy = URISigningPolicy()
        policy.audience = audience
        policy.hasReplayStore = true
        policy.decryptionKeys = keys
        return policy
    }

    /// The policy of the command line, which has no stores: their answers are assumed, and the output says so.
    static func policy(audience: [String]) -> CATPolicy {
        var policy = CATPolicy()
        policy.audience = audience
        policy.hasReplayStore = true
        policy.hasReuseDetector = true
        policy.hasRejectionList = true
        policy.proofAlgorithms = Set(ProofAlgorithm.allCases)
        return policy
    }

    private static func verifier(
        keys: GrantKeySet,
        issuer: String,
        policy: CATPolicy,
        signedPolicy: URISigningPolicy,
        options: SignedURIOptions,
        format: GrantFormatName
    ) throws(CommandFailure) -> Verifier {
        let keys = try keys.keys(of: issuer)
        guard format == .uriSigning else {
            return .cat(CATVerifier(keys: keys, issuers: [AcceptedIssuer(issuer)], policy: policy))
        }
        return .signedURI(URISigningVerifier(keys: keys, issuers: [options.rules(issuer)], policy: signedPolicy))
    }

    /// A verifier for one issuer.
    struct Selected: Sendable {
        let issuer: String
        /// True if the name of the issuer is the token's own word.
        let isIssuerAssumed: Bool
        let verifier: Verifier
    }

    /// Returns the verifier for a token.
    ///
    /// - Parameter known: A verifier that is used again if the token names its issuer.
    func select(for token: String, known: Selected? = nil) throws(CommandFailure) -> Selected {
        if let fixed { return fixed }
        // No token can name the empty issuer, so one that names none is refused.
        let name = format.issuer(in: token, header: options.jwtHeader) ?? ""
        if let known, known.issuer.utf8.elementsEqual(name.utf8) { return known }
        let verifier = try Self.verifier(
            keys: keys,
            issuer: name,
            policy: policy,
            signedPolicy: signedPolicy,
            options: options,
            format: format
        )
        return Selected(issuer: name, isIssuerAssumed: true, verifier: verifier)
    }

    /// Checks a token for a request.
    ///
    /// - Parameter facts: The facts; `nil` if the URL has no form that all servers read alike.
    func check(
        _ token: String,
        for facts: RequestFacts?,
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
        let verdict: GrantVerdict
        switch selected.verifier {
        case .cat(let verifier):
            switch verifier.authenticate(token.utf8.span, at: now) {
            case .refused(let refusal): verdict = .refused(refusal)
            case .authentic(let grant):
                answer.grant = grant
                verdict = verifier.judge(grant, presentedAs: token.utf8.span, for: facts, at: now)
            }
        case .signedURI(let verifier):
            switch verifier.authenticate(token.utf8.span, at: now) {
            case .refused(let refusal): verdict = .refused(refusal)
            case .authentic(let grant):
                answer.grant = grant
                verdict = verifier.judge(grant, for: facts, at: now)
            }
        }
        switch verdict {
        case .allowed(let obligations): answer.obligations = obligations
        case .refused(let refusal): answer.refusal = refusal
        }
        return answer
    }

    /// Checks the tokens of a request in their order. The first one that allows it decides; if none does, the last authentic
    /// one, otherwise the first.
    func check(_ tokens: [String], for facts: RequestFacts?, at now: Timestamp) throws(CommandFailure) -> GrantAnswer {
        var decisive: GrantAnswer?
        for token in tokens.prefix(URISigningVerifier.maximumPackages) {
            var known: Selected?
            let answer = try check(token, for: facts, at: now, known: &known)
            if answer.isValid { return answer }
            if decisive == nil || answer.grant != nil { decisive = answer }
        }
        return decisive ?? GrantAnswer(issuer: "", isIssuerAssumed: true, refusal: GrantRefusal(.missing))
    }
}

extension GrantFormatName {
    /// Returns the issuer that a token names; `nil` if it names none, or cannot be read.
    ///
    /// - Parameter header: The encoded header of tokens that have none.
    func issuer(in token: String, header: String?) -> String? {
        guard self == .uriSigning else { return (try? UnverifiedCAT(token.utf8.span))?.issuer }
        let isBare = token.utf8.count { $0 == UInt8(ascii: ".") } == 1
        let whole = isBare ? "\(header ?? "").\(token)" : token
        return (try? UnverifiedSignedURI(whole.utf8.span))?.issuer
    }
}
