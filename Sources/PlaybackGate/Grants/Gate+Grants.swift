// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import MediaTokens
public import Platform
internal import ReplayStores
internal import RequestTargets
internal import URISigning

// The part of a decision that concerns grants. An acceptable grant decides before the media token is looked at, so a reload
// of a manifest consumes nothing.

extension Gate {
    /// The result of looking at the grants of a request.
    enum GrantExamination {
        case decided(Examination)
        /// No grant allows the request; a media token may. The outcome is that of the signed URIs; `nil` without any.
        /// The fact is unknown and needed by a restriction; `nil` for another reason of refusal.
        case refused(DenyCode, Decision.SignedURIOutcome?, UnknownFact? = nil)
    }

    /// A request that a grant allows after the store has recorded the uses that the grant demands.
    struct GrantUse: Sendable {
        let accepted: GrantService.Acceptance
        let subject: Decision.Subject
        /// The path of the request, percent-encoded in normal form.
        let path: Substring
        /// True if the grant is due for renewal, and the answer may deliver the new one to the player.
        let isRenewing: Bool
        /// True if no renewal is due, and the new grant tells its holder apart from others.
        let isChallenged: Bool
        /// The slot without which the request is refused.
        let slot: SlotDemand
        /// The records of a licence, which the store must not have yet.
        let licence: [GrantObligations.Use]
    }

    /// Examines the grants of a request.
    func examine(
        _ presentedGrants: PresentedGrants?,
        of request: PlaybackRequest,
        for entry: Catalogue.Entry,
        by grants: GrantService,
        at now: Timestamp
    ) -> GrantExamination {
        guard let presentedGrants else { return .refused(.grant(.missing), nil) }
        var subject = Decision.Subject(entry: entry, token: nil)
        let accepted: GrantService.Acceptance
        switch grants.check(presentedGrants, of: entry, at: now) {
        case .refused(let refusal, let code):
            return .refused(
                .grant(refusal.code),
                code.map { .refused($0) },
                refusal.fact.map(presentedGrants.facts.unknown)
            )
        case .unknown(let unknown):
            subject.signedURI = unknown.grant.format == .uriSigning ? .unknown : nil
            guard rules.allowsUnknownUse else {
                return .decided(.decided(refusal(.replayStoreUnavailable, subject: subject)))
            }
            accepted = unknown
        case .accepted(let known): accepted = known
        }
        subject.signedURI = accepted.grant.format == .uriSigning ? .allowed : nil
        let slot = slot(of: entry, accepted.grant, isProlonged: false, at: now)
        if let code = slot.refusal { return .refused(code, subject.signedURI) }
        let obligations = accepted.obligations
        let isDemanded =
            grants.leaks != nil && grants.countUse(of: accepted, among: presentedGrants, for: request, at: now)
        let isRenewing =
            (obligations.isRenewalDue || isDemanded) && request.method.isRenewing
            && presentedGrants.canReplace(accepted)
        var licence: [GrantObligations.Use] = []
        if let use = entry.licence {
            switch condition(use, of: entry, for: accepted.grant.base, keys: request.player?.keys, at: now) {
            case .refused(let code): return .decided(.decided(refusal(code, subject: subject)))
            case .uses(let uses): licence = uses
            }
        }
        let needsNoStore = obligations.use == nil && obligations.proofUse == nil && licence.isEmpty
        if needsNoStore, !isRenewing, slot.needsNoStore {
            return .decided(.decided(allowance(by: accepted.grant, subject: subject, slot: slot)))
        }
        let use = GrantUse(
            accepted: accepted,
            subject: subject,
            path: presentedGrants.facts.uri.path,
            isRenewing: isRenewing,
            isChallenged: isRenewing && !obligations.isRenewalDue,
            slot: slot,
            licence: licence
        )
        if needsNoStore, slot.needsNoStore, limitedTerms(of: entry) == nil {
            return .decided(.decided(renewed(use, at: now)))
        }
        return .decided(.grant(use))
    }

    /// Calls the store for the obligations of a grant, and decides.
    func complete(_ use: GrantUse, at now: Timestamp) async -> Decision {
        let obligations = use.accepted.obligations
        let slot = await acquireSlot(use.slot, at: now)
        if let code = slot.refusal(allowsUnknown: rules.allowsUnknownUse) { return refusal(code, subject: use.subject) }
        for demand in [obligations.proofUse, obligations.use].compactMap(\.self) {
            let isFirst = await insert(demand, at: now)
            // If the store is down, nobody can tell whether it was used: no setting allows it then.
            guard isFirst else {
                var subject = use.subject
                if subject.signedURI != nil { subject.signedURI = .refused(.replayed) }
                return refusal(.grant(.replayed), subject: subject)
            }
        }
        if let code = await record(licence: use.licence, at: now) { return refusal(code, subject: use.subject) }
        var held = use.slot
        if case .has(let end?) = slot { held = .held(until: end) }
        guard use.isRenewing, let entry = use.subject.entry else {
            return allowance(by: use.accepted.grant, subject: use.subject, slot: held)
        }
        if case .held = held { return renewed(use, at: now) }
        // A renewal that the limit or the store prevents refuses nothing: the grant is good until it expires.
        switch await acquireSlot(self.slot(of: entry, use.accepted.grant, isProlonged: true, at: now), at: now) {
        case .has: return renewed(use, at: now)
        case .refused, .unknown: return allowance(by: use.accepted.grant, subject: use.subject, slot: held)
        }
    }

