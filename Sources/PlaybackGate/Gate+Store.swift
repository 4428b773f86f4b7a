// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

extension Gate {
    /// Records a revocation within the deadline of the store.
    public func record(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> Result<Void, ReplayStoreError> in
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
        let answer = await withDeadline(rules.storeDeadline) { [store] () -> Result<Void, ReplayStoreError> in
            do throws(ReplayStoreError) {
                try await store.check()
                return .success(())
            } catch { return .failure(error) }
        }
        guard let answer else { throw ReplayStoreError(.deadline, "the store did not answer in time") }
        try answer.get()
    }
}
