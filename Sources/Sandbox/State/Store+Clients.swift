// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import FoundationEssentials
internal import GRDB
internal import Platform

/// A registered application.
struct Client: Sendable {
    let id: String
    /// The SHA-256 of its software statement.
    let statement: [UInt8]
    /// The audiences of that statement.
    let audiences: [String]
    let redirectURIs: [String]
}

extension Store {
    /// The time that a registered application stays known, in milliseconds.
    private static let clientLifetime: Int64 = 365 * 86_400_000

    func add(_ client: Client, secret: String, at now: Timestamp) async throws {
        try await write { database in
            try database.prune(.client, at: now)
            try database.execute(
                sql: "INSERT INTO client VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    client.id, Data(digestOf: secret), Data(client.statement), client.audiences.line,
                    client.redirectURIs.line, now.millisecondsSince1970 + Self.clientLifetime,
                ]
            )
        }
    }

    /// Returns the application with that id and secret.
    func client(_ id: String, secret: String) async throws -> Client? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM client WHERE id = ? AND secret = ?",
                arguments: [id, Data(digestOf: secret)]
            ).map(Client.init)
        }
    }

    func client(_ id: String) async throws -> Client? {
        try await read { database in
            try Row.fetchOne(database, sql: "SELECT * FROM client WHERE id = ?", arguments: [id]).map(Client.init)
        }
    }

    func addAccessToken(_ token: String, of client: Client, expires: Timestamp, at now: Timestamp) async throws {
        try await write { database in
            try database.prune(.accessToken, at: now)
            try database.execute(
                sql: "INSERT INTO accessToken VALUES (?, ?, ?, ?)",
                arguments: [
                    Data(digestOf: token), client.id, expires.millisecondsSince1970, expires.millisecondsSince1970,
                ]
            )
        }
    }

    /// Returns the application of an access token that has not expired.
    func client(withAccessToken token: String, at now: Timestamp) async throws -> Client? {
        try await read { database in
            try Row.fetchOne(
                database,
                sql: """
                    SELECT client.* FROM accessToken JOIN client ON client.id = accessToken.client
                    WHERE accessToken.token = ? AND accessToken.expires > ?
                    """,
                arguments: [Data(digestOf: token), now.millisecondsSince1970]
            ).map(Client.init)
        }
    }
}

extension Client {
    fileprivate init(_ row: Row) {
        let digest: Data = row["statement"]
        id = row["id"]
        statement = [UInt8](digest)
        audiences = [String](line: row["audiences"])
        redirectURIs = [String](line: row["redirectURIs"])
    }
}

extension [String] {
    /// These texts in one column, separated by line ends.
    fileprivate var line: String { joined(separator: "\n") }

    fileprivate init(line: String) { self = line.split(separator: "\n").map { String($0) } }
}
