// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
internal import MediaTokens
public import Platform

// The part of a decision that concerns grants. An acceptable grant decides before the media token is looked at, so a reload
// of a manifest consumes nothing.

extension Gate {
    /// The result of looking at the grants of a request.
    enum GrantExamination {
        case decided(Examination)
        /// No grant allows the request; a media token may. The outcome is that of the signed URIs; `nil` without any.
        case refused(DenyCode, Decision.SignedURIOutcome?)
    }

    /// A request that a grant allows once the store has recorded what the grant demands.
    struct GrantUse: Sendable {
        let accepted: GrantAuthority.Acceptance
        let subject: Decision.Subject
        /// The path of the request, percent-encoded in normal form.
        let path: Substring
        /// True if the grant is due to be renewed, and the answer may hand the new one to the player.
        let isRenewing: Bool
    }

    /// Examines the grants of a request.
    func examine(
        _ shown: ShownGrants?,
        _ method: PlaybackRequest.Method,
        _ entry: Catalogue.Entry,
        _ grants: GrantAuthority,
        at now: Timestamp
    ) -> GrantExamination {
        guard let shown else { return .refused(.grant(.missing), nil) }
        var subject = Decision.Subject(entry: entry, token: nil)
        let accepted: GrantAuthority.Acceptance
        switch grants.check(shown, of: entry, at: now) {
        case .refused(let refusal, let code):
            return .refused(.grant(refusal.code), code.map { .refused($0) })
        case .unknown(let unknown):
            subject.signedURI = unknown.grant.format == .uriSigning ? .unknown : nil
            guard rules.allowsUnknownUse else { return .decided(.decided(refusal(.replayStoreUnavailable, subject))) }
            accepted = unknown
        case .accepted(let known): accepted = known
        }
        subject.signedURI = accepted.grant.format == .uriSigning ? .allowed : nil
        let obligations = accepted.obligations
        let isRenewing = obligations.isRenewalDue && method.isRenewing && shown.canReplace(accepted)
        let needsNoStore = obligations.use == nil && obligations.proofUse == nil
        if needsNoStore, !isRenewing { return .decided(.decided(granted(accepted.grant, subject))) }
        let use = GrantUse(accepted: accepted, subject: subject, path: shown.facts.uri.path, isRenewing: isRenewing)
        if needsNoStore, entry.grants?.streamLimit == nil { return .decided(.decided(renewed(use, at: now))) }
        return .decided(.grant(use))
    }

    /// Asks the store for what a grant demands, and decides.
    func complete(_ use: GrantUse, _ now: Timestamp) async -> Decision {
        let obligations = use.accepted.obligations
        for demand in [obligations.proofUse, obligations.use].compactMap(\.self) {
            let isFirst = await insert(demand, at: now)
            // If the store is down, nobody can tell whether it was used: no setting allows it then.
            guard isFirst else {
                var subject = use.subject
                if subject.signedURI != nil { subject.signedURI = .refused(.replayed) }
                return refusal(.grant(.replayed), subject)
            }
        }
        guard use.isRenewing else { return granted(use.accepted.grant, use.subject) }
        guard let lease = lease(of: use, at: now) else { return renewed(use, at: now) }
        // A renewal that the limit or the store prevents refuses nothing: the grant is good until it expires.
        switch await take(lease, at: now) {
        case .known(.taken), .known(.renewed): return renewed(use, at: now)
        case .known, .unknown, nil: return granted(use.accepted.grant, use.subject)
        }
    }

    private func granted(_ grant: AuthenticGrant, _ subject: Decision.Subject) -> Decision {
        let access = GrantedAccess.accepted(GrantedAccess.AcceptedGrant(grant: grant.base))
        return .allow(Decision.Allowance(reason: .granted, subject: subject, access: access))
    }

    private func renewed(_ use: GrantUse, at now: Timestamp) -> Decision {
        guard let entry = use.subject.entry,
            let grant = grants?.renew(use.accepted.grant, of: entry, path: use.path, at: now)
        else { return granted(use.accepted.grant, use.subject) }
        return .allow(Decision.Allowance(reason: .renewed, subject: use.subject, access: .issued([grant])))
    }

    // MARK: Issue

