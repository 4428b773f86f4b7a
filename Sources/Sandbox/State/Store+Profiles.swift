// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
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
            try database.prune(.profile, at: now)
            try database.execute(
                sql: "INSERT OR REPLACE INTO profile VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    profile.device.digest, profile.requestor, profile.provider, profile.user, profile.kind.rawValue,
                    profile.issued.millisecondsSince1970, profile.expires.millisecondsSince1970, profile.session,
                    profile.device.fingerprint, profile.expires.forgettable,
                ]
            )
            // The next viewer does not inherit authorizations.
            try database.execute(
                sql: "DELETE FROM authorization WHERE device = ? AND requestor = ? AND mvpd = ?",
                arguments: [profile.device.digest, profile.requestor, profile.provider]
            )
        }
    }

    /// Returns the profiles of a device, newest first, including those that expired recently.
    func profiles(of device: Device, requestor: String) async throws -> [StoredProfile] {
        try await read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM profile WHERE device = ? AND requestor = ? ORDER BY rowid DESC",
                arguments: [device.digest, requestor]
            ).map(StoredProfile.init)
        }
    }

    /// Returns the profile that a long-lived token refers to.
    func profile(fingerprint: String, requestor: String, provider: String) async throws -> StoredProfile? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM profile WHERE fingerprint = ? AND requestor = ? AND mvpd = ?",
                arguments: [fingerprint, requestor, provider]
            ).map(StoredProfile.init)
        }
    }

    /// Removes and returns the profiles of a device, with their authorizations. `nil` as the provider stands for all
    /// providers.
    func removeProfiles(of device: Device, requestor: String, provider: String?) async throws -> [StoredProfile] {
        try await write { database in
            let condition = "device = ? AND requestor = ?" + (provider == nil ? "" : " AND mvpd = ?")
            var arguments: StatementArguments = [device.digest, requestor]
            if let provider { arguments += [provider] }
            let removed = try Row.fetchAll(
                database,
                sql: "SELECT * FROM profile WHERE \(condition)",
                arguments: arguments
            ).map(StoredProfile.init)
            try database.execute(sql: "DELETE FROM profile WHERE \(condition)", arguments: arguments)
            try database.execute(sql: "DELETE FROM authorization WHERE \(condition)", arguments: arguments)
            return removed
        }
    }

    /// Expires all profiles now.
    func expireProfiles(at now: Timestamp) async throws {
        try await write { database in
            try database.execute(
                sql: "UPDATE profile SET expires = min(expires, ?1), forgettable = ?2 WHERE expires > ?1",
                arguments: [now.millisecondsSince1970, now.forgettable]
            )
        }
    }
}

extension StoredProfile {
    fileprivate init(_ row: Row) {
        device = Device(digest: row["device"])
        requestor = row["requestor"]
        provider = row["mvpd"]
        user = row["user"]
        kind = Profile.Kind(rawValue: row["kind"])
        issued = row.time("issued")
        expires = row.time("expires")
        session = row["session"]
    }
}
