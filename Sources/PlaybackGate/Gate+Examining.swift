// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
internal import MediaTokens
internal import Platform
internal import ReplayStores

extension Gate {
    enum Examination {
        case decided(Decision)
        case use(ExaminedUse)
        case grant(GrantUse)
        case deferred(DeferredUse)
    }

    /// The use of a token that has passed all checks but the replay store's.
    struct ExaminedUse: Sendable {
        let use: TokenUse
        let entry: Catalogue.Entry
        let signedURI: Decision.SignedURIOutcome?
        /// True if the token is consumed; false if it is only looked up among the revocations.
        let isConsumed: Bool
        /// The playback that the token starts or continues.
        let start: PlaybackStart

        var slot: SlotDemand { start.slot }
        var subject: Decision.Subject { Decision.Subject(entry: entry, token: use.token, signedURI: signedURI) }
    }

    /// The playback that a media token starts or continues.
    struct PlaybackStart: Sendable {
        /// The id of the playback: that of the request, or a random one if the token starts several playbacks with a
        /// slot each. `nil` if the token starts one playback only.
        var playbackID: String?
        /// The slot that the playback needs.
        var slot: SlotDemand
    }

    /// Runs all steps except the replay store. Records nothing.
    func examine(
        _ request: PlaybackRequest,
        finding: Catalogue.Finding,
        fault: DenyCode?,
        grants presentedGrants: PresentedGrants?,
        at now: Timestamp
    ) -> Examination {
        let entry: Catalogue.Entry
        switch finding {
        case .entry(let found): entry = found
        case .unknown: return .decided(refusal(.unknownMedia, subject: .nothing))
        case .invalidPath: return .decided(refusal(.invalidPath, subject: .nothing))
        case .hostMissing: return .decided(refusal(.hostMissing, subject: .nothing))
        }
        var subject = Decision.Subject(entry: entry, token: nil)
        guard entry.permits(request.method) else { return .decided(refusal(.methodNotPermitted, subject: subject)) }
        if case .none = entry.protection {
            return .decided(.allow(Decision.Allowance(reason: .unprotected, subject: subject)))
        }
        var missing = DenyCode.tokenMissing
        var unknownFact: UnknownFact?
        if entry.hasGrants, let grants {
            switch examine(presentedGrants, of: request, for: entry, by: grants, at: now) {
            case .decided(let decision): return decision
            case .refused(let code, let outcome, let fact):
                (subject.signedURI, unknownFact) = (outcome, fact)
                if code != .grant(.missing) || entry.use == .grant { missing = code }
            }
        }
        if entry.use == .grant { return .decided(refusal(missing, subject: subject, unknownFact: unknownFact)) }
        if let fault { return .decided(refusal(fault, subject: subject)) }
        guard let token = request.token, !token.isEmpty else {
            return .decided(refusal(missing, subject: subject, unknownFact: unknownFact))
        }
        // A partial request must not consume the token of the playback, and must not fetch the media without consuming it.
        if request.isPartial, entry.consumesToken(of: request) {
            return .decided(refusal(.rangeNotPermitted, subject: subject))
        }
        if let starter {
            let start = ProviderStart(entry: entry, signedURI: subject.signedURI, starter: starter)
            if let examination = examine(start, of: request, by: token, at: now) { return examination }
        }
        switch entry.verify(token.utf8.span, by: verifier, at: now) {
        case nil: return .decided(refusal(.token(.resourceMismatch), subject: subject))
        case .refused(let refused):
            return .decided(refusal(.token(refused.reason), subject: subject.with(refused.token)))
        case .valid(let token, _):
            return use(of: token, for: entry, signedURI: subject.signedURI, request: request, at: now)
        }
    }

    /// Applies the policies to a verified token. Also gets the outcome of its use, if the store has it without a wait.
    private func use(
        of token: consuming MediaToken,
        for entry: Catalogue.Entry,
        signedURI: Decision.SignedURIOutcome?,
        request: PlaybackRequest,
        at now: Timestamp
    ) -> Examination {
        let policyRefusal = policies.isEmpty ? nil : refusal(of: token, entry)
        let isConsumed = entry.consumesToken(of: request)
        let use = TokenUse(
            token,
            maximumUses: rules.maximumUses,
            playbackID: request.playbackID,
            media: request.target.playedName
        )
        // A start whose grants could not be bound to its player consumes nothing. A probe gets no grant.
        let isStart = isConsumed || entry.use != .once
        let missing = isStart && grants != nil ? entry.grants?.missingFact(of: request.player) : nil
        if let code = policyRefusal ?? missing {
            return .decided(
                refusal(code, subject: Decision.Subject(entry: entry, token: use.token, signedURI: signedURI))
            )
        }
        let isCounted = isStart && (playbacks.hasLimits || entry.hasStreamLimit)
        // Most decisions end here: they need no more than the use.
        if !isCounted, entry.licence == nil,
            let outcome = store.immediateOutcome(of: use, isConsumed: isConsumed, at: now)
        {
            let subject = Decision.Subject(entry: entry, token: use.token, signedURI: signedURI)
            return .decided(
                decision(
                    for: outcome,
                    isConsumed: isConsumed,
                    subject: subject,
                    request: request,
                    playbackID: request.playbackID,
                    at: now
                )
            )
        }
        let start =
            isCounted
            ? start(of: entry, by: use.token, request: request, isConsumed: isConsumed, at: now)
            : PlaybackStart(playbackID: request.playbackID, slot: .none)
        let examined = ExaminedUse(use: use, entry: entry, signedURI: signedURI, isConsumed: isConsumed, start: start)
        return examine(examined, of: request, at: now)
    }

