// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import FoundationEssentials
internal import GRDB
internal import Platform

/// The state of the sandbox, in memory or in a file that outlives the process. Secrets are stored as their SHA-256 only.
final class Store: Sendable {
    private let database: DatabaseQueue

    /// The maximum number of rows in a table. The oldest rows are deleted.
    static let rowLimit = 50_000

    /// The time that an expired row is stored, in milliseconds. Until then an expired item differs from an unknown one.
    static let memory: Int64 = 86_400_000

    /// Opens the state.
    ///
    /// - Parameter path: The file; `nil` for memory.
    init(path: String?) throws {
        var configuration = Configuration()
        configuration.label = "playgate.sandbox"
        if let path {
            // SQLite would create the file with the default permissions.
            if !FileManager.default.fileExists(atPath: path) {
                _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            configuration.journalMode = .wal
            database = try DatabaseQueue(path: path, configuration: configuration)
        } else {
            database = try DatabaseQueue(configuration: configuration)
        }
        try Schema.migrator.migrate(database)
    }

    /// Runs `body` in one write transaction.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.write(body)
    }

    /// Runs a statement and returns the number of rows that it changes.
    @discardableResult
    func change(_ sql: String, arguments: StatementArguments) async throws -> Int {
        try await database.write { database in
            try database.execute(sql: sql, arguments: arguments)
            return database.changesCount
        }
    }

    /// Adds a row with values in the order of the columns.
    func insert(into table: Schema.Table, values: [(any DatabaseValueConvertible)?], at now: Timestamp) async throws {
        let (arguments, count) = (StatementArguments(values), values.count)
        try await database.write { try $0.insert(into: table, values: arguments, count: count, at: now) }
    }

    /// Returns the rows that a query finds.
    func rows<Value: StoredRow>(_ sql: String, arguments: StatementArguments) async throws -> [Value] {
        try await database.read { try $0.rows(sql, arguments: arguments) }
    }

    /// Returns the first row that a query finds.
    func row<Value: StoredRow>(_ sql: String, arguments: StatementArguments) async throws -> Value? {
        let found: [Value] = try await rows(sql, arguments: arguments)
        return found.first
    }
}

/// A value that is read from a row.
protocol StoredRow: Sendable {
    init(_ row: Row)
}

extension Database {
    func rows<Value: StoredRow>(_ sql: String, arguments: StatementArguments) throws -> [Value] {
        try Row.fetchAll(self, sql: sql, arguments: arguments).map(Value.init)
    }

    /// Adds a row, after deleting the rows of the table that may be forgotten. A profile and an authorization replace those
    /// with the same key; other keys are random.
    func insert(into table: Schema.Table, values: [(any DatabaseValueConvertible)?], at now: Timestamp) throws {
        try insert(into: table, values: StatementArguments(values), count: values.count, at: now)
    }

    fileprivate func insert(
        into table: Schema.Table,
        values: StatementArguments,
        count: Int,
        at now: Timestamp
    ) throws {
        let name = table.rawValue
        try execute(sql: "DELETE FROM \(name) WHERE forgettable < ?", arguments: [now.stored])
        let newest = "(SELECT max(rowid) FROM \(name))"
        try execute(sql: "DELETE FROM \(name) WHERE rowid <= \(newest) - ?", arguments: [Store.rowLimit])
        let verb = table == .profile || table == .authorization ? "INSERT OR REPLACE" : "INSERT"
        let marks = repeatElement("?", count: count).joined(separator: ", ")
        try execute(sql: "\(verb) INTO \(name) VALUES (\(marks))", arguments: values)
    }
}

extension Data {
    /// Creates the SHA-256 of a text, the form in which secrets and resources are stored.
    init(digestOf text: String) { self.init(SHA256.digest(text)) }
}

// MARK: Values of columns

extension Timestamp {
    /// Milliseconds since 1970, the form of times in columns.
    var stored: Int64 { millisecondsSince1970 }

    /// The time after which a row that expires now may be deleted, as it is stored.
    var forgettable: Int64 { advanced(byMilliseconds: Store.memory).stored }
}

extension Row {
    func time(_ column: String) -> Timestamp { Timestamp(millisecondsSince1970: self[column]) }
}

/// A device, identified by the SHA-256 of its name. It is the same in every version of the API.
struct Device: Hashable, Sendable, DatabaseValueConvertible {
    let digest: Data

    init(_ name: String) { self.init([UInt8](name.utf8)) }

    /// Creates a device from a name that need not be valid text.
    init(_ name: [UInt8]) { digest = Data(SHA256.digest([UInt8]("device ".utf8) + name)) }

    private init(digest: Data) { self.digest = digest }

    /// The digest in hexadecimal.
    var name: String { digest.hexadecimal }

    /// The name of the device in long-lived tokens: 40 hexadecimal digits.
    var fingerprint: String { digest.prefix(20).hexadecimal }

    var databaseValue: DatabaseValue { digest.databaseValue }

    static func fromDatabaseValue(_ value: DatabaseValue) -> Device? {
        Data.fromDatabaseValue(value).map { Device(digest: $0) }
    }
}

/// Random texts that cannot be guessed.
enum RandomText {
    /// 256 bits in hexadecimal.
    static var secret: String { bytes(32).hexadecimal }

    /// A code to read on one screen and type on another: seven characters, without the look-alikes I, O, 0 and 1.
    static var code: String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        var generator = SystemRandomNumberGenerator()
        return String((0..<7).compactMap { _ in letters.randomElement(using: &generator) })
    }

    /// Eight hexadecimal digits, the form of a stream's termination code.
    static var short: String { bytes(4).hexadecimal }

    /// A UUID of version 4 (RFC 9562 §5.4).
    static var uuid: String {
        var bytes = bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
