// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import MediaTokens
package import Platform
package import PlaybackGate
package import ReplayStores

/// The reference model of what grants need of a store: lists of all leases, uses of grants and revocations.
///
/// The store's time is only known to be within a range: that of the call if the store has its own clock, and up to the latest
/// time that it was given if it has not, because what is over at that time may be deleted. A lease between certainly live and
/// certainly over may count or not.
package struct GrantStoreModel {
    private let traits: StoreModel.Traits
    private var leases: [SessionID: Lease] = [:]
    private var grants: [SHA256Digest: Timestamp] = [:]
    private var revocations: [(key: SHA256Digest, issuedBefore: Timestamp)] = []
    /// The latest time that was passed to the store.
    private var latest = Timestamp(millisecondsSince1970: .min)
    /// The number of answers of the store, by kind.
    package private(set) var answers: [String: Int] = [:]

    /// A lease, with the earliest and the latest time at which it may end.
    private struct Lease {
        let viewer: LeaseKey
        var ends: ClosedRange<Timestamp>
    }

    /// The times that may be the store's during a call.
    package typealias Now = ClosedRange<Timestamp>

    private static let margin: Int64 = 120_000

    package init(_ traits: StoreModel.Traits = StoreModel.Traits()) { self.traits = traits }

    /// The range of the store's time, for a call at `before` that has returned at `after`.
    private mutating func now(from before: Timestamp, to after: Timestamp) -> Now {
        latest = max(latest, after)
        // Two clocks in milliseconds.
        if traits.hasOwnClock { return before.advanced(byMilliseconds: -5)...after.advanced(byMilliseconds: 5) }
        return before...latest
    }

    // MARK: Leases

    private func isLive(_ lease: Lease?, at now: Now) -> (certainly: Bool, possibly: Bool) {
        guard let lease else { return (false, false) }
        return (lease.ends.lowerBound > now.upperBound, lease.ends.upperBound > now.lowerBound)
    }

    private mutating func record(
        _ outcome: LeaseOutcome?,
        of lease: StreamLease,
        life: Int64,
        within now: Now,
        at time: Timestamp
    ) -> String? {
        let own = isLive(leases[lease.session].flatMap { $0.viewer == lease.key ? $0 : nil }, at: now)
        let others = leases.filter { $0.value.viewer == lease.key && $0.key != lease.session }.map {
            isLive($0.value, at: now)
        }
        let (certain, possible) = (others.count(where: \.certainly), others.count(where: \.possibly))
        let start = traits.hasOwnClock ? now : time...time
        let ends = start.lowerBound.advanced(byMilliseconds: life)...start.upperBound.advanced(byMilliseconds: life)
        switch outcome {
        case .taken:
            leases[lease.session] = Lease(viewer: lease.key, ends: ends)
            if own.certainly { return "taken, and the session had a slot" }
            return certain < lease.limit ? nil : "taken, and \(certain) of \(lease.limit) were in use"
        case .renewed:
            guard own.possibly, let present = leases[lease.session]?.ends else { return "renewed, and had no slot" }
            let (lower, upper) = (max(present.lowerBound, ends.lowerBound), max(present.upperBound, ends.upperBound))
            leases[lease.session]?.ends = lower...upper
            return nil
        case .limitReached(let current):
            if own.certainly { return "limit reached, and the session has a slot" }
            let most = possible + (own.possibly ? 1 : 0)
            return current >= lease.limit && certain...most ~= current
                ? nil : "limit reached with \(current), and \(certain) to \(most) are in use"
        case .full:
            let live = leases.values.count { isLive($0, at: now).possibly }
            return traits.capacity.map { live >= $0 } ?? false ? nil : "full, and is not"
        case nil: return "an error"
        }
    }

    private mutating func free(wasLive: Bool?, session: SessionID, at now: Now) -> String? {
        let state = isLive(leases[session], at: now)
        leases[session] = nil
        switch wasLive {
        case true: return state.possibly ? nil : "freed, and had no slot"
        case false: return state.certainly ? "not freed, and had a slot" : nil
        default: return "an error"
        }
    }

    // MARK: Grants

    private mutating func insert(
        _ outcome: GrantUseOutcome?,
        of grant: GrantStoreHistory.GrantIdentity,
        at now: Now
    ) -> String? {
        let isKnown = grants[grant.digest] != nil
        switch outcome {
        case .first:
            grants[grant.digest] = grant.expires
            return isKnown ? "used for the first time again" : nil
        case .replayed:
            if isKnown { return nil }
            // The memory store has a resolution of seconds.
            let until = Self.seconds(grant.expires)
            let mayBeForgotten = grants.values.contains { $0 < latest && Self.seconds($0) >= until }
            return mayBeForgotten && !traits.hasOwnClock ? nil : "replayed, and was not used"
        case .full: return traits.capacity.map { grants.count >= $0 } ?? false ? nil : "full, and is not"
        case nil:
            let end = grant.expires.advanced(byMilliseconds: Self.margin)
            return traits.hasOwnClock && end <= now.upperBound ? nil : "an error"
        }
    }

    private static func seconds(_ time: Timestamp) -> Int64 { (time.millisecondsSince1970 + 999) / 1000 }

    // MARK: Revocations

    /// Compares a refreshed cache with all recorded revocations. All of them concern sessions that may be alive.
    private func compare(_ revocationCache: RevocationCache, with history: GrantStoreHistory) -> String? {
        for subject in history.subjects {
            let key = Revocation(subject, expires: latest).storeKey
            let posted = revocations.filter { $0.key == key }
            if case .playback(let session) = subject {
                if revocationCache.isRevoked(session) == posted.isEmpty { return "\(subject): mirrored wrongly" }
                continue
            }
            for time in history.issueTimes {
                let isRevoked = posted.contains { time < $0.issuedBefore }
                if revocationCache.isRevoked(Self.tag(key), issued: time) != isRevoked {
                    return "\(subject): mirrored wrongly"
                }
            }
        }
        return nil
    }

    /// The tag of a store key in tests.
    package static func tag(_ key: SHA256Digest) -> SubjectTag {
        SubjectTag(bytes: key.bytes.prefix(16)) ?? SubjectTag(high: 0, low: 0)
    }
}

