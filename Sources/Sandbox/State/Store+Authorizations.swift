// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// An authorization of a device to get media tokens for a resource.
struct StoredAuthorization: Sendable {
    let device: Device
    let requestor: String
    let provider: String
    /// The login that it belongs to. The next viewer of the device does not inherit it.
    let session: String
    /// The resource as the client requested it.
    let resource: String
    let source: AuthorizationDecision.Source
    let issued: Timestamp
    let expires: Timestamp
}

extension Store {
    /// Adds an authorization and replaces an earlier one. Does nothing if its login is not the current one of the device.
    func add(_ authorization: StoredAuthorization, at now: Timestamp) async throws {
        try await write { database in
            try database.prune(.authorization, at: now)
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO authorization SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
                    WHERE ?10 OR EXISTS (
                        SELECT 1 FROM profile WHERE device = ?1 AND requestor = ?2 AND mvpd = ?3 AND session = ?9
                    )
                    """,
                arguments: [
                    authorization.device.digest, authorization.requestor, authorization.provider,
                    Data(digestOf: authorization.resource), authorization.source.rawValue,
                    authorization.issued.millisecondsSince1970, authorization.expires.millisecondsSince1970,
                    authorization.expires.forgettable, authorization.session, !authorization.source.needsLogin,
                ]
            )
        }
    }

    /// Returns the authorization for a resource as requested, including an expired one.
    func authorization(
        of profile: StoredProfile,
        resource: String
    ) async throws -> StoredAuthorization? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: """
                    SELECT * FROM authorization
                    WHERE device = ? AND requestor = ? AND mvpd = ? AND resource = ? AND session = ?
                    """,
                arguments: [
                    profile.device.digest, profile.requestor, profile.provider, Data(digestOf: resource),
                    profile.session,
                ]
            ).map { row in
                StoredAuthorization(
                    device: profile.device,
                    requestor: profile.requestor,
                    provider: profile.provider,
                    session: profile.session,
                    resource: resource,
                    source: AuthorizationDecision.Source(rawValue: row["source"]),
                    issued: row.time("issued"),
                    expires: row.time("expires")
                )
            }
        }
    }

    /// Expires all authorizations now.
    func expireAuthorizations(at now: Timestamp) async throws {
        try await write { database in
            try database.execute(
                sql: "UPDATE authorization SET expires = ?1, forgettable = ?2 WHERE expires > ?1",
                arguments: [now.millisecondsSince1970, now.forgettable]
            )
        }
    }
}

extension AuthorizationDecision.Source {
    /// True if decisions of this source require a login. Without one there is no stored profile.
    fileprivate var needsLogin: Bool { self != .tempPass && self != .degradation }
}

extension StoredAuthorization {
    /// Creates the authorization of a viewer for a resource.
    init(
        _ viewer: Viewer,
        resource: String,
        source: AuthorizationDecision.Source,
        from start: Timestamp,
        to end: Timestamp
    ) {
        device = viewer.profile.device
        requestor = viewer.requestor.id
        provider = viewer.provider.id
        session = viewer.profile.session
        self.resource = resource
        self.source = source
        issued = start
        expires = end
    }
}
