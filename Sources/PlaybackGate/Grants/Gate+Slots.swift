// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import MediaTokens
public import Platform
internal import ReplayStores
internal import Synchronization

// The slots of playbacks whose viewers may have a limited number of them. A slot belongs to a playback, whatever starts it and
// by whatever profile it goes on. One that cannot be computed refuses: nothing without a slot plays.

extension Gate {
    /// The slot that a request needs.
    enum SlotDemand: Sendable {
        /// The viewer may have any number of playbacks.
        case none
        /// The playback acquires a slot, or prolongs its own.
        case slot(StreamLease, trust: Int64)
        /// The playback has a slot until a time, at the least.
        case held(until: Timestamp)
        /// The playback may not continue: it was ended, or its slot cannot be determined.
        case refused(DenyCode)

        /// The refusal without a store; `nil` if there is none.
        var refusal: DenyCode? { if case .refused(let code) = self { code } else { nil } }

        /// Returns the demand with a slot for the duration of a start only. Later steps prolong the slot or let it
        /// expire. Freeing it could remove the slot of a faster request of the same playback.
        func whileStarting(_ deadline: Duration, at now: Timestamp) -> SlotDemand {
            guard case .slot(let lease, let trust) = self else { return self }
            let end = min(lease.expires, now.advanced(byMilliseconds: deadline.milliseconds + 1000))
            return .slot(StreamLease(lease.key, session: lease.session, limit: lease.limit, expires: end), trust: trust)
        }

        /// A slot that cannot be computed.
        static let unknown = SlotDemand.refused(.grant(.streamLimitReached))

        /// True if no store is needed.
        var needsNoStore: Bool { if case .slot = self { false } else { true } }
    }

    /// The outcome of acquiring a slot.
    enum SlotOutcome: Sendable {
        /// The playback has a slot, until a time at the least; `nil` if it needs none.
        case has(until: Timestamp?)
        /// The request is refused.
        case refused(DenyCode)
        /// The store did not answer.
        case unknown

        /// The refusal of the request; `nil` if it may go on.
        func refusal(allowsUnknown: Bool) -> DenyCode? {
            switch self {
            case .has: nil
            case .refused(let code): code
            case .unknown: allowsUnknown ? nil : .replayStoreUnavailable
            }
        }
    }

    /// Returns the terms of an entry's playbacks, if they are limited; `nil` for any number.
    func limitedTerms(of entry: Catalogue.Entry) -> PlaybackTerms? {
        // Most gates have no limit, and most of the others have them everywhere.
        guard playbacks.hasLimits || entry.hasStreamLimit else { return nil }
        guard let grants, let own = PlaybackTerms(entry) else { return nil }
        let terms = playbacks[entry.tag(by: grants.subjectKey)]?.merging(own) ?? own
        return terms.streamLimit == nil ? nil : terms
    }

    /// Returns the slot of a playback that a media token starts or continues.
    ///
    /// - Parameter playbackID: The id of the playback; `nil` if the token has only one playback.
    func slot(
        of entry: Catalogue.Entry,
        _ token: MediaToken,
        playbackID: String?,
        at now: Timestamp
    ) -> SlotDemand {
        guard var terms = limitedTerms(of: entry), let grants else { return .none }
        if let limit = token.terms?.streamLimit { terms.lowerLimit(to: limit) }
        guard let id = grants.subjectKey.sessionID(fingerprint: token.fingerprint, playbackID: playbackID) else {
            return .unknown
        }
        // One that was ended gets no grants that anybody accepts, and so no slot.
        if let code = grants.revocation(of: id) { return .refused(.grant(code == .shared ? .shared : .sessionEnded)) }
        // Of a token that is not consumed, each request is one of the same playback.
        if entry.use == .withinTTL, let end = slots.end(of: id, at: now) { return .held(until: end) }
        guard let revocability = grants.revocability(token) else { return .unknown }
        return terms.slot(of: id, revocability: revocability, at: now).map { .slot($0, trust: terms.slotTrust) }
            ?? .unknown
    }

    /// Returns the slot of the playback that a grant belongs to. A grant of another installation has none, as its playback was
    /// not started here.
    ///
    /// - Parameter isProlonged: True to call the store also if the slot is known to be held.
    func slot(
        of entry: Catalogue.Entry,
        _ grant: AuthenticGrant,
        isProlonged: Bool,
        at now: Timestamp
    ) -> SlotDemand {
        guard let terms = limitedTerms(of: entry), grant.isOwn else { return .none }
        // Without the tags of the viewer, the grant was issued for an entry without a limit.
        guard let session = grant.base.sessionID, grant.base.tagCount >= 3 else { return .unknown }
        if !isProlonged {
            // A slot was taken when it was issued, and is held for as long.
            guard terms.outliveSlot(grant.base) else { return .none }
            if let end = slots.end(of: session, at: now) { return .held(until: end) }
        }
        return demand(of: terms, for: grant.base.session, at: now)
    }

    /// Returns the slot of the playback that a grant of a backend belongs to.
    private func slot(of session: PlaybackSession, _ protection: ProtectionTag?, at now: Timestamp) -> SlotDemand {
        guard let terms = playbacks[protection], terms.streamLimit != nil else { return .none }
        return demand(of: terms, for: session, at: now)
    }

