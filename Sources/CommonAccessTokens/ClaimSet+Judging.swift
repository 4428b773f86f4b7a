// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings
internal import RequestTargets

/// The inputs of an evaluation besides the facts of the request: payload, patterns, settings and time.
package struct CATContext: ~Copyable, ~Escapable {
    package let payload: Span<UInt8>
    package let patterns: [LocatedPattern]
    private let holder: CATVerifier.Profile
    private let settings: CATVerifier.Settings
    /// The time of receipt, in milliseconds.
    package let now: Int64

    @_lifetime(copy payload)
    init(
        payload: Span<UInt8>,
        patterns: [LocatedPattern],
        profile: CATVerifier.Profile,
        settings: CATVerifier.Settings,
        now: Int64
    ) {
        self.payload = payload
        self.patterns = patterns
        holder = profile
        self.settings = settings
        self.now = now
    }

    /// The issuer of the token.
    package var profile: AcceptedIssuer { holder.issuer }
    /// The own names, and the means of the caller.
    package var policy: CATPolicy { settings.policy }

    /// Returns true if the pattern at this range is found in `text`.
    package func isFound(at range: Range<Int>, in text: Span<UInt8>) -> Bool {
        for located in patterns where located.start == range.lowerBound { return located.pattern.isFound(in: text) }
        return false
    }
}

/// A compiled pattern, and the position of its text in the payload.
package struct LocatedPattern: Sendable {
    package let start: Int
    package let pattern: Pattern
}

extension ClaimSet {
    /// The claims that restrict a request, in the order of their evaluation.
    package static let restrictions: [CATClaim] = [
        .audience, .expiration, .notBefore, .methods, .uri, .networks, .headers, .alpn, .clientKey, .geohash,
        .countries,
        .coordinates,
    ]

    /// The claims that hold sets of claims. They are evaluated after the proof of possession.
    static let composites: [CATClaim] = [.and, .or, .nor, .critical]

    /// Evaluates the token for a request.
    ///
    /// - Parameter token: The token as presented.
    package func verdict(
        in context: borrowing CATContext,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts
    ) -> GrantVerdict {
        if let refusal = refusal(byAnyOf: Self.restrictions, in: context, for: facts) { return .refused(refusal) }
        var obligations = GrantObligations()
        if let range = self[.confirmation] {
            if let refusal = proofRefusal(
                in: context,
                at: range,
                presentedAs: token,
                for: facts,
                addingTo: &obligations
            ) {
                return .refused(refusal)
            }
        }
        if hasComposites, let refusal = refusal(byAnyOf: Self.composites, in: context, for: facts) {
            return .refused(refusal)
        }
        if let refusal = unmetObligation(context) { return .refused(refusal) }
        guard addObligations(to: &obligations, in: context, for: facts) else {
            return .refused(GrantRefusal(.replayed))
        }
        return .allowed(obligations)
    }

    private func refusal(
        byAnyOf claims: [CATClaim],
        in context: borrowing CATContext,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        for claim in claims {
            guard let range = self[claim] else { continue }
            if let refusal = refusal(by: claim, at: range, in: context, for: facts) { return refusal }
        }
        return nil
    }

    /// Returns the refusal by a claim of the set, or `nil` if it holds or restricts nothing.
    package func refusal(
        by claim: CATClaim,
        at range: Range<Int>,
        in context: borrowing CATContext,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        switch claim {
        case .issuer: isIssuer(in: context, at: range) ? nil : refusal(.issuerRefused, by: claim, in: context)
        case .version: version == 1 ? nil : refusal(.versionUnsupported, by: claim, in: context)
        case .audience: isForAudience(in: context, at: range) ? nil : refusal(.audienceMismatch, by: claim, in: context)
        case .expiration: expirationRefusal(context)
        case .notBefore: context.now >= notBefore ?? .min ? nil : refusal(.notYetValid, by: claim, in: context)
        case .methods: methodRefusal(in: context, at: range, for: facts)
        case .uri: uriRefusal(in: context, at: range, for: facts.uri)
        case .networks: networkRefusal(in: context, at: range, for: facts)
        case .headers: headerRefusal(in: context, at: range, for: facts)
        case .alpn: refusal(by: claim, fact: .alpn, value: facts.alpn, in: context, at: range)
        case .clientKey: refusal(by: claim, fact: .clientKey, value: facts.clientKey, in: context, at: range)
        case .geohash: geohashRefusal(in: context, at: range, for: facts)
        case .countries: countryRefusal(in: context, at: range, for: facts)
        case .coordinates: circleRefusal(in: context, at: range, for: facts)
        case .or, .nor, .and: compositeRefusal(by: claim, in: context, at: range, for: facts)
        case .critical: criticalRefusal(in: context, at: range)
        case .subject, .issuedAt, .identifier, .confirmation, .replay, .rejection, .altitude, .answerData, .possession,
            .answers, .renewal, .session, .sessionEnd, .revocation, .protection, .profile, .generation:
            nil
        }
    }

