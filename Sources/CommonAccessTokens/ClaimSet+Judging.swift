// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings
internal import RequestTargets

/// The claims of a token beside its facts: all that is the same on every call.
package struct CATContext: ~Copyable, ~Escapable {
    package let payload: Span<UInt8>
    package let patterns: [PlacedPattern]
    private let holder: CATVerifier.Profile
    private let settings: CATVerifier.Settings
    /// The time of receipt, in milliseconds.
    package let now: Int64

    @_lifetime(copy payload)
    init(
        payload: Span<UInt8>,
        patterns: [PlacedPattern],
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

    /// Returns true if the pattern at `place` is found in `text`.
    package func isFound(at place: Range<Int>, in text: Span<UInt8>) -> Bool {
        for placed in patterns where placed.start == place.lowerBound { return placed.pattern.isFound(in: text) }
        return false
    }
}

/// A compiled pattern, and the position of its text in the payload.
package struct PlacedPattern: Sendable {
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
    /// - Parameter token: The token as shown.
    package func verdict(_ context: borrowing CATContext, _ token: Span<UInt8>, _ facts: RequestFacts) -> GrantVerdict {
        if let refusal = refusal(Self.restrictions, context, facts) { return .refused(refusal) }
        var obligations = GrantObligations()
        if let place = self[.confirmation] {
            if let refusal = proofRefusal(context, at: place, token, facts, &obligations) { return .refused(refusal) }
        }
        if hasComposites, let refusal = refusal(Self.composites, context, facts) { return .refused(refusal) }
        if let refusal = unmetObligation(context) { return .refused(refusal) }
        guard addObligations(to: &obligations, context, facts) else { return .refused(GrantRefusal(.replayed)) }
        return .allowed(obligations)
    }

    private func refusal(
        _ claims: [CATClaim],
        _ context: borrowing CATContext,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        for claim in claims {
            guard let place = self[claim] else { continue }
            if let refusal = refusal(claim, at: place, context, facts) { return refusal }
        }
        return nil
    }

    /// Returns the refusal by a claim of the set, or `nil` if it holds or restricts nothing.
    package func refusal(
        _ claim: CATClaim,
        at place: Range<Int>,
        _ context: borrowing CATContext,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        switch claim {
        case .issuer: isIssuer(context, place) ? nil : refusal(.issuerRefused, claim, context)
        case .version: version == 1 ? nil : refusal(.versionUnsupported, claim, context)
        case .audience: isForAudience(context, place) ? nil : refusal(.audienceMismatch, claim, context)
        case .expiration: expirationRefusal(context)
        case .notBefore: context.now >= notBefore ?? .min ? nil : refusal(.notYetValid, claim, context)
        case .methods: methodRefusal(context, place, facts)
        case .uri: uriRefusal(context, place, facts.uri)
        case .networks: networkRefusal(context, place, facts)
        case .headers: headerRefusal(context, place, facts)
        case .alpn: refusal(claim, .alpn, facts.alpn, context, place)
        case .clientKey: refusal(claim, .clientKey, facts.clientKey, context, place)
        case .geohash: geohashRefusal(context, place, facts)
        case .countries: countryRefusal(context, place, facts)
        case .coordinates: circleRefusal(context, place, facts)
        case .or, .nor, .and: compositeRefusal(claim, context, place, facts)
        case .critical: criticalRefusal(context, place)
        case .subject, .issuedAt, .identifier, .confirmation, .replay, .rejection, .altitude, .answerData, .possession,
            .answers, .renewal, .session, .sessionEnd, .revocation, .protection, .profile:
            nil
        }
    }

    package func refusal(_ code: GrantCode, _ claim: CATClaim, _ context: borrowing CATContext) -> GrantRefusal {
        GrantRefusal(code, claim: context.profile.labels.meaning(claim))
    }

    package func refusal(unknown fact: RequestFact, _ claim: CATClaim, _ context: borrowing CATContext) -> GrantRefusal
    {
        GrantRefusal(.contextMissing, .fact(fact, for: context.profile.labels.meaning(claim)))
    }

    // MARK: Token

    private func isIssuer(_ context: borrowing CATContext, _ place: Range<Int>) -> Bool {
        var walker = ItemWalker(context.payload, at: place)
        return context.payload.extracting(walker.string()).hasSameBytes(as: context.profile.nameBytes.span)
    }

    private func isForAudience(_ context: borrowing CATContext, _ place: Range<Int>) -> Bool {
        guard !context.policy.audience.isEmpty else { return false }
        let names = context.policy.audience
        var walker = ItemWalker(context.payload, at: place)
        return walker.hasString { name in names.contains { $0.utf8.span.hasSameBytes(as: name) } }
    }

    private func expirationRefusal(_ context: borrowing CATContext) -> GrantRefusal? {
        guard context.now >= expires ?? .max else { return nil }
        // The last grant of a session expires with it, and no other can follow.
        let isEnded = sessionEnd.map { context.now >= Int64($0) * 1000 } ?? false
        return isEnded ? refusal(.sessionEnded, .sessionEnd, context) : refusal(.expired, .expiration, context)
    }

    // MARK: Request

    private func methodRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        guard let method = facts.method else { return refusal(unknown: .method, .methods, context) }
        var walker = ItemWalker(context.payload, at: place)
        let isNamed = walker.hasString { $0.hasSameBytes(as: method.utf8.span) }
        return isNamed ? nil : refusal(.methodRefused, .methods, context)
    }

    private func uriRefusal(_ context: borrowing CATContext, _ place: Range<Int>, _ uri: RequestURI) -> GrantRefusal? {
        var unknown: RequestFact?
        var walker = ItemWalker(context.payload, at: place)
        for _ in 0..<walker.count() {
            guard let component = URIComponent(rawValue: UInt8(truncatingIfNeeded: walker.integer())) else {
                return refusal(.claimUnsupported, .uri, context)
            }
            for _ in 0..<walker.count() {
                guard let match = ValueMatch(rawValue: walker.integer()) else {
                    return refusal(.claimUnsupported, .uri, context)
                }
                let operand = match == .regex ? walker.firstText() : walker.string()
                let text = context.payload.extracting(operand)
                // A digest has no separator that could belong to the component.
                let separator = match == .sha256 || match == .sha512t256 ? text.extracting(first: 0) : text
                let result = uri.match(component, operand: separator) { value in
                    match == .regex ? context.isFound(at: operand, in: value) : match.holds(value, text)
                }
                switch result {
                case .holds: break
                case .fails: return refusal(.uriMismatch, .uri, context)
                case .unknown(let fact): unknown = unknown ?? fact
                }
            }
        }
        return unknown.map { refusal(unknown: $0, .uri, context) }
    }

    private func headerRefusal(
        _ context: borrowing CATContext,
        _ place: Range<Int>,
        _ facts: RequestFacts
    ) -> GrantRefusal? {
        guard let headers = facts.headers else { return refusal(unknown: .headers, .headers, context) }
        var walker = ItemWalker(context.payload, at: place)
        for _ in 0..<walker.count() {
            let name = context.payload.extracting(walker.string())
            let lines = headers.values(of: String(copying: name))
            guard !lines.isEmpty else { return refusal(.headerMismatch, .headers, context) }
            let value = HeaderRule.value(lines)
            for _ in 0..<walker.count() {
                let match = ValueMatch(rawValue: walker.integer())
                let operand = match == .regex ? walker.firstText() : walker.string()
                let holds =
                    match == .regex
                    ? context.isFound(at: operand, in: value.utf8.span)
                    : match?.holds(value.utf8.span, context.payload.extracting(operand)) ?? false
                guard holds else { return refusal(.headerMismatch, .headers, context) }
            }
        }
        return nil
    }

    /// Compares a fact of the TLS connection with one of the byte strings of a claim.
    private func refusal(
        _ claim: CATClaim,
        _ fact: RequestFact,
        _ value: RequestFacts.TLSFact,
        _ context: borrowing CATContext,
        _ place: Range<Int>
    ) -> GrantRefusal? {
        switch value {
        case .unknown: return refusal(unknown: fact, claim, context)
        case .none: return refusal(.tlsMismatch, claim, context)
        case .value(let bytes):
            var walker = ItemWalker(context.payload, at: place)
            let isNamed = walker.hasString { $0.hasSameBytes(as: bytes.span) }
            return isNamed ? nil : refusal(.tlsMismatch, claim, context)
        }
    }
}
