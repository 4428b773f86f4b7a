// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import GRDB
internal import Platform

/// A login of a viewer on a device: an authentication of v1, a profile of v2.
struct StoredProfile: Sendable {
    let device: Device
    let requestor: String
    let provider: String
    /// The user's name; empty if no login was required.
    let user: String
    let kind: Profile.Kind
    var issued: Timestamp
    var expires: Timestamp
    /// The id of the login in tokens; for temporary access, the identity that it is bound to.
    let session: String

    func isExpired(at now: Timestamp) -> Bool { expires <= now }
}

extension Store {
    /// Adds a profile and replaces that of the same device, requestor and provider.
    func add(_ profile: StoredProfile, at now: Timestamp) async throws {
        try await write { database in
            try database.insert(
                into: .profile,
                values: [
                    profile.device, profile.requestor, profile.provider, profile.user, profile.kind.rawValue,
                    profile.issued.stored, profile.expires.stored, profile.session, profile.device.fingerprint,
                    profile.expires.forgettable,
                ],
                at: now
            )
            // The next viewer does not inherit authorizations.
            try database.execute(
                sql: "DELETE FROM authorization WHERE device = ? AND requestor = ? AND mvpd = ?",
                arguments: [profile.device, profile.requestor, profile.provider]
            )
        }
    }

    /// Returns the profiles of a device, newest first, including those that expired recently.
    func profiles(of device: Device, requestor: String) async throws -> [StoredProfile] {
        try await rows(
            "SELECT * FROM profile WHERE device = ? AND requestor = ? ORDER BY rowid DESC",
            arguments: [device, requestor]
        )
    }

    /// Returns the current profile of the device, requestor and provider of a long-lived token.
    func profile(of token: LongLivedToken) async throws -> StoredProfile? {
        try await row(
            "SELECT * FROM profile WHERE fingerprint = ? AND requestor = ? AND mvpd = ?",
            arguments: [token.fingerprint, token.requestor, token.provider]
        )
    }

    /// Removes and returns the profiles of a device, with their authorizations. `nil` as the provider stands for all
    /// providers.
    @discardableResult
    func removeProfiles(of device: Device, requestor: String, provider: String?) async throws -> [StoredProfile] {
        try await write { database in
            let condition = "WHERE device = ?1 AND requestor = ?2 AND (?3 IS NULL OR mvpd = ?3)"
            let arguments: StatementArguments = [device, requestor, provider]
            let removed: [StoredProfile] = try database.rows("SELECT * FROM profile \(condition)", arguments: arguments)
            for table in ["profile", "authorization"] {
                try database.execute(sql: "DELETE FROM \(table) \(condition)", arguments: arguments)
            }
            return removed
        }
    }

    /// Expires all profiles now.
    func expireProfiles(at now: Timestamp) async throws {
        try await change(
            "UPDATE profile SET expires = ?1, forgettable = ?2 WHERE expires > ?1",
            arguments: [now.stored, now.forgettable]
        )
    }
}

extension StoredProfile: StoredRow {
    init(_ row: Row) {
        device = row["device"]
        requestor = row["requestor"]
        provider = row["mvpd"]
        user = row["user"]
        kind = Profile.Kind(rawValue: row["kind"])
        issued = row.time("issued")
        expires = row.time("expires")
        session = row["session"]
    }
}
