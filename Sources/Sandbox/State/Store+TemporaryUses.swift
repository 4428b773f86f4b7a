// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

/// The earlier uses of temporary access by one identity.
struct TemporaryUse: Sendable {
    /// The time of the first authorization, at which the access starts.
    let started: Timestamp
    /// The digests of the resources that it was used for.
    let resources: Set<Data>
}

extension Store {
    /// The time that temporary access is remembered after its end, in milliseconds.
    private static let useMemory: Int64 = 30 * 86_400_000

    func temporaryUse(_ identity: String, requestor: String, provider: String) async throws -> TemporaryUse? {
        try await write { try $0.temporaryUse(identity, requestor: requestor, provider: provider) }
    }

    /// Uses temporary access for a resource if `isAllowed` returns true for the earlier uses. Both happen in one
    /// transaction, so that concurrent uses see each other.
    ///
    /// - Parameter duration: The duration of the access in milliseconds.
    /// - Returns: The start of the access; `nil` if it is not allowed.
    func useTemporaryAccess(
        _ viewer: Viewer,
        resource: Data,
        duration: Int64,
        at now: Timestamp,
        isAllowed: @escaping @Sendable (TemporaryUse?) -> Bool
    ) async throws -> Timestamp? {
        let (identity, requestor, provider) = (viewer.temporaryIdentity, viewer.requestor.id, viewer.provider.id)
        return try await write { database in
            let use = try database.temporaryUse(identity, requestor: requestor, provider: provider)
            guard isAllowed(use) else { return nil }
            let started = use?.started ?? now
            if use?.resources.contains(resource) != true {
                let forgettable = started.advanced(byMilliseconds: duration + Self.useMemory).stored
                let values: [any DatabaseValueConvertible] = [
                    identity, requestor, provider, resource, started.stored, forgettable,
                ]
                try database.insert(into: .temporaryUse, values: values, at: now)
            }
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
