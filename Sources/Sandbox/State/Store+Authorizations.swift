// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import GRDB
internal import MediaTokens

/// That a device may have media tokens for a resource.
struct StoredAuthorization: Sendable {
    let device: Device
    let requestor: String
    let provider: String
    /// As it was asked for.
    let resource: String
    let source: AuthorizationDecision.Source
    let issued: Timestamp
    let expires: Timestamp
}

extension Store {
    /// Adds an authorization, in place of an earlier one.
    func add(_ authorization: StoredAuthorization, at now: Timestamp) async throws {
        try await write { database in
            try database.prune(.authorization, at: now)
            try database.execute(
                sql: "INSERT OR REPLACE INTO authorization VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    authorization.device.digest, authorization.requestor, authorization.provider,
                    Data(digestOf: authorization.resource), authorization.source.rawValue,
                    authorization.issued.millisecondsSince1970, authorization.expires.millisecondsSince1970,
                    authorization.expires.forgettable,
                ]
            )
        }
    }

    /// The authorization for a resource as it was asked for, expired ones too.
    func authorization(
        of profile: StoredProfile,
        resource: String
    ) async throws -> StoredAuthorization? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM authorization WHERE device = ? AND requestor = ? AND mvpd = ? AND resource = ?",
                arguments: [profile.device.digest, profile.requestor, profile.provider, Data(digestOf: resource)]
            ).map { row in
                StoredAuthorization(
                    device: profile.device,
                    requestor: profile.requestor,
                    provider: profile.provider,
                    resource: resource,
                    source: AuthorizationDecision.Source(rawValue: row["source"]),
                    issued: row.time("issued"),
                    expires: row.time("expires")
                )
            }
        }
    }

    /// Lets all authorizations end now.
    func expireAuthorizations(at now: Timestamp) async throws {
        try await write { database in
            try database.execute(
                sql: "UPDATE authorization SET expires = ?1, forgettable = ?2 WHERE expires > ?1",
                arguments: [now.millisecondsSince1970, now.forgettable]
            )
        }
    }
}
