// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// An authorization of a device to get media tokens for a resource.
struct StoredAuthorization: Sendable {
    /// The login that it belongs to. The next viewer of the device does not inherit it.
    let profile: StoredProfile
    /// The resource as the client requested it.
    let resource: String
    let source: AuthorizationDecision.Source
    let issued: Timestamp
    let expires: Timestamp

    /// True if it requires a login. Without one there is no stored profile.
    fileprivate var needsLogin: Bool { source != .tempPass && source != .degradation }
}

extension Store {
    private static let sameLogin = "device = ? AND requestor = ? AND mvpd = ? AND session = ?"

    /// Adds an authorization and replaces an earlier one. Does nothing if its login is not the current one of the device.
    func add(_ authorization: StoredAuthorization, at now: Timestamp) async throws {
        try await write { database in
            if authorization.needsLogin {
                let current = "SELECT * FROM profile WHERE \(Self.sameLogin)"
                let found: [StoredProfile] = try database.rows(current, arguments: authorization.profile.key)
                guard !found.isEmpty else { return }
            }
            let profile = authorization.profile
            try database.insert(
                into: .authorization,
                values: [
                    profile.device, profile.requestor, profile.provider, Data(digestOf: authorization.resource),
                    authorization.source.rawValue, authorization.issued.stored, authorization.expires.stored,
                    authorization.expires.forgettable, profile.session,
                ],
                at: now
            )
        }
    }

    /// Returns the authorization for a resource as requested, including an expired one.
    func authorization(of profile: StoredProfile, resource: String) async throws -> StoredAuthorization? {
        let found: Columns? = try await row(
            "SELECT * FROM authorization WHERE \(Self.sameLogin) AND resource = ?",
            arguments: profile.key + [Data(digestOf: resource)]
        )
        return found.map {
            StoredAuthorization(
                profile: profile,
                resource: resource,
                source: $0.source,
                issued: $0.issued,
                expires: $0.expires
            )
        }
    }

    /// The columns that the key of an authorization does not have.
    private struct Columns: StoredRow {
        let source: AuthorizationDecision.Source
        let issued: Timestamp
        let expires: Timestamp

        init(_ row: Row) {
            source = AuthorizationDecision.Source(rawValue: row["source"])
            issued = row.time("issued")
            expires = row.time("expires")
        }
    }

    /// Expires all authorizations now.
    func expireAuthorizations(at now: Timestamp) async throws {
        try await change(
            "UPDATE authorization SET expires = ?1, forgettable = ?2 WHERE expires > ?1",
            arguments: [now.stored, now.forgettable]
        )
    }
}

extension StoredProfile {
    fileprivate var key: StatementArguments { [device, requestor, provider, session] }
}
