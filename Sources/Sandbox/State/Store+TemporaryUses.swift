// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

/// What is known of temporary access that was used before.
struct TemporaryUse: Sendable {
    /// When its time began: at the first authorization.
    let started: Timestamp
    /// The digests of the resources that it was used for.
    let resources: Set<Data>
}

extension Store {
    /// For how long temporary access stays used up, once its time is over.
    private static let useMemory: Int64 = 30 * 86_400_000

    func temporaryUse(_ identity: String, requestor: String, provider: String) async throws -> TemporaryUse? {
        try await read { try $0.temporaryUse(identity, requestor: requestor, provider: provider) }
    }

    /// Uses temporary access for a resource where `isAllowed` says so, which sees what was used before: of two uses at
    /// once, each knows the other.
    ///
    /// - Parameter duration: For how long it is good, in milliseconds.
    /// - Returns: When its time began; nil where it is not allowed.
    func useTemporaryAccess(
        _ identity: String,
        requestor: String,
        provider: String,
        resource: Data,
        duration: Int64,
        at now: Timestamp,
        isAllowed: @escaping @Sendable (TemporaryUse?) -> Bool
    ) async throws -> Timestamp? {
        try await write { database in
            let use = try database.temporaryUse(identity, requestor: requestor, provider: provider)
            guard isAllowed(use) else { return nil }
            let started = use?.started ?? now
            try database.prune(.temporaryUse, at: now)
            try database.execute(
                sql: "INSERT OR IGNORE INTO temporaryUse VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    identity, requestor, provider, resource, started.millisecondsSince1970,
                    started.millisecondsSince1970 + duration + Self.useMemory,
                ]
            )
            return started
        }
    }
}

extension Database {
    fileprivate func temporaryUse(_ identity: String, requestor: String, provider: String) throws -> TemporaryUse? {
        let rows = try Row.fetchAll(
            self,
            sql: "SELECT * FROM temporaryUse WHERE identity = ? AND requestor = ? AND mvpd = ?",
            arguments: [identity, requestor, provider]
        )
        guard let started = rows.map({ $0.time("started") }).min() else { return nil }
        return TemporaryUse(started: started, resources: Set(rows.map { $0["resource"] }))
    }
}
