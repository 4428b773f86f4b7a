// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
internal import Encodings

// Sets of claims within claims: `or`, `nor`, `and` and `crit` of the composite claims' draft.

extension ClaimSet {
    /// The claims that are evaluated in a set of a composite: those of a token, and those for checks of its envelope.
    private static let nested: [CATClaim] = [
        .issuer, .version, .audience, .expiration, .notBefore, .methods, .uri, .networks, .headers, .alpn, .clientKey,
        .geohash, .countries, .coordinates, .and, .or, .nor, .critical,
    ]

    func compositeRefusal(
        by composite: CATClaim,
        in context: borrowing CATContext,
        at range: Range<Int>,
        for facts: RequestFacts
    ) -> GrantRefusal? {
        // The first refusal, and the first because of an unknown fact.
        var (first, unknown): (GrantRefusal?, GrantRefusal?)
        var options = context.profile.options
        options.isNested = true
        options.base = range.lowerBound
        do throws(ClaimFault) {
            var reader = ClaimReader(context.payload.extracting(range))
            for _ in 0..<(try reader.array(1...64)) {
                let set: ClaimSet
                do throws(Fault) { set = try ClaimSet(from: &reader, options) } catch { throw error.fault }
                let refusal = set.nestedRefusal(in: context, for: facts)
                switch (composite, refusal) {
                case (.or, nil): return nil
                case (.nor, nil): return set.exclusion(context)
                case (_, .some(let refusal)) where refusal.code == .contextMissing: unknown = unknown ?? refusal
                case (_, .some(let refusal)): first = first ?? refusal
                default: break
                }
            }
        } catch {
            return refusal(error.code, by: composite, in: context)
        }
        switch composite {
        case .or: return unknown ?? first
        // A set that cannot be judged may hold.
        case .nor: return unknown
        default: return first ?? unknown
        }
    }

    private func nestedRefusal(in context: borrowing CATContext, for facts: RequestFacts) -> GrantRefusal? {
        if let unsupported { return GrantRefusal(.claimUnsupported, claim: unsupported) }
        for claim in Self.nested {
            guard let range = self[claim] else { continue }
            if let refusal = refusal(by: claim, at: range, in: context, for: facts) { return refusal }
        }
        return nil
    }

    /// Returns the refusal because this set holds although it must not, with the code of its first restriction.
    private func exclusion(_ context: borrowing CATContext) -> GrantRefusal {
        for claim in Self.nested where self[claim] != nil {
            return refusal(claim.mismatch, by: claim, in: context)
        }
        return refusal(.claimUnsupported, by: .nor, in: context)
    }

    /// Checks that each claim of `crit` is present and evaluated.
    func criticalRefusal(in context: borrowing CATContext, at range: Range<Int>) -> GrantRefusal? {
        var walker = ItemWalker(context.payload, at: range)
        for _ in 0..<walker.count() {
            let (kind, value) = walker.head()
            guard kind == .unsigned || kind == .negative else {
                return refusal(.claimUnsupported, by: .critical, in: context)
            }
            let number = Int64(truncatingIfNeeded: value)
            let label = kind == .negative ? -1 - number : number
            guard let claim = context.profile.labels.claim(label), self[claim] != nil else {
                return GrantRefusal(.claimUnsupported, claim: ClaimLabel(label))
            }
        }
        return nil
    }
}

extension CATClaim {
    /// The code if this restriction does not hold.
    package var mismatch: GrantCode {
        switch self {
        case .issuer: .issuerRefused
        case .version: .versionUnsupported
        case .audience: .audienceMismatch
        case .expiration: .expired
        case .notBefore: .notYetValid
        case .methods: .methodRefused
        case .uri: .uriMismatch
        case .networks: .addressMismatch
        case .headers: .headerMismatch
        case .alpn, .clientKey: .tlsMismatch
        case .geohash, .countries, .coordinates: .locationMismatch
        default: .claimUnsupported
        }
    }
}
