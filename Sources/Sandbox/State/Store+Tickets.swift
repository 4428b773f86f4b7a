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

    /// Issues a ticket and returns its secret.
    func issue(_ ticket: Ticket, at now: Timestamp) async throws -> String {
        let secret = RandomText.secret
        let expires = now.advanced(byMilliseconds: Self.ticketLifetime).millisecondsSince1970
        try await write { database in
            try database.prune(.ticket, at: now)
            try database.execute(
                sql: "INSERT INTO ticket VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    Data(digestOf: secret), ticket.purpose.rawValue, ticket.subject, ticket.target, expires, expires,
                    ticket.provider,
                ]
            )
        }
        return secret
    }

    /// Returns a ticket without consuming it.
    func ticket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await read { try $0.ticket(secret, for: purpose, at: now) }
    }

    /// Consumes a ticket and returns it.
    func take(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await write { database in
            guard let ticket = try database.ticket(secret, for: purpose, at: now) else { return nil }
            try database.execute(sql: "DELETE FROM ticket WHERE ticket = ?", arguments: [Data(digestOf: secret)])
            return ticket
        }
    }
}

extension Database {
    fileprivate func ticket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) throws -> Ticket? {
        try Row.fetchOne(
            self,
            sql: "SELECT * FROM ticket WHERE ticket = ? AND purpose = ? AND expires > ?",
            arguments: [Data(digestOf: secret), purpose.rawValue, now.millisecondsSince1970]
        ).map { Ticket(purpose: purpose, subject: $0["subject"], target: $0["target"], provider: $0["mvpd"]) }
    }
}
