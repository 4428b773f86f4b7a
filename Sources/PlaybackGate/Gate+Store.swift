// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

extension Gate {
    /// Asks the store, and waits for at most ``Rules/storeDeadline``; `nil` if there is no answer by then.
    ///
    /// A store that ends its waits by itself needs no task beside the call, and so keeps it on its thread.
    func ask<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
        storeEndsWaits ? await body() : await withDeadline(rules.storeDeadline, body)
    }

    /// True if the store ends its waits by itself, within the deadline.
    var storeEndsWaits: Bool { store.longestWait.map { $0 <= rules.storeDeadline } ?? false }

    /// Records a revocation within the deadline of the store. That of a playback frees its slot.
    public func record(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        try await revoke(revocation, at: now)
        // If the store does not answer now, the slot ends by itself.
        if case .playback(let session) = revocation.subject { _ = await freeSlot(of: session, at: now) }
    }

    /// Records a revocation within the deadline of the store.
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let answer = await ask { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.revoke(revocation, at: now)
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, "the store did not answer in time") }
        try answer.get()
    }

    /// Checks within the deadline of the store that it can record uses.
    public func checkStore() async throws(ReplayStoreError) {
        let answer = await ask { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.check()
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, "the store did not answer in time") }
        try answer.get()
    }
}
