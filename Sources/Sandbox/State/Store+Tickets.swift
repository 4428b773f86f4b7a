// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

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
            .ticket,
            [
                Data(digestOf: secret), ticket.purpose.rawValue, ticket.subject, ticket.target, ticket.provider,
                expires.stored,
            ],
            forgettable: expires,
            at: now
        )
        return secret
    }

    /// Returns a ticket without consuming it.
    func ticket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await row("SELECT * \(Self.valid)", [Data(digestOf: secret), purpose.rawValue, now.stored])
    }

    /// Consumes a ticket and returns it.
    func take(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await write { database in
            let arguments: StatementArguments = [Data(digestOf: secret), purpose.rawValue, now.stored]
            let found: [Ticket] = try database.rows("SELECT * \(Self.valid)", arguments)
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
