// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import GRDB
internal import Platform

/// A stream, as Concurrency Monitoring counts it.
struct WatchedStream: Sendable {
    let id: String
    let provider: String
    let subject: String
    let household: String
    let application: String
    var metadata: [String: String]
    /// The code that ends the stream from another device.
    let terminationCode: String
    let started: Timestamp
    /// The time at which the stream ends without a further heartbeat.
    var expires: Timestamp
    /// The application whose stream ended this one; `nil` if there is none.
    var terminator: String?
    /// True if the stream was ended before it expired. It stays ended, even if a concurrent request has an earlier time.
    var hasEnded = false

    func isRunning(at now: Timestamp) -> Bool { !hasEnded && expires > now }
}

extension Store {
    /// Starts a stream if `admits` allows it beside the running streams of its household.
    ///
    /// - Parameters:
    ///   - terminated: The termination codes of streams of the household that the new stream replaces.
    ///   - admits: Returns the running streams to end as well; `nil` if the new stream is not admitted.
    /// - Returns: The conflicting streams; `nil` if the stream has started.
    func start(
        _ stream: WatchedStream,
        ending terminated: Set<String>,
        at now: Timestamp,
        admits: @escaping @Sendable ([WatchedStream]) -> [WatchedStream]?
    ) async throws -> [WatchedStream]? {
        try await write { database in
            var running = try database.running(stream.household, at: now)
            let chosen = running.filter { terminated.contains($0.terminationCode) }
            running.removeAll { terminated.contains($0.terminationCode) }
            guard let evicted = admits(running) else { return running }
            for other in chosen + evicted {
                try database.execute(
                    sql: "UPDATE stream SET ended = 1, expires = ?, terminator = ? WHERE id = ?",
                    arguments: [now.stored, stream.application, other.id]
                )
            }
            var stream = stream
            if let other = chosen.first { stream.metadata["superseded"] = other.terminationCode }
            try database.insert(
                into: .stream,
                values: [
                    stream.id, stream.provider, stream.subject, stream.household, stream.application,
                    stream.metadata.json.line, stream.terminationCode, stream.started.stored, stream.expires.stored,
                    nil, stream.expires.forgettable, false,
                ],
                at: now
            )
            return nil
        }
    }

    /// Returns the stream with that id, including one that has ended.
    func stream(_ id: String, provider: String, subject: String) async throws -> WatchedStream? {
        try await row(
            "SELECT * FROM stream WHERE id = ? AND idp = ? AND subject = ?",
            arguments: [id, provider, subject]
        )
    }

    /// Changes a running stream. Of two concurrent changes, the second sees the result of the first.
    ///
    /// - Returns: False if the stream has ended.
    func change(
        _ stream: WatchedStream,
        at now: Timestamp,
        by change: @escaping @Sendable (inout WatchedStream) throws -> Void
    ) async throws -> Bool {
        try await write { database in
            let found: [WatchedStream] = try database.rows("SELECT * FROM stream WHERE id = ?", arguments: [stream.id])
            guard var stream = found.first, stream.isRunning(at: now) else { return false }
            try change(&stream)
            try database.execute(
                sql: """
                    UPDATE stream SET expires = ?, metadata = ?, forgettable = ?, ended = ?
                    WHERE id = ? AND ended = 0
                    """,
                arguments: [
                    stream.expires.stored, stream.metadata.json.line, stream.expires.forgettable,
                    stream.hasEnded, stream.id,
                ]
            )
            return database.changesCount == 1
        }
    }

    /// Returns the running streams of a household, oldest first.
    func streams(_ household: String, at now: Timestamp) async throws -> [WatchedStream] {
        try await write { try $0.running(household, at: now) }
    }
}

extension Database {
    fileprivate func running(_ household: String, at now: Timestamp) throws -> [WatchedStream] {
        try rows(
            "SELECT * FROM stream WHERE household = ? AND expires > ? AND ended = 0 ORDER BY started, rowid",
            arguments: [household, now.stored]
        )
    }
}

extension WatchedStream: StoredRow {
    init(_ row: Row) {
        id = row["id"]
        provider = row["idp"]
        subject = row["subject"]
        household = row["household"]
        application = row["application"]
        metadata = [String: String](json: row["metadata"])
        terminationCode = row["terminationCode"]
        started = row.time("started")
        expires = row.time("expires")
        terminator = row["terminator"]
        hasEnded = row["ended"]
    }
}

extension [String: String] {
    /// These texts as a JSON object, sorted by name.
    var json: JSON { .object(sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }) }

    fileprivate init(json text: String) {
        let limits = JSONLimits(depth: 2, members: Fields.limit + 1, elements: 1)
        guard case .object(let members)? = try? JSONReader.read([UInt8](text.utf8).span, limits: limits) else {
            self = [:]
            return
        }
        self.init(members.compactMap { name, value in value.text.map { (name, $0) } }) { $1 }
    }
}