    /// Allows a playback, and issues its grants.
    func allowance(
        _ reason: Decision.Allowance.Reason,
        _ subject: consuming Decision.Subject,
        _ request: PlaybackRequest,
        _ now: Timestamp
    ) -> Decision {
        guard let grants, let entry = subject.entry, entry.hasGrants, let token = subject.token else {
            return .allow(Decision.Allowance(reason: reason, subject: subject))
        }
        let issued = grants.issue(
            entry,
            { rules in
                guard reason != .useUnknown || rules.coversUnverified else { return nil }
                return grants.session(token, playbackID: request.playbackID, rules, at: now)
            },
            path: request.target.normalPath,
            player: request.player,
            at: now
        )
        let access = issued.isEmpty ? nil : GrantedAccess.issued(issued)
        return .allow(Decision.Allowance(reason: reason, subject: subject, access: access))
    }

    // MARK: Slots

    /// The outcome of taking a slot. ``unknown`` means that the store did not answer.
    enum SlotOutcome: Sendable {
        case known(LeaseOutcome)
        case unknown

        func refusal(allowsUnknown: Bool) -> DenyCode? {
            switch self {
            case .known(.taken), .known(.renewed): nil
            case .known(.limitReached): .grant(.streamLimitReached)
            case .known(.full): .replayStoreFull
            case .unknown: allowsUnknown ? nil : .replayStoreUnavailable
            }
        }
    }

    /// Returns the slot that a playback takes; `nil` if its viewer may have any number.
    func lease(
        of entry: Catalogue.Entry,
        _ token: MediaToken,
        _ request: PlaybackRequest,
        at now: Timestamp
    ) -> StreamLease? {
        // Without a limit, no session is made for nothing.
        guard let grants, let terms = entry.grants, terms.streamLimit != nil, let profile = terms.profiles.first,
            let session = grants.session(token, playbackID: request.playbackID, profile.rules, at: now)
        else { return nil }
        return terms.lease(of: session, requestor: token.requestorID, at: now)
    }

    private func lease(of use: GrantUse, at now: Timestamp) -> StreamLease? {
        guard let terms = use.subject.entry?.grants, let session = use.accepted.grant.base.session else { return nil }
        return terms.lease(of: session, requestor: use.subject.requestor ?? "", at: now)
    }

    private func lease(of grant: IssuedGrant, at now: Timestamp) -> StreamLease? {
        guard let entry = catalogue.entry(of: grant), let terms = entry.grants else { return nil }
        return terms.lease(of: grant.session, requestor: entry.protection.requestor ?? "", at: now)
    }

    /// Exchanges a grant as ``GrantAuthority/exchange(_:of:_:for:player:allowsUnknown:at:)`` does, and prolongs the slot of its
    /// playback. It takes no second one: both grants are of one session.
    ///
    /// - Returns: A refusal by `stream_limit_reached` if the playback has lost its slot to others.
    public func exchange(
        _ token: String,
        of entry: Catalogue.Entry,
        _ target: PlaybackRequest.Target,
        for profile: GrantProfile,
        player: PlaybackRequest.Player?,
        by grants: GrantAuthority,
        at now: Timestamp
    ) async -> GrantAuthority.BackendOutcome {
        let outcome = grants.exchange(
            token,
            of: entry,
            target,
            for: profile,
            player: player,
            allowsUnknown: rules.allowsUnknownUse,
            at: now
        )
        guard case .issued(let grant) = outcome else { return outcome }
        let requestor = entry.protection.requestor ?? ""
        return await prolonged(outcome, entry.grants?.lease(of: grant.session, requestor: requestor, at: now), at: now)
    }

    /// Renews a grant as ``GrantAuthority/renew(_:_:allowsUnknown:at:)`` does, and prolongs the slot of its playback.
    ///
    /// - Returns: A refusal by `stream_limit_reached` if the playback has lost its slot to others.
    public func renew(
        _ token: String,
        _ profiles: [GrantProfile],
        by grants: GrantAuthority,
        at now: Timestamp
    ) async -> GrantAuthority.BackendOutcome {
        let outcome = grants.renew(token, profiles, allowsUnknown: rules.allowsUnknownUse, at: now)
        guard case .issued(let grant) = outcome else { return outcome }
        return await prolonged(outcome, lease(of: grant, at: now), at: now)
    }