    private func allowance(by grant: AuthenticGrant, subject: Decision.Subject, slot: SlotDemand) -> Decision {
        let access = GrantedAccess.accepted(GrantedAccess.AcceptedGrant(grant: grant.base))
        var allowance = Decision.Allowance(reason: .granted, subject: subject, access: access)
        if case .held(let end) = slot { allowance.slotEnd = end }
        return .allow(allowance)
    }

    private func renewed(_ use: GrantUse, at now: Timestamp) -> Decision {
        guard let entry = use.subject.entry,
            let grant = grants?.renew(
                use.accepted.grant,
                of: entry,
                path: use.path,
                isChallenge: use.isChallenged,
                at: now
            )
        else { return allowance(by: use.accepted.grant, subject: use.subject, slot: use.slot) }
        return .allow(Decision.Allowance(reason: .renewed, subject: use.subject, access: .issued([grant])))
    }

    // MARK: Issue

    /// Allows a playback, and issues its grants.
    ///
    /// - Parameter playbackID: The id of the playback; `nil` if the token has only one playback.
    func allowance(
        _ reason: Decision.Allowance.Reason,
        subject: consuming Decision.Subject,
        request: PlaybackRequest,
        playbackID: String?,
        at now: Timestamp
    ) -> Decision {
        // A token gets licences while it lives, and its grants only where it is consumed.
        guard let grants, let entry = subject.entry, entry.hasGrants, entry.licence == nil, let token = subject.token
        else {
            return .allow(Decision.Allowance(reason: reason, subject: subject))
        }
        let isLimited = limitedTerms(of: entry) != nil
        let issued = grants.issue(
            for: entry,
            session: { rules in
                guard reason != .useUnknown || rules.coversUnverified else { return nil }
                return grants.session(of: token, playbackID: playbackID, under: rules, isLimited: isLimited, at: now)
            },
            path: request.target.normalPath,
            player: request.player,
            at: now
        )
        let access = issued.isEmpty ? nil : GrantedAccess.issued(issued)
        var allowance = Decision.Allowance(reason: reason, subject: subject, access: access)
        // The next request of the playback prolongs its slot.
        if isLimited { allowance.slotEnd = now }
        return .allow(allowance)
    }

    // MARK: Backends

    /// Exchanges a grant as ``GrantService/exchange(_:of:target:for:player:allowsUnknown:at:)`` does, and prolongs the slot of its
    /// playback. It needs no second slot: both grants are of one session.
    ///
    /// - Returns: A refusal by `stream_limit_reached` if the playback has lost its slot to others.
    public func exchange(
        _ token: String,
        of entry: Catalogue.Entry,
        target: PlaybackRequest.Target,
        for profile: GrantProfile,
        player: PlaybackRequest.Player?,
        by grants: GrantService,
        at now: Timestamp
    ) async -> GrantService.BackendOutcome {
        let outcome = grants.exchange(
            token,
            of: entry,
            target: target,
            for: profile,
            player: player,
            allowsUnknown: rules.allowsUnknownUse,
            at: now
        )
        return await prolonged(outcome, protection: entry.tag(by: grants.subjectKey), at: now)
    }

    /// Renews a live grant of this installation in its window, and prolongs the slot of its playback. It serves players
    /// that cannot see response headers.
    ///
    /// - Parameters:
    ///   - token: The grant as the player has it. It must be of a playback of the catalogue.
    ///   - grants: The authority for grants.
    ///   - now: The time of receipt.
    /// - Returns: A refusal by `stream_limit_reached` if the playback has lost its slot to others.
    public func renew(
        _ token: String,
        by grants: GrantService,
        at now: Timestamp
    ) async -> GrantService.BackendOutcome {
        let (outcome, protection) = grants.renew(
            token,
            of: playbacks,
            allowsUnknown: rules.allowsUnknownUse,
            at: now
        )
        return await prolonged(outcome, protection: protection, at: now)
    }

    /// Inserts an identifier that may be used once. Returns true if the store has recorded the first use.
    func insert(_ use: GrantObligations.Use, at now: Timestamp) async -> Bool {
        await insertion(of: use, at: now) == .first
    }

    /// Inserts an identifier that may be used once. Returns the answer of the store; `nil` if there is none.
    func insertion(of use: GrantObligations.Use, at now: Timestamp) async -> GrantUseOutcome? {
        let answer = await ask { [store] () -> GrantUseOutcome? in
            try? await store.insert(use.key, until: use.until, at: now)
        }
        return answer ?? nil
    }
}

extension PresentedGrants {
    /// True if an answer can deliver a renewed grant in the way that the grant demands.
    fileprivate func canReplace(_ accepted: GrantService.Acceptance) -> Bool {
        guard case .signedURI(let grant) = accepted.grant, grant.renewal?.transport == .query else { return true }
        return isRedirectable(accepted.index)
    }
}

extension PlaybackRequest.Method {
    /// True if an answer to a request of this method may deliver a renewed grant to the player.
    package var isRenewing: Bool { self == .get || self == .head }
}

extension PlaybackRequest.Target {
    /// The path in normal form, percent-encoded; `nil` for a media id.
    var normalPath: Substring? {
        switch self {
        case .media: nil
        case .path(let requested): RequestURI(requested)?.path
        }
    }
}
