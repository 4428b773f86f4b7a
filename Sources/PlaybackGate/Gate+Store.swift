// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import MediaTokens
public import Platform
public import ReplayStores

extension Gate {
    /// Calls the store, and waits for at most ``Rules/storeDeadline``; `nil` if there is no answer by then.
    ///
    /// A store that ends its waits by itself needs no separate task. Its call stays on its thread.
    func ask<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
        storeEndsWaits ? await body() : await withDeadline(rules.storeDeadline, body: body)
    }

    /// True if the store ends its waits by itself, within the deadline.
    var storeEndsWaits: Bool { store.longestWait.map { $0 <= rules.storeDeadline } ?? false }

    /// Records a revocation within the deadline of the store. A revocation of a playback frees its slot.
    public func record(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        try await revoke(revocation, at: now)
        // If the store does not answer now, the slot ends by itself.
        if let session = revocation.subject.session { _ = await freeSlot(of: session, at: now) }
    }

    /// Lifts the revocation of a subject in the store and in the cache of this process.
    ///
    /// - Parameter key: The subject's key in stores.
    /// - Returns: False if the subject is not revoked.
    /// - Throws: `ReplayStoreError` if it is unknown whether it was lifted, or the store has no list of revocations.
    package func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        let answer = await ask { [store] () -> Result<Bool, ReplayStoreError> in
            do throws(ReplayStoreError) { return .success(try await store.lift(key, at: now)) } catch {
                return .failure(error)
            }
        }
        guard let answer else { throw ReplayStoreError(.deadline, reason: "the store did not answer in time") }
        return try answer.get()
    }

    /// Returns the revocations in the store that are in force, the oldest first, at most `limit` of them.
    ///
    /// - Throws: `ReplayStoreError` if they cannot be read, or the store has no list of them.
    package func revocations(atMost limit: Int, at now: Timestamp) async throws(ReplayStoreError) -> [RevocationRecord]
    {
        var all: [RevocationRecord] = []
        var cursor: RevocationCursor?
        while all.count < limit {
            let changes = try await store.revocations(after: cursor)
            all += changes.records.filter { !$0.isLifted && !$0.isOver(at: now) }
            guard changes.hasMore, changes.cursor != cursor else { break }
            cursor = changes.cursor
        }
        return Array(all.prefix(limit))
    }

    /// Records a revocation within the deadline of the store.
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let answer = await ask { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.revoke(revocation, at: now)
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, reason: "the store did not answer in time") }
        try answer.get()
    }

    /// Checks within the deadline of the store that it can record uses.
    ///
    /// - Parameter limit: The longest wait, if it is shorter than ``Rules/storeDeadline``.
    public func checkStore(within limit: Duration? = nil) async throws(ReplayStoreError) {
        let check = { @Sendable [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.check()
                return .success(())
            } catch { return .failure(error) }
        }
        let answer =
            if let limit { await withDeadline(min(limit, rules.storeDeadline), body: check) } else { await ask(check) }
        guard let answer else { throw ReplayStoreError(.deadline, reason: "the store did not answer in time") }
        try answer.get()
    }
}

extension Gate {
    /// An answer of the store about a pending use.
    package struct StoreAnswer: Sendable {
        /// The outcome; `nil` if it is unknown.
        fileprivate let outcome: UseOutcome?
        fileprivate let requestedAt: ContinuousClock.Instant
    }

    /// Returns the call of the store that is all that a pending use needs; `nil` if ``complete(_:)`` is required. It is
    /// required if the store cannot call back or does not end its waits by itself. It is also required if more is
    /// needed than the use of a media token.
    package func storeCall(for pending: PendingUse) -> StoreCall? {
        guard store.supportsCallbacks, pending.needsUseOnly, storeEndsWaits else { return nil }
        return StoreCall(gate: self, pending: pending)
    }

    /// The use of a media token that a store decides about without a task.
    package struct StoreCall: Sendable {
        fileprivate let gate: Gate
        fileprivate let pending: PendingUse

        /// Asks the store. Call it once.
        ///
        /// - Parameter receive: Called once, on any thread, possibly before this function returns.
        package func ask(_ receive: @escaping @Sendable (StoreAnswer) -> Void) {
            guard let examined = pending.mediaToken else { preconditionFailure("a grant is used in no such call") }
            let requestedAt = ContinuousClock.now
            gate.store.requestOutcome(of: examined.use, isConsumed: examined.isConsumed) { outcome in
                receive(StoreAnswer(outcome: outcome, requestedAt: requestedAt))
            }
        }

        /// Decides by the answer of the store. Call it once.
        package func decide(_ answer: StoreAnswer) -> Decision {
            let subject = pending.mediaToken?.subject ?? .nothing
            let decision = gate.decision(
                for: answer.outcome,
                isConsumed: pending.mediaToken?.isConsumed ?? true,
                subject: subject,
                request: pending.request,
                playbackID: pending.mediaToken?.start.playbackID,
                at: pending.now
            )
            return gate.finish(decision, of: pending, requestedAt: answer.requestedAt)
        }
    }
}
