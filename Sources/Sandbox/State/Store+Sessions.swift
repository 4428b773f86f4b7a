// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// A login in progress: a session of REST API v2, a registration code of v1.
struct LoginSession: Sendable {
    /// The code that a second screen sends.
    let code: String
    let id: String
    let requestor: String
    let device: Device
    /// The application that began the login.
    let client: String?
    var provider: String?
    var domain: String?
    var redirect: String?
    let created: Timestamp
    let expires: Timestamp
    var state = State.open

    enum State: String, Sendable {
        case open, done, cancelled
    }
}

extension Store {
    func add(_ session: LoginSession, at now: Timestamp) async throws {
        try await write { database in
            try database.prune(.session, at: now)
            try database.execute(
                sql: "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    session.code, session.id, session.requestor, session.device.digest, session.client,
                    session.provider, session.domain, session.redirect, session.created.millisecondsSince1970,
                    session.expires.millisecondsSince1970, session.state.rawValue,
                    session.expires.forgettable,
                ]
            )
        }
    }

    /// Returns the session with that code, if it has not expired.
    func session(_ code: String, at now: Timestamp) async throws -> LoginSession? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM session WHERE code = ? AND expires > ?",
                arguments: [code.uppercased(), now.millisecondsSince1970]
            ).map(LoginSession.init)
        }
    }

    /// Updates an open session. Values that are already set stay, so that the code alone cannot redirect a viewer.
    ///
    /// - Returns: False if the session is no longer open or has another provider. Of two concurrent attempts to finish a
    ///   login, one succeeds.
    func update(_ session: LoginSession) async throws -> Bool {
        try await write { database in
            try database.execute(
                sql: """
                    UPDATE session SET mvpd = coalesce(mvpd, ?1), domain = coalesce(domain, ?2),
                        redirect = coalesce(redirect, ?3), state = ?4
                    WHERE code = ?5 AND state = 'open' AND (mvpd IS NULL OR mvpd = ?1)
                    """,
                arguments: [
                    session.provider, session.domain, session.redirect, session.state.rawValue, session.code,
                ]
            )
            return database.changesCount == 1
        }
    }

    /// Removes a session. Returns false if there is none.
    func removeSession(_ code: String, of requestor: String) async throws -> Bool {
        try await write { database in
            try database.execute(
                sql: "DELETE FROM session WHERE code = ? AND requestor = ?",
                arguments: [code.uppercased(), requestor]
            )
            return database.changesCount == 1
        }
    }
}

extension LoginSession {
    fileprivate init(_ row: Row) {
        code = row["code"]
        id = row["id"]
        requestor = row["requestor"]
        device = Device(digest: row["device"])
        client = row["client"]
        provider = row["mvpd"]
        domain = row["domain"]
        redirect = row["redirect"]
        created = row.time("created")
        expires = row.time("expires")
        state = State(rawValue: row["state"]) ?? .cancelled
    }
}

/// A device, identified by the SHA-256 of its name. It is the same in every version of the API.
struct Device: Hashable, Sendable {
    let digest: Data

    init(_ name: String) { self.init([UInt8](name.utf8)) }

    /// Creates a device from a name that need not be valid text.
    init(_ name: [UInt8]) { digest = Data(SHA256.digest([UInt8]("device ".utf8) + name)) }

    init(digest: Data) { self.digest = digest }

    /// The digest in hexadecimal.
    var name: String { digest.hexadecimal }

    /// The name of the device in long-lived tokens: 40 hexadecimal digits.
    var fingerprint: String { digest.prefix(20).hexadecimal }
}
