// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

/// What lets a browser, or a platform, do one thing once.
struct Ticket: Sendable {
    let purpose: Purpose
    /// The code of a session, or whom it is about.
    let subject: String
    /// Where to go in the end.
    let target: String?
    /// The provider that a login began with; nil where there is none.
    var provider: String?

    enum Purpose: String, Sendable {
        /// To log in for a session.
        case login
        /// To log in for a session on the pages that say SAML.
        case samlLogin
        /// To say who has logged in.
        case samlResponse
        /// To log out at a provider.
        case logout
        /// To say who is signed in on a platform.
        case platform
    }
}

extension Store {
    /// For how long a ticket is good.
    private static let ticketLifetime: Int64 = 10 * 60_000

    /// Issues a ticket, and returns what names it.
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

    /// Looks at a ticket, which stays good.
    func ticket(_ secret: String, for purpose: Ticket.Purpose, at now: Timestamp) async throws -> Ticket? {
        try await read { try $0.ticket(secret, for: purpose, at: now) }
    }

    /// Takes a ticket: nobody can again.
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