    private func demand(of terms: PlaybackTerms, for session: PlaybackSession?, at now: Timestamp) -> SlotDemand {
        guard let session, let revocability = session.revocation,
            let lease = terms.slot(of: session.id, revocability: revocability, at: now)
        else { return .unknown }
        return .slot(lease, trust: terms.slotTrust)
    }

    /// Acquires or prolongs a slot.
    func acquireSlot(_ demand: SlotDemand, at now: Timestamp) async -> SlotOutcome {
        let (lease, trust): (StreamLease, Int64)
        switch demand {
        case .none: return .has(until: nil)
        case .held(let end): return .has(until: end)
        case .refused(let code): return .refused(code)
        case .slot(let slot, let time): (lease, trust) = (slot, time)
        }
        let answer = await ask { [store] () -> LeaseOutcome? in
            try? await store.acquire(lease, at: now)
        }
        switch answer ?? nil {
        case .taken, .renewed:
            let end = min(now.advanced(byMilliseconds: trust), lease.expires)
            slots.insert(lease.session, until: end)
            return .has(until: end)
        case .limitReached: return .refused(.grant(.streamLimitReached))
        case .full: return .refused(.replayStoreFull)
        case nil: return .unknown
        }
    }

    /// Acquires or prolongs the slot of a grant that a backend uses.
    func hold(_ demand: SlotDemand, at now: Timestamp) async -> GrantService.LiveOutcome {
        switch await acquireSlot(demand, at: now).refusal(allowsUnknown: rules.allowsUnknownUse) {
        case nil: .good
        case .grant(let code): .refused(GrantRefusal(code))
        default: .unknown
        }
    }

    /// Frees the slot of a session. Returns true if it had one; `nil` if the store did not answer.
    func freeSlot(of session: SessionID, at now: Timestamp) async -> Bool? {
        slots.remove(session)
        let answer = await ask { [store] in
            try? await store.free(session, at: now)
        }
        return answer ?? nil
    }

    /// Ends a playback session: frees its slot and revokes its grants. The next playback in the slot is then the only
    /// one.
    ///
    /// At a gate without limits nothing happens: a revocation ends a playback there.
    ///
    /// - Returns: True if the session had a slot; `nil` if the store did not answer.
    public func end(_ session: SessionID, at now: Timestamp) async -> Bool? {
        // One that is revoked already has its reason.
        let isRevoked = grants?.revocationCache.isRevoked(session) ?? false
        guard playbacks.hasLimits, !isRevoked else { return await freeSlot(of: session, at: now) }
        // The revocation comes first: a freed but unrevoked playback would play beside the next one in the slot.
        let end = now.advanced(byMilliseconds: Revocation.longestSession.milliseconds)
        let revocation = Revocation(.playback(session), expires: end)
        do throws(ReplayStoreError) { try await revoke(revocation, at: now) } catch { return nil }
        grants?.revocationCache.add(revocation, at: now)
        return await freeSlot(of: session, at: now)
    }

    /// Checks a grant that is to be written into the references of a manifest, and prolongs the slot of its playback.
    ///
    /// - Parameters:
    ///   - token: The grant.
    ///   - entry: The entry of the manifest.
    ///   - grants: The authority for grants.
    ///   - now: The time of receipt.
    package func check(
        _ token: String,
        ofManifest entry: Catalogue.Entry,
        by grants: GrantService,
        at now: Timestamp
    ) async -> GrantService.LiveOutcome {
        var slot = SlotDemand.unknown
        let outcome = grants.check(token, of: entry, allowsUnknown: rules.allowsUnknownUse, at: now) { grant in
            slot = self.slot(of: entry, grant, isProlonged: true, at: now)
        }
        guard case .good = outcome else { return outcome }
        return await hold(slot, at: now)
    }

    /// Returns the outcome of a backend's request; a refusal if its playback has lost its slot and gets no other.
    func prolonged(
        _ outcome: GrantService.BackendOutcome,
        protection: ProtectionTag?,
        at now: Timestamp
    ) async -> GrantService.BackendOutcome {
        guard case .issued(let grant) = outcome else { return outcome }
        switch await hold(slot(of: grant.session, protection, at: now), at: now) {
        case .good: return outcome
        case .refused(let refusal): return .refused(refusal)
        case .unknown: return .unknown
        }
    }
}

/// The slots that a gate knows to be held, so that requests by grants that outlive slots do not call the store each
/// time. The store decides about all others: a slot that is not listed here may still be held.
final class KnownSlots: Sendable {
    private let shards: [Shard]

    private final class Shard: Sendable {
        let ends = Mutex<[SessionID: Timestamp]>([:])
    }

    /// The maximum number of slots in a shard.
    private static let capacity = 4096

    init() { shards = (0..<16).map { _ in Shard() } }

    /// Returns the time until which a session is known to have its slot; `nil` if that is past or not known.
    func end(of session: SessionID, at now: Timestamp) -> Timestamp? {
        shard(session).ends.withLock { ends in ends[session].flatMap { now < $0 ? $0 : nil } }
    }

    func insert(_ session: SessionID, until end: Timestamp) {
        shard(session).ends.withLock { ends in
            // Whichever are forgotten, the store knows them.
            if ends.count >= Self.capacity { ends.removeAll(keepingCapacity: true) }
            ends[session] = end
        }
    }

    func remove(_ session: SessionID) {
        shard(session).ends.withLock { _ = $0.removeValue(forKey: session) }
    }

    private func shard(_ session: SessionID) -> Shard { shards[Int(truncatingIfNeeded: session.low & 15)] }
}
