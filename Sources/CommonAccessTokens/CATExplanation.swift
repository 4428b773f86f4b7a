// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import Keys

/// The claims of a token, each with its outcome for a request. It explains to people why a token is refused.
public struct CATExplanation: Sendable {
    /// The verdict, as of a check.
    public let verdict: GrantVerdict
    /// The key that made the token; `nil` if it is not authentic.
    public let key: TokenKey?
    /// The claims in the order of the token; empty if it is not authentic, or its claims are malformed.
    public let claims: [ExplainedClaim]
}

extension CATVerifier {
    /// Checks a token for a request, and reports the result for each claim. No claim of a token that is not authentic
    /// is reported.
    ///
    /// - Parameters:
    ///   - token: The token as presented, at most ``maximumSize`` characters.
    ///   - facts: The facts of the request.
    ///   - now: The time of receipt.
    public func explain(_ token: Span<UInt8>, for facts: RequestFacts, at now: Timestamp) -> CATExplanation {
        let verdict = verify(token, for: facts, at: now)
        var buffer = [UInt8](repeating: 0, count: COSEText.bufferSize)
        var output = buffer.mutableSpan
        guard case .success(let count) = COSEText.decode(token, into: &output) else {
            return CATExplanation(verdict: verdict, key: nil, claims: [])
        }
        let bytes = output.span.extracting(first: count)
        guard case .verified(let key, let range) = settings.keys.verify(cose: bytes, format: .cat, at: now),
            let profile = settings.profiles.first(where: { $0.issuer.name == key.issuer })
        else { return CATExplanation(verdict: verdict, key: nil, claims: []) }
        let explained = ClaimExplainer(settings: settings, profile: profile, now: now.millisecondsSince1970)
        let claims = explained.claims(of: bytes.extracting(range), presentedAs: token, for: facts)
        return CATExplanation(verdict: verdict, key: key, claims: claims)
    }
}

/// An explainer of the claims of one token.
struct ClaimExplainer {
    let settings: CATVerifier.Settings
    let profile: CATVerifier.Profile
    let now: Int64

    func claims(of payload: Span<UInt8>, presentedAs token: Span<UInt8>, for facts: RequestFacts) -> [ExplainedClaim] {
        let options = profile.issuer.options
        var explained: [ExplainedClaim] = []
        do throws(ClaimSet.Fault) {
            var reader = ClaimReader(payload)
            let set = try ClaimSet(from: &reader, options)
            let patterns = reader.compiledPatterns(payload)
            let context = CATContext(
                payload: payload,
                patterns: patterns,
                profile: profile,
                settings: settings,
                now: now
            )
            for entry in ClaimExplainer.entries(payload) {
                let (outcome, refusal) = outcome(of: entry, in: set, context: context, presentedAs: token, for: facts)
                explained.append(
                    ExplainedClaim(
                        label: entry.label,
                        name: entry.label.map { options.labels.meaning(of: ClaimLabel($0)).description } ?? entry.name,
                        outcome: outcome,
                        refusal: refusal,
                        value: CBORDiagnostic.text(payload.extracting(entry.value))
                    )
                )
            }
        } catch {
            return []
        }
        return explained
    }

    /// An entry of the payload.
    private struct Entry {
        let label: Int64?
        let name: String
        let value: Range<Int>
    }

    private static func entries(_ payload: Span<UInt8>) -> [Entry] {
        var entries: [Entry] = []
        do throws(ClaimFault) {
            var reader = ClaimReader(payload)
            for _ in 0..<(try reader.map(0...256)) {
                let key = try reader.next()
                let start = reader.position
                try reader.skip()
                var name = ""
                if case .text(let range) = key { name = String(copying: payload.extracting(range)) }
                entries.append(Entry(label: key.integer, name: name, value: start..<reader.position))
            }
        } catch {
            return entries
        }
        return entries
    }

    private func outcome(
        of entry: Entry,
        in set: ClaimSet,
        context: borrowing CATContext,
        presentedAs token: Span<UInt8>,
        for facts: RequestFacts
    ) -> (ExplainedClaim.Outcome, GrantRefusal?) {
        let options = profile.issuer.options
        guard let label = entry.label, let claim = options.claim(label) else {
            let isUnsettled = entry.label.map { CATLabels.unsettled ~= $0 } ?? false
            guard isUnsettled, let label = entry.label else { return (.ignored, nil) }
            return (.fail, GrantRefusal(.claimUnsupported, claim: ClaimLabel(label)))
        }
        if ClaimSet.isUnsupported(claim, value: context.payload.extracting(entry.value), options: options) {
            return (.fail, set.refusal(.claimUnsupported, by: claim, in: context))
        }
        var refusal: GrantRefusal?
        switch claim {
        case .subject, .issuedAt, .identifier, .answerData, .answers: return (.ignored, nil)
        case .session, .revocation, .protection, .profile, .generation, .possession: return (.notEvaluated, nil)
        case .sessionEnd: return (Int64(set.sessionEnd ?? 0) * 1000 > now ? .pass : .fail, nil)
        case .replay, .rejection:
            if let refusal = set.unmetObligation(context), refusal.claim == claim.label { return (.fail, refusal) }
            return (claim == .replay && set.replay == 0 ? .pass : .notEvaluated, nil)
        case .renewal:
            guard case .malformed = set.renewal else { return (.notEvaluated, nil) }
            let isOwn = profile.issuer.isOwn
            return isOwn ? (.fail, set.refusal(.renewalInvalid, by: claim, in: context)) : (.ignored, nil)
        case .confirmation:
            var obligations = GrantObligations()
            refusal = set.proofRefusal(
                in: context,
                at: entry.value,
                presentedAs: token,
                for: facts,
                addingTo: &obligations
            )
        default: refusal = set.refusal(by: claim, at: entry.value, in: context, for: facts)
        }
        guard let refusal else { return (.pass, nil) }
        return (refusal.code == .contextMissing ? .notEvaluated : .fail, refusal)
    }
}

extension ClaimReader {
    /// Compiles the patterns that were read; unsupported ones are left out.
    func compiledPatterns(_ payload: Span<UInt8>) -> [LocatedPattern] {
        var compiled: [LocatedPattern] = []
        for index in 0..<patterns.count {
            let range = patterns.ranges[index]
            guard let pattern = try? Pattern(payload.extracting(range)) else { continue }
            compiled.append(LocatedPattern(start: range.lowerBound, pattern: pattern))
        }
        return compiled
    }
}
