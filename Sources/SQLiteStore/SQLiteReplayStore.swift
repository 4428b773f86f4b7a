// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Platform

#if SQLite
    internal import GRDB
    internal import MediaTokens
    public import ReplayStores

    /// A replay store in a file: recorded uses are on disk before the answer, and survive a crash of process and machine.
    ///
    /// Uses that arrive during a disk write are committed together with the next one (group commit). A disk with 200
    /// syncs a second can therefore record thousands of playback starts. Several processes of one machine may share the
    /// file, which only its owner can read. It must not be on a network file system. If it is moved, replaced or
    /// deleted, every use is refused.
    public final class SQLiteReplayStore: ReplayStore {
        public let name = "sqlite"

        private let database: DatabaseQueue
        private let files: StoreFiles
        private let commits: GroupCommit
        package let deadline = StoreDeadline()

        /// The maximum number of uses that wait for the disk. Further uses are refused.
        public static let waitingLimit = 10_000

        /// Opens a store, and creates the file if it does not exist.
        ///
        /// - Parameters:
        ///   - path: The path of the file. SQLite creates two more beside it (`-wal`, `-shm`).
        ///   - busyTimeout: The maximum wait for another process that writes.
        /// - Throws: `ReplayStoreError` with code `store_misconfigured`: the file cannot be opened, or is on a network file system.
        public init(path: String, busyTimeout: Duration = .milliseconds(200)) throws(ReplayStoreError) {
            files = try StoreFiles(creating: path)
            var configuration = Configuration()
            configuration.label = "playgate.uses"
            configuration.journalMode = .wal
            configuration.busyMode = .timeout(busyTimeout.seconds)
            // With a WAL, FULL syncs before every commit returns.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            do {
                database = try DatabaseQueue(path: path, configuration: configuration)
                try UseSchema.migrator.migrate(database)
            } catch {
                throw ReplayStoreError(
                    .misconfigured,
                    reason: "\(path): cannot be opened as a store: \(error.sqliteText)"
                )
            }
            commits = GroupCommit(database, files: files, waitingLimit: Self.waitingLimit, deadline: deadline)
        }

        /// The deadline of the gate: a job that is late fails.
        public var longestWait: Duration? { deadline.limit }

        public func limitWaits(to limit: Duration) { deadline.limit = limit }

        // MARK: ReplayStore

        public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            try await commits.write(at: now) { try UseTables($0).record(use, at: now) }
        }

        public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            try await commits.read { try UseTables($0).examine(use, at: now) }
        }

        public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
            try await commits.write(at: now) { database in
                try UseTables(database).revoke(revocation, at: now)
                try GrantTables(database).note(RevocationRecord(revocation, at: now), at: now)
            }
        }

        public func check() async throws(ReplayStoreError) {
            try await commits.write(at: nil) { try UseTables($0).proveWriting() }
        }

        // MARK: Grants

        public func insert(
            _ identity: SHA256Digest,
            until expires: Timestamp,
            at now: Timestamp
        ) async throws(ReplayStoreError) -> GrantUseOutcome {
            try await commits.write(at: now) { try GrantTables($0).insert(identity, until: expires) }
        }

        public func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
            try await commits.write(at: now) { try GrantTables($0).acquire(lease, at: now) }
        }

        public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
            try await commits.write(at: now) { try GrantTables($0).free(session, at: now) }
        }

        public func note(
            _ renewal: GrantRenewal,
            at now: Timestamp
        ) async throws(ReplayStoreError) -> RenewalOutcome {
            try await commits.write(at: now) { try GrantTables($0).note(renewal, at: now) }
        }

        public func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
            try await commits.write(at: now) { database in
                let wasRevoked = try UseTables(database).lift(key, at: now)
                return try GrantTables(database).lift(key, at: now) || wasRevoked
            }
        }

        /// No playback waits for this, so that it has no deadline.
        public func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
            try files.demandPresence()
            do {
                return try await database.read { try GrantTables($0).changes(after: cursor?.number ?? 0) }
            } catch {
                throw ReplayStoreError(.unavailable, reason: error.sqliteText)
            }
        }
    }
#endif
