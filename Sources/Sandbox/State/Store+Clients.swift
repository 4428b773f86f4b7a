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
        try await insert(
            into: .client,
            values: [
                client.id, Data(digestOf: secret), Data(client.statement), client.audiences.line,
                client.redirectURIs.line, now.advanced(byMilliseconds: Self.clientLifetime).stored,
            ],
            at: now
        )
    }

    /// Returns the application with that id and, if one is given, that secret.
    func client(_ id: String, secret: String? = nil) async throws -> Client? {
        try await row(
            "SELECT * FROM client WHERE id = ?1 AND (?2 IS NULL OR secret = ?2)",
            arguments: [id, secret.map { Data(digestOf: $0) }]
        )
    }

    /// Returns the applications that have registered a redirect URI, one of each statement.
    func clients(redirectURI: String) async throws -> [Client] {
        try await rows("SELECT * FROM client WHERE redirectURIs = ? GROUP BY statement", arguments: [redirectURI])
    }

    func addAccessToken(_ token: String, of client: Client, expires: Timestamp, at now: Timestamp) async throws {
        try await insert(
            into: .accessToken,
            values: [Data(digestOf: token), client.id, expires.stored, expires.stored],
            at: now
        )
    }

    /// Returns the application of an access token that has not expired.
    func client(withAccessToken token: String, at now: Timestamp) async throws -> Client? {
        try await row(
            """
            SELECT client.* FROM accessToken JOIN client ON client.id = accessToken.client
            WHERE accessToken.token = ? AND accessToken.expires > ?
            """,
            arguments: [Data(digestOf: token), now.stored]
        )
    }
}

extension Client: StoredRow {
    init(_ row: Row) {
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