    /// Returns the outcome of a backend's request, or a refusal if the playback has no slot any more and gets none.
    private func prolonged(
        _ outcome: GrantAuthority.BackendOutcome,
        _ lease: StreamLease?,
        at now: Timestamp
    ) async -> GrantAuthority.BackendOutcome {
        guard let slot = await take(lease, at: now) else { return outcome }
        switch slot.refusal(allowsUnknown: rules.allowsUnknownUse) {
        case nil: return outcome
        case .grant(let code): return .refused(GrantRefusal(code))
        default: return .unknown
        }
    }

    func take(_ lease: StreamLease?, at now: Timestamp) async -> SlotOutcome? {
        guard let lease else { return nil }
        let answer = await ask { [grantStore] () -> LeaseOutcome? in
            try? await grantStore?.take(lease, at: now)
        }
        return (answer ?? nil).map { .known($0) } ?? .unknown
    }

    /// Frees the slot of a playback that did not start. If the store does not answer, the slot ends by itself.
    func free(_ session: SessionID?, at now: Timestamp) async {
        if let session { _ = await end(session, at: now) }
    }

    /// Ends a playback session: frees its slot. Its grants are good until they expire; a revocation ends them.
    ///
    /// - Returns: True if the session had a slot; `nil` if the store did not answer.
    public func end(_ session: SessionID, at now: Timestamp) async -> Bool? {
        let answer = await ask { [grantStore] in
            try? await grantStore?.free(session, at: now)
        }
        return answer ?? nil
    }

    /// Inserts what may be used once. Returns true if the store has recorded the first use.
    func insert(_ use: GrantObligations.Use, at now: Timestamp) async -> Bool {
        let answer = await ask { [grantStore] () -> GrantUseOutcome? in
            try? await grantStore?.insert(use.key, until: use.until, at: now)
        }
        return answer == .first
    }
}

extension Catalogue.Entry.GrantTerms {
    /// The limit of concurrent playbacks: that of the first profile with one.
    var streamLimit: Int? {
        for profile in profiles { if let limit = profile.rules.streamLimit { return limit } }
        return nil
    }

    /// Returns the slot of a session, taken or prolonged at `now`; `nil` without a limit, or without tags in the session. It
    /// ends ten seconds after the longest-lived grant.
    fileprivate func lease(of session: PlaybackSession, requestor: String, at now: Timestamp) -> StreamLease? {
        guard let limit = streamLimit, let key = GrantAuthority.leaseKey(session, requestor: requestor) else {
            return nil
        }
        let life = profiles.map { $0.rules.life.milliseconds }.max() ?? 0
        let end = now.advanced(byMilliseconds: life + 10_000)
        return StreamLease(key, session: session.id, limit: limit, expires: end)
    }
}

extension ShownGrants {
    /// True if an answer can hand over a renewed grant in the way that the grant demands.
    fileprivate func canReplace(_ accepted: GrantAuthority.Acceptance) -> Bool {
        guard case .signedURI(let grant) = accepted.grant, grant.renewal?.transport == .query else { return true }
        return isRedirectable(accepted.place)
    }
}

extension PlaybackRequest.Method {
    /// True if an answer to a request of this method may hand a renewed grant to the player.
    var isRenewing: Bool { self == .get || self == .head }
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

extension Catalogue {
    /// Returns an entry whose playbacks get such grants: that of the grant's paths, otherwise one of a media id; `nil` if there
    /// is none.
    fileprivate func entry(of grant: IssuedGrant) -> Entry? {
        let host = grant.profile.rules.host.flatMap { HostName($0[...])?.text } ?? ""
        if case .entry(let entry) = find(grant.scope[...], host: host[...]), entry.hands(grant) { return entry }
        return firstMedia { $0.hands(grant) }
    }
}

extension Catalogue.Entry {
    fileprivate func hands(_ grant: IssuedGrant) -> Bool {
        grants?.profiles.contains(grant.profile) ?? false && scope(grant.profile, path: grant.scope[...]) == grant.scope
    }
}