extension GrantStoreModel {
    /// Runs a history with two handles on one store, each with a cache. Returns a description of the first fault.
    ///
    /// - Parameter open: Opens the handle with an index; `nil` for a store that is not reopened.
    package mutating func walk(
        _ history: GrantStoreHistory,
        steps: Int,
        handles: [any ReplayStore],
        open: (() throws -> any ReplayStore)? = nil
    ) async throws -> String? {
        var history = history
        var handles = handles
        var revocationCaches = handles.map { _ in RevocationCache(tag: Self.tag) }
        for number in 0..<steps {
            let step = history.next()
            if case .reopen = step.action {
                if let open { handles[step.handle] = try open() }
                revocationCaches[step.handle] = RevocationCache(tag: Self.tag)
                continue
            }
            let fault = await run(
                step,
                on: handles[step.handle],
                cache: revocationCaches[step.handle],
                history: history
            )
            if let fault { return "step \(number), at \(step.time): \(step.action): \(fault)" }
        }
        return nil
    }

    private mutating func run(
        _ step: GrantStoreHistory.Step,
        on store: any ReplayStore,
        cache revocationCache: RevocationCache,
        history: GrantStoreHistory
    ) async -> String? {
        let time = traits.hasOwnClock ? Timestamp.now() : step.time
        let after = { [traits] in traits.hasOwnClock ? Timestamp.now() : time }
        switch step.action {
        case .acquire(let viewer, let session, let limit, let life):
            let lease = StreamLease(
                viewer,
                session: session,
                limit: limit,
                expires: time.advanced(byMilliseconds: life)
            )
            let outcome = try? await store.acquire(lease, at: time)
            if case .limitReached = outcome { count("limitReached") } else { count("\(outcome, default: "error")") }
            return record(outcome, of: lease, life: life, within: now(from: time, to: after()), at: time)
        case .free(let session):
            let wasLive = try? await store.free(session, at: time)
            count(wasLive ?? false ? "freed" : "not freed")
            return free(wasLive: wasLive, session: session, at: now(from: time, to: after()))
        case .insert(let grant):
            let outcome = try? await store.insert(grant.digest, until: grant.expires, at: time)
            count("\(outcome, default: "error")")
            return insert(outcome, of: grant, at: now(from: time, to: after()))
        case .revoke(let subject, let life):
            let revocation = Revocation(subject, expires: time.advanced(byMilliseconds: life))
            guard (try? await store.revoke(revocation, at: time)) != nil else { return "a revocation was not recorded" }
            _ = now(from: time, to: after())
            count("revoked")
            let record = RevocationRecord(revocation, at: time)
            revocations.append((record.key, record.issuedBefore))
            return nil
        case .refresh:
            guard (try? await revocationCache.refresh(from: store, at: time)) != nil else {
                return "the mirror is not refreshed"
            }
            _ = now(from: time, to: after())
            count("refreshed")
            return compare(revocationCache, with: history)
        case .reopen: return nil
        }
    }

    private mutating func count(_ answer: String) { answers[answer, default: 0] += 1 }
}
