// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessTokens
internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform
internal import ReplayStores

// The part of a decision that concerns tokens of identity providers. Once one is verified, it is the proof of an authorization
// as a media token is: the same policies, limits, stores and grants follow.

extension Gate {
    /// The start of a playback by a token of an identity provider.
    struct ProviderStart: Sendable {
        let entry: Catalogue.Entry
        let signedURI: Decision.SignedURIOutcome?
        let starter: PlaybackStarter
    }

    /// The work before the use of a token. Indirect, so that other decisions stay small.
    indirect enum DeferredUse: Sendable {
        /// A server must say what the token means.
        case introspection(ProviderStart)
        /// The proof of possession must be new.
        case conditional(ExaminedUse, GrantObligations.Use)
    }

    /// Examines a token of an identity provider; `nil` if it is a media token.
    func examine(
        _ start: ProviderStart,
        of request: PlaybackRequest,
        by token: Substring,
        at now: Timestamp
    ) -> Examination? {
        let (starter, bytes) = (start.starter, token.utf8.span)
        switch starter.demand(of: bytes) {
        case .mediaToken: return nil
        case .accessToken:
            let outcome = starter.verify(bytes, for: start.entry, presenting: request.player?.proof, at: now)
            return examine(outcome, for: start, of: request, at: now)
        case .introspection:
            guard let answer = starter.introspector?.known(token, at: now) else {
                return .deferred(.introspection(start))
            }
            let outcome = starter.verify(
                answer,
                of: bytes,
                for: start.entry,
                presenting: request.player?.proof,
                at: now
            )
            return examine(outcome, for: start, of: request, at: now)
        }
    }

    /// Waits for a server or for the store, and decides.
    func complete(_ deferred: DeferredUse, of request: PlaybackRequest, at now: Timestamp) async -> Decision {
        switch deferred {
        case .introspection(let start): return await introspect(start, of: request, at: now)
        case .conditional(let use, let proof):
            guard await insert(proof, at: now) else {
                return refusal(.accessToken(.proofReplayed), subject: use.subject)
            }
            return await complete(use, for: request, at: now)
        }
    }

    /// Asks the server of an opaque token, and decides.
    private func introspect(_ start: ProviderStart, of request: PlaybackRequest, at now: Timestamp) async -> Decision {
        let starter = start.starter
        let subject = Decision.Subject(entry: start.entry, token: nil, signedURI: start.signedURI)
        guard let token = request.token, let answer = await starter.introspector?.introspect(token, at: now) else {
            return refusal(.accessToken(.introspectionUnavailable), subject: subject)
        }
        let proof = request.player?.proof
        let outcome = starter.verify(answer, of: token.utf8.span, for: start.entry, presenting: proof, at: now)
        switch examine(outcome, for: start, of: request, at: now) {
        case .decided(let decision): return decision
        case .use(let examined): return await complete(examined, for: request, at: now)
        case .deferred(let deferred): return await complete(deferred, of: request, at: now)
        case .grant: return refusal(.accessToken(.internalFailure), subject: subject)
        }
    }

    /// Applies policies and limits to a verified token. The store decides about its use.
    private func examine(
        _ outcome: PlaybackStarter.Verification,
        for start: ProviderStart,
        of request: PlaybackRequest,
        at now: Timestamp
    ) -> Examination {
        let entry = start.entry
        var subject = Decision.Subject(entry: entry, token: nil, signedURI: start.signedURI)
        let (token, proofUse): (MediaToken, GrantObligations.Use?)
        switch outcome {
        case .refused(let code): return .decided(refusal(.accessToken(code), subject: subject))
        case .valid(let proof, let use): (token, proofUse) = (proof, use)
        }
        subject = Decision.Subject(entry: entry, token: token, signedURI: start.signedURI)
        let isReusable = token.terms?.isReusable ?? false
        let isConsumed = entry.consumesToken(of: request) && !isReusable
        let isStart = entry.consumesToken(of: request) || entry.use != .once
        let missing = isStart && grants != nil ? entry.grants?.missingFact(of: request.player) : nil
        if let code = refusal(of: token, entry) ?? missing { return .decided(refusal(code, subject: subject)) }
        var playback = PlaybackStart(playbackID: request.playbackID, slot: .none)
        if isStart {
            // Each start by a reusable token is a playback of its own, unless its requests cannot be told apart.
            if isReusable, entry.use == .once, playback.playbackID == nil {
                playback.playbackID = try? RandomBytes.make(16).hexadecimal
                guard playback.playbackID != nil else {
                    return .decided(refusal(.accessToken(.internalFailure), subject: subject))
                }
            }
            playback.slot = slot(of: entry, token, playbackID: playback.playbackID, at: now)
        }
        let examined = ExaminedUse(
            use: TokenUse(token, playbackID: request.playbackID, media: request.target.playedName),
            entry: entry,
            signedURI: start.signedURI,
            isConsumed: isConsumed,
            start: playback
        )
        return examine(examined, of: request, proof: isStart ? proofUse : nil, at: now)
    }
}
