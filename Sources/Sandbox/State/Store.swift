// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// What the stand-in remembers: in memory, or in a file that outlives it. No secret is kept as it is, only its SHA-256.
final class Store: Sendable {
    let database: DatabaseQueue

    /// How many rows a table may have. The oldest go.
    static let rowLimit = 50_000

    /// For how long what has expired is still known, so that it can be told from what never was.
    static let memory: Int64 = 86_400_000

    /// - Parameter path: The file; nil for memory.
    init(path: String?) throws {
        var configuration = Configuration()
        configuration.label = "playgate.sandbox"
        guard let path else {
            database = try DatabaseQueue(configuration: configuration)
            try Schema.migrator.migrate(database)
            return
        }
        // Before SQLite makes it, with the rights that everybody's files have.
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        configuration.journalMode = .wal
        database = try DatabaseQueue(path: path, configuration: configuration)
        try Schema.migrator.migrate(database)
    }

    /// Does something in one transaction.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.write(body)
    }

    /// Looks something up.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.read(body)
    }
}

extension Database {
    /// Removes what can be forgotten from a table that something is about to be added to.
    func prune(_ table: Schema.Table, at now: Timestamp) throws {
        let name = table.rawValue
        try execute(
            sql: "DELETE FROM \(name) WHERE forgettable < ?",
            arguments: [now.millisecondsSince1970]
        )
        try execute(
            sql: "DELETE FROM \(name) WHERE rowid <= (SELECT max(rowid) FROM \(name)) - ?",
            arguments: [Store.rowLimit]
        )
    }
}

extension Data {
    /// The SHA-256 of a text: how secrets and names of devices are kept.
    init(digestOf text: String) { self.init(SHA256.digest(text)) }
}

extension Timestamp {
    /// When a row about something that ends now is not needed any more.
    var forgettable: Int64 { advanced(byMilliseconds: Store.memory).millisecondsSince1970 }
}

extension Row {
    /// A column with milliseconds since 1970.
    func time(_ column: String) -> Timestamp {
        Timestamp(millisecondsSince1970: self[column] as Int64? ?? 0)
    }
}
