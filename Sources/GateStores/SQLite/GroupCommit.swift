// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if SQLite
    internal import GRDB
    internal import PlaybackGate
    internal import Synchronization

    /// The writes of a store: those that arrive during a disk write are committed together with the next one.
    final class GroupCommit: Sendable {
        private let database: DatabaseQueue
        private let waitingLimit: Int
        private let queue = Mutex(JobQueue())

        /// The maximum number of writes in one commit.
        private static let batchLimit = 1000

        private struct JobQueue {
            var jobs: [Job] = []
            var isWriting = false
        }

        private struct Job: Sendable {
            let time: Timestamp
            /// Carries the job out in a transaction, and returns what tells the outcome once it is committed.
            let carryOut: @Sendable (Database) throws -> @Sendable () -> Void
            let fail: @Sendable (ReplayStoreError) -> Void
        }

        /// Creates a queue of writes.
        ///
        /// - Parameter waitingLimit: The maximum number of writes that wait. Further writes fail at once.
        init(_ database: DatabaseQueue, waitingLimit: Int) {
            self.database = database
            self.waitingLimit = waitingLimit
        }

        /// Carries `body` out in a transaction, perhaps with others, and returns its value once that is on disk.
        func write<Value: Sendable>(
            at now: Timestamp,
            _ body: @escaping @Sendable (Database) throws -> Value
        ) async throws(ReplayStoreError) -> Value {
            let answer: Result<Value, ReplayStoreError> = await withCheckedContinuation { continuation in
                submit(
                    Job(
                        time: now,
                        carryOut: { database in
                            let value = try body(database)
                            return { continuation.resume(returning: .success(value)) }
                        },
                        fail: { continuation.resume(returning: .failure($0)) }
                    )
                )
            }
            return try answer.get()
        }

        private func submit(_ job: Job) {
            let (isTaken, mustStart) = queue.withLock { queue in
                guard queue.jobs.count < waitingLimit else { return (false, false) }
                queue.jobs.append(job)
                defer { queue.isWriting = true }
                return (true, !queue.isWriting)
            }
            if !isTaken {
                job.fail(ReplayStoreError(.unavailable, "\(waitingLimit) writes are waiting for the disk"))
            }
            if mustStart { Task { await write() } }
        }

        /// Writes batches until the queue is empty.
        private func write() async {
            while let jobs = nextBatch() {
                do {
                    let answers = try await database.write { db in
                        let answers = try jobs.map { try $0.carryOut(db) }
                        // In the same transaction, because another one would need another disk sync.
                        if let now = jobs.last?.time { try Self.forget(db, at: now, atMost: 2 * jobs.count + 16) }
                        return answers
                    }
                    for answer in answers { answer() }
                } catch {
                    let failure = ReplayStoreError(.unavailable, error.sqliteText)
                    for job in jobs { job.fail(failure) }
                }
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

        private static func forget(_ database: Database, at now: Timestamp, atMost limit: Int) throws {
            try UseTables(database).forget(at: now, atMost: limit)
            try GrantTables(database).forget(at: now, atMost: limit)
        }
    }

    extension Error {
        /// The description of an error of SQLite, without the statement: that contains fingerprints of tokens.
        var sqliteText: String {
            guard let error = self as? DatabaseError else { return "\(self)" }
            return error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        }
    }
#endif
