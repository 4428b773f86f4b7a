// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

/// A login in progress: a session of REST API v2, a registration code of v1.
struct LoginSession: Sendable {
    /// The code that a second screen sends.
    var code = RandomText.code
    var id = RandomText.uuid
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
        try await insert(
            into: .session,
            values: [
                session.code, session.id, session.requestor, session.device, session.client, session.provider,
                session.domain, session.redirect, session.created.stored, session.expires.stored,
                session.state.rawValue, session.expires.forgettable,
            ],
            at: now
        )
    }

    /// Returns the session of a requestor with that code, if it has not expired.
    func session(_ code: String, of requestor: String, at now: Timestamp) async throws -> LoginSession? {
        try await row(
            "SELECT * FROM session WHERE code = ? AND requestor = ? AND expires > ?",
            arguments: [code.uppercased(), requestor, now.stored]
        )
    }

    /// Returns the open session of a ticket and its provider.
    func session(of ticket: Ticket, at now: Timestamp) async throws -> LoginSession? {
        try await row(
            "SELECT * FROM session WHERE code = ? AND expires > ? AND state = 'open' AND mvpd = ?",
            arguments: [ticket.subject, now.stored, ticket.provider]
        )
    }

    /// Updates an open session. Values that are already set stay, so that the code does not suffice to redirect a
    /// viewer.
    ///
    /// - Returns: False if the session is no longer open or has another provider. Of two concurrent attempts to finish a
    ///   login, one succeeds.
    func update(_ session: LoginSession) async throws -> Bool {
        try await change(
            """
            UPDATE session SET mvpd = coalesce(mvpd, ?1), domain = coalesce(domain, ?2),
                redirect = coalesce(redirect, ?3), state = ?4
            WHERE code = ?5 AND state = 'open' AND (mvpd IS NULL OR mvpd = ?1)
            """,
            arguments: [session.provider, session.domain, session.redirect, session.state.rawValue, session.code]
        ) == 1
    }

    /// Removes a session. Returns false if there is none.
    func removeSession(_ code: String, of requestor: String) async throws -> Bool {
        try await change(
            "DELETE FROM session WHERE code = ? AND requestor = ?",
            arguments: [code.uppercased(), requestor]
        ) == 1
    }
}

extension LoginSession: StoredRow {
    init(_ row: Row) {
        code = row["code"]
        id = row["id"]
        requestor = row["requestor"]
        device = row["device"]
        client = row["client"]
        provider = row["mvpd"]
        domain = row["domain"]
        redirect = row["redirect"]
        created = row.time("created")
        expires = row.time("expires")
        state = State(rawValue: row["state"]) ?? .cancelled
    }
}

/// A one-time permission for a browser or a platform.
struct Ticket: Sendable {
    let purpose: Purpose
    /// The code of a session; for a logout the provider's id, for a platform the user's name.
    let subject: String
    /// The redirect target; for a SAML response the user's name, for a platform the provider's id.
    let target: String?
    /// The provider of the login; `nil` if there is none.
    var provider: String?

    enum Purpose: String, Sendable {
        /// A login for a session.
        case login
        /// A login for a session on the SAML pages.
        case samlLogin
        /// A SAML response that names the user.
        case samlResponse
        /// A logout at a provider.
        case logout
        /// A SAML response of a platform that names its user.
        case platform
    }
}

extension Store {
    /// The lifetime of a ticket in milliseconds.
    private static let ticketLifetime: Int64 = 10 * 60_000

    private static let valid = "FROM ticket WHERE ticket = ? AND purpose = ? AND expires > ?"

    /// Issues a ticket and returns its secret.
    func issue(_ ticket: Ticket, at now: Timestamp) async throws -> String {
        let secret = RandomText.secret
        let expires = now.advanced(byMilliseconds: Self.ticketLifetime)
        try await insert(
            into: .ticket,
            values: [
                Data(digestOf: secret), ticket.purpose.rawValue, ticket.subject, ticket.target, expires.stored,
                expires.stored, ticket.provider,
            ],
            at: now
        )
        return secret
    }

    /// Returns a ticket without consuming it.
    func ticket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await row("SELECT * \(Self.valid)", arguments: [Data(digestOf: secret), purpose.rawValue, now.stored])
    }

    /// Consumes a ticket and returns it.
    func consumeTicket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await write { database in
            let arguments: StatementArguments = [Data(digestOf: secret), purpose.rawValue, now.stored]
            let found: [Ticket] = try database.rows("SELECT * \(Self.valid)", arguments: arguments)
            try database.execute(sql: "DELETE \(Self.valid)", arguments: arguments)
            return found.first
        }
    }
}

extension Ticket: StoredRow {
    init(_ row: Row) {
        purpose = Purpose(rawValue: row["purpose"]) ?? .login
        subject = row["subject"]
        target = row["target"]
        provider = row["mvpd"]
    }
}
