// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if SQLite
    internal import GRDB
    public import MediaTokens
    public import PlaybackGate
    internal import Synchronization

    /// A replay store in a file: recorded uses are on disk before the answer, and survive a crash of process and machine.
    ///
    /// Uses that arrive during a disk write are committed together with the next one (group commit), so that a disk with 200
    /// syncs a second can take thousands of playback starts. Several processes of one machine may share the file. It must
    /// not be on a network file system.
    public final class SQLiteReplayStore: ReplayStore {
        public let name = "sqlite"

        private let database: DatabaseQueue
        private let queue = Mutex(JobQueue())

        /// The maximum number of uses that wait for the disk. Further uses are refused.
        public static let waitingLimit = 10_000

        /// The maximum number of uses in one commit.
        private static let batchLimit = 1000

        private struct JobQueue {
            var jobs: [Job] = []
            var isWriting = false
        }

        private enum Job: Sendable {
            case use(TokenUse, at: Timestamp, CheckedContinuation<Result<UseOutcome, ReplayStoreError>, Never>)
            case revoke(Revocation, at: Timestamp, CheckedContinuation<Result<UseOutcome, ReplayStoreError>, Never>)

            var continuation: CheckedContinuation<Result<UseOutcome, ReplayStoreError>, Never> {
                switch self {
                case .use(_, _, let continuation), .revoke(_, _, let continuation): continuation
                }
            }

            var time: Timestamp {
                switch self {
                case .use(_, let time, _), .revoke(_, let time, _): time
                }
            }
        }

        /// Opens a store, and creates the file if it does not exist.
        ///
        /// - Parameters:
        ///   - path: The path of the file. SQLite keeps two more beside it (`-wal`, `-shm`).
        ///   - busyTimeout: The maximum wait for another process that writes.
        /// - Throws: `ReplayStoreError` with code `store_misconfigured`.
        public init(path: String, busyTimeout: Duration = .milliseconds(200)) throws(ReplayStoreError) {
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
                throw ReplayStoreError(.misconfigured, "\(path): cannot be opened as a store: \(Self.text(error))")
            }
        }

        // MARK: ReplayStore

        public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            let answer = await withCheckedContinuation { submit(.use(use, at: now, $0)) }
            return try answer.get()
        }

        public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            do { return try await database.read { try UseTables($0).examine(use, at: now) } } catch {
                throw ReplayStoreError(.unavailable, Self.text(error))
            }
        }

        public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
            let answer = await withCheckedContinuation { submit(.revoke(revocation, at: now, $0)) }
            _ = try answer.get()
        }

        public func check() async throws(ReplayStoreError) {
            do {
                _ = try await database.write { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM revocation") }
            } catch {
                throw ReplayStoreError(.unavailable, Self.text(error))
            }
        }

        // MARK: Group commit

        private func submit(_ job: Job) {
            let (isTaken, mustStart) = queue.withLock { queue in
                guard queue.jobs.count < Self.waitingLimit else { return (false, false) }
                queue.jobs.append(job)
                defer { queue.isWriting = true }
                return (true, !queue.isWriting)
            }
            if !isTaken {
                let error = ReplayStoreError(.unavailable, "\(Self.waitingLimit) writes are waiting for the disk")
                job.continuation.resume(returning: .failure(error))
            }
            if mustStart { Task { await write() } }
        }

        /// Writes batches until the queue is empty.
        private func write() async {
            while let jobs = nextBatch() {
                let answers: [Result<UseOutcome, ReplayStoreError>]
                do {
                    answers = try await database.write { db in
                        let tables = UseTables(db)
                        let outcomes = try jobs.map { try Self.carryOut($0, tables) }
                        // In the same transaction, because another one would need another disk sync.
                        if let now = jobs.last?.time { try tables.forget(at: now, atMost: 2 * jobs.count + 16) }
                        return outcomes.map { .success($0) }
                    }
                } catch {
                    let failure = ReplayStoreError(.unavailable, Self.text(error))
                    answers = jobs.map { _ in .failure(failure) }
                }
                for (job, answer) in zip(jobs, answers) { job.continuation.resume(returning: answer) }
            }
        }

        private func nextBatch() -> [Job]? {
            queue.withLock { queue in
                guard !queue.jobs.isEmpty else {
                    queue.isWriting = false
                    return nil
                }
                let batch = Array(queue.jobs.prefix(Self.batchLimit))
                queue.jobs.removeFirst(batch.count)
                return batch
            }
        }

        private static func carryOut(_ job: Job, _ tables: UseTables) throws -> UseOutcome {
            switch job {
            case .use(let use, let now, _): return try tables.record(use, at: now)
            case .revoke(let revocation, let now, _):
                try tables.revoke(revocation, at: now)
                return .recorded
            }
        }

        private static func text(_ error: any Error) -> String {
            // The statement is left out: it contains fingerprints of tokens.
            guard let error = error as? DatabaseError else { return "\(error)" }
            return error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        }
    }
#endif