    package func refusal(_ code: GrantCode, by claim: CATClaim, in context: borrowing CATContext) -> GrantRefusal {
        GrantRefusal(code, claim: context.profile.labels.meaning(claim))
    }

    package func refusal(
        unknown fact: RequestFact,
        by claim: CATClaim,
        in context: borrowing CATContext
    ) -> GrantRefusal {
        GrantRefusal(.contextMissing, detail: .fact(fact, for: context.profile.labels.meaning(claim)))
    }

    // MARK: Token

    private func isIssuer(in context: borrowing CATContext, at range: Range<Int>) -> Bool {
        var walker = ItemWalker(context.payload, at: range)
        return context.payload.extracting(walker.string()).hasSameBytes(as: context.profile.nameBytes.span)
    }

    private func isForAudience(in context: borrowing CATContext, at range: Range<Int>) -> Bool {
        guard !context.policy.audience.isEmpty else { return false }
        let names = context.policy.audience
        var walker = ItemWalker(context.payload, at: range)
        return walker.hasString { name in names.contains { $0.utf8.span.hasSameBytes(as: name) } }
    }

    private func expirationRefusal(_ context: borrowing CATContext) -> GrantRefusal? {
        guard context.now >= expires ?? .max else { return nil }
        // The last grant of a session expires with it, and no other can follow.
        let isEnded = sessionEnd.map { context.now >= Int64($0) * 1000 } ?? false
        return isEnded
            ? refusal(.sessionEnded, by: .sessionEnd, in: context) : refusal(.expired, by: .expiration, in: context)
    }

    // MARK: Request

    private func methodRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        guard let method = facts.method else { return refusal(unknown: .method, by: .methods, in: context) }
        var walker = ItemWalker(context.payload, at: range)
        let isNamed = walker.hasString { $0.hasSameBytes(as: method.utf8.span) }
        return isNamed ? nil : refusal(.methodRefused, by: .methods, in: context)
    }

    private func uriRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for uri: RequestURI
    ) -> GrantRefusal? {
        var unknown: RequestFact?
        var walker = ItemWalker(context.payload, at: range)
        for _ in 0..<walker.count() {
            guard let component = URIComponent(rawValue: UInt8(truncatingIfNeeded: walker.integer())) else {
                return refusal(.claimUnsupported, by: .uri, in: context)
            }
            for _ in 0..<walker.count() {
                guard let match = ValueMatch(rawValue: walker.integer()) else {
                    return refusal(.claimUnsupported, by: .uri, in: context)
                }
                let operand = match == .regex ? walker.firstText() : walker.string()
                let text = context.payload.extracting(operand)
                // A digest has no separator that could belong to the component.
                let separator = match == .sha256 || match == .sha512t256 ? text.extracting(first: 0) : text
                let result = uri.match(component, operand: separator) { value in
                    match == .regex ? context.isFound(at: operand, in: value) : match.holds(for: value, against: text)
                }
                switch result {
                case .holds: break
                case .fails: return refusal(.uriMismatch, by: .uri, in: context)
                case .unknown(let fact): unknown = unknown ?? fact
                }
            }
        }
        return unknown.map { refusal(unknown: $0, by: .uri, in: context) }
    }

    private func headerRefusal(
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        guard let headers = facts.headers else { return refusal(unknown: .headers, by: .headers, in: context) }
        var walker = ItemWalker(context.payload, at: range)
        for _ in 0..<walker.count() {
            let name = context.payload.extracting(walker.string())
            let lines = headers.values(of: String(copying: name))
            guard !lines.isEmpty else { return refusal(.headerMismatch, by: .headers, in: context) }
            let value = HeaderRule.value(lines)
            for _ in 0..<walker.count() {
                let match = ValueMatch(rawValue: walker.integer())
                let operand = match == .regex ? walker.firstText() : walker.string()
                let holds =
                    match == .regex
                    ? context.isFound(at: operand, in: value.utf8.span)
                    : match?.holds(for: value.utf8.span, against: context.payload.extracting(operand)) ?? false
                guard holds else { return refusal(.headerMismatch, by: .headers, in: context) }
            }
        }
        return nil
    }

    /// Compares a fact of the TLS connection with one of the byte strings of a claim.
    private func refusal(
        by claim: CATClaim,
        fact: RequestFact,
        value: RequestFacts.TLSFact,
        in context: borrowing CATContext,
        at range: Range<Int>
    ) -> GrantRefusal? {
        switch value {
        case .unknown: return refusal(unknown: fact, by: claim, in: context)
        case .none: return refusal(.tlsMismatch, by: claim, in: context)
        case .value(let bytes):
            var walker = ItemWalker(context.payload, at: range)
            let isNamed = walker.hasString { $0.hasSameBytes(as: bytes.span) }
            return isNamed ? nil : refusal(.tlsMismatch, by: claim, in: context)
        }
    }
}
