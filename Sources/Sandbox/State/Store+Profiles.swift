// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// That somebody has logged in on a device: an authentication of v1, a profile of v2.
struct StoredProfile: Sendable {
    let device: Device
    let requestor: String
    let provider: String
    /// Who; empty where nobody had to say.
    let user: String
    let kind: Profile.Kind
    var issued: Timestamp
    var expires: Timestamp
    /// Names the login in the tokens about it; for temporary access, what that goes by.
    let session: String

    func isExpired(at now: Timestamp) -> Bool { expires <= now }
}

extension Store {
    /// Adds a profile, in place of that which the device had with the provider.
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
            // What one viewer was allowed is not for the next.
            try database.execute(
                sql: "DELETE FROM authorization WHERE device = ? AND requestor = ? AND mvpd = ?",
                arguments: [profile.device.digest, profile.requestor, profile.provider]
            )
        }
    }

    /// The profiles of a device, what was asked for last first, those that have expired a while ago too.
    func profiles(of device: Device, requestor: String) async throws -> [StoredProfile] {
        try await read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM profile WHERE device = ? AND requestor = ? ORDER BY rowid DESC",
                arguments: [device.digest, requestor]
            ).map(StoredProfile.init)
        }
    }

    /// The profile that a long-lived token speaks of.
    func profile(fingerprint: String, requestor: String, provider: String) async throws -> StoredProfile? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM profile WHERE fingerprint = ? AND requestor = ? AND mvpd = ?",
                arguments: [fingerprint, requestor, provider]
            ).map(StoredProfile.init)
        }
    }

    /// Removes the profiles of a device, with what they were allowed; those of all providers where none is named.
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

    /// Lets all profiles end now.
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