    /// Looks for the slot and the condition of a use. Also gets its outcome, if the store has it without a wait.
    ///
    /// - Parameter proof: The use of the proof of possession, which must be new; `nil` if the token needs none.
    func examine(
        _ use: consuming ExaminedUse,
        of request: PlaybackRequest,
        proof: GrantObligations.Use? = nil,
        at now: Timestamp
    ) -> Examination {
        if let code = use.start.slot.refusal { return .decided(refusal(code, subject: use.subject)) }
        if use.entry.licence != nil, let code = licenceRefusal(of: use, request: request) {
            return .decided(refusal(code, subject: use.subject))
        }
        if let proof { return .deferred(.conditional(use, proof)) }
        guard use.start.slot.needsNoStore,
            let outcome = store.immediateOutcome(of: use.use, isConsumed: use.isConsumed, at: now)
        else { return .use(use) }
        return .decided(
            decision(
                for: outcome,
                isConsumed: use.isConsumed,
                subject: use.subject,
                request: request,
                playbackID: use.start.playbackID,
                at: now
            )
        )
    }

    /// Returns the playback that a token starts or continues.
    private func start(
        of entry: Catalogue.Entry,
        by token: MediaToken,
        request: PlaybackRequest,
        isConsumed: Bool,
        at now: Timestamp
    ) -> PlaybackStart {
        var id = request.playbackID
        if id == nil, rules.maximumUses > 1, isConsumed, limitedTerms(of: entry) != nil {
            // Two starts without an id are two playbacks.
            id = try? RandomBytes.make(16).hexadecimal
            guard id != nil else { return PlaybackStart(slot: .unknown) }
        }
        return PlaybackStart(playbackID: id, slot: slot(of: entry, token, playbackID: id, at: now))
    }

    /// Returns the refusal of the first policy that refuses the token; `nil` if none does.
    func refusal(of token: MediaToken, _ entry: Catalogue.Entry) -> DenyCode? {
        guard let resource = entry.protection.resource else { return .token(.resourceMismatch) }
        for policy in policies {
            if let code = policy.refusal(of: token, for: resource) { return code }
        }
        return nil
    }

    /// Maps the outcome of the store to a decision; `nil` means that the store did not answer.
    ///
    /// A store that answers ``UseOutcome/notRevoked`` about a use to record has not recorded it, so that the use is unknown.
    func decision(
        for outcome: UseOutcome?,
        isConsumed: Bool,
        subject: consuming Decision.Subject,
        request: PlaybackRequest,
        playbackID: String?,
        at now: Timestamp
    ) -> Decision {
        switch outcome {
        case .recorded: allowance(.verified, subject: subject, request: request, playbackID: playbackID, at: now)
        case .notRevoked where !isConsumed:
            switch subject.unconsumedReason(for: request) {
            case .probe: .allow(Decision.Allowance(reason: .probe, subject: subject))
            case let reason: allowance(reason, subject: subject, request: request, playbackID: playbackID, at: now)
            }
        case .repeated: allowance(.repeated, subject: subject, request: request, playbackID: playbackID, at: now)
        case .usedUp: refusal(.tokenAlreadyUsed, subject: subject)
        case .revoked(.token): refusal(.tokenRevoked, subject: subject)
        case .revoked(.session): refusal(.sessionRevoked, subject: subject)
        case .revoked(.mvpd): refusal(.mvpdRevoked, subject: subject)
        // Revokes grants: no store answers so for a media token.
        case .revoked(.playback): refusal(.tokenRevoked, subject: subject)
        case .full: refusal(.replayStoreFull, subject: subject)
        case nil, .notRevoked:
            rules.allowsUnknownUse
                ? allowance(.useUnknown, subject: subject, request: request, playbackID: playbackID, at: now)
                : refusal(.replayStoreUnavailable, subject: subject)
        }
    }

    func refusal(_ code: DenyCode, subject: Decision.Subject, unknownFact: UnknownFact? = nil) -> Decision {
        if rules.isShadow || subject.entry?.isShadow ?? false {
            return .allow(Decision.Allowance(reason: .shadow(code), subject: subject))
        }
        return .refuse(Decision.Refusal(code: code, subject: subject, unknownFact: unknownFact))
    }
}

extension Decision.Subject {
    /// The reason to allow a request whose token is good, and is not consumed.
    fileprivate func unconsumedReason(for request: PlaybackRequest) -> Decision.Allowance.Reason {
        guard entry?.use == .once else { return .withinTTL }
        // A token that starts several playbacks starts one more.
        return token?.terms?.isReusable ?? false && !request.method.isProbe ? .verified : .probe
    }

    /// Returns the subject with a token.
    fileprivate func with(_ token: MediaToken?) -> Self { Self(entry: entry, token: token, signedURI: signedURI) }
}

extension Catalogue.Entry {
    /// True if the request consumes its token: the entry accepts a token once, and the method starts a playback.
    func consumesToken(of request: PlaybackRequest) -> Bool { use == .once && !request.method.isProbe }
}
