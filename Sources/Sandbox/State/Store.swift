// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// The state of the sandbox, in memory or in a file that outlives the process. Secrets are stored as their SHA-256 only.
final class Store: Sendable {
    let database: DatabaseQueue

    /// The maximum number of rows in a table. The oldest rows are deleted.
    static let rowLimit = 50_000

    /// The time that an expired row is kept, in milliseconds. Until then an expired item differs from an unknown one.
    static let memory: Int64 = 86_400_000

    /// Opens the state.
    ///
    /// - Parameter path: The file; `nil` for memory.
    init(path: String?) throws {
        var configuration = Configuration()
        configuration.label = "playgate.sandbox"
        guard let path else {
            database = try DatabaseQueue(configuration: configuration)
            try Schema.migrator.migrate(database)
            return
        }
        // SQLite would create the file with the default permissions.
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        configuration.journalMode = .wal
        database = try DatabaseQueue(path: path, configuration: configuration)
        try Schema.migrator.migrate(database)
    }

    /// Runs `body` in one write transaction.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.write(body)
    }

    /// Runs `body` with read access.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.read(body)
    }
}

extension Database {
    /// Deletes the rows of a table that may be forgotten, before a row is added.
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
    /// Creates the SHA-256 of a text, the form in which secrets and resources are stored.
    init(digestOf text: String) { self.init(SHA256.digest(text)) }
}

extension Timestamp {
    /// The time after which a row that expires now may be deleted, in milliseconds since 1970.
    var forgettable: Int64 { advanced(byMilliseconds: Store.memory).millisecondsSince1970 }
}

extension Row {
    /// Returns the timestamp in a column of milliseconds since 1970.
    func time(_ column: String) -> Timestamp {
        Timestamp(millisecondsSince1970: self[column] as Int64? ?? 0)
    }
}
