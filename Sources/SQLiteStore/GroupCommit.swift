// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if SQLite
    internal import Dispatch
    internal import GRDB
    internal import ReplayStores
    internal import Synchronization

    /// The jobs of a store: writes that arrive during a disk write are committed together with the next one.
    final class GroupCommit: Sendable {
        private let database: DatabaseQueue
        private let files: StoreFiles
        private let waitingLimit: Int
        private let deadline: StoreDeadline
        private let state = Mutex(State())
        private let writer = DispatchQueue(label: "playgate.uses.writer", qos: .userInitiated)

        /// The maximum number of jobs in one commit.
        private static let batchLimit = 1000

        private struct State {
            /// The jobs that are not committed, in the order of their arrival: those of the present batch are first.
            var jobs: [any Job] = []
            /// The number of the first of them that have failed, because they were late.
            var late = 0
            var isWriting = false
            /// The time of the next look at the deadlines.
            var nextLook: ContinuousClock.Instant?
        }

        /// Creates a queue of jobs.
        ///
        /// - Parameters:
        ///   - waitingLimit: The maximum number of jobs that wait. Further jobs fail at once.
        ///   - deadline: The maximum wait for the end of a job. One that is late fails, and is carried out all the same.
        init(_ database: DatabaseQueue, files: StoreFiles, waitingLimit: Int, deadline: StoreDeadline) {
            self.database = database
            self.files = files
            self.waitingLimit = waitingLimit
            self.deadline = deadline
        }

        /// Carries `body` out in a transaction, perhaps with others, and returns its value once that is on disk.
        ///
        /// - Parameter now: The time of receipt of the request, until which records may be forgotten; `nil` to forget none.
        func write<Value: Sendable>(
            at now: Timestamp?,
            _ body: @escaping @Sendable (Database) throws -> Value
        ) async throws(ReplayStoreError) -> Value {
            try await perform(at: now, isRead: false, body: body)
        }

        /// Returns the value of `body`, which writes nothing and so waits for no other process that does.
        func read<Value: Sendable>(
            _ body: @escaping @Sendable (Database) throws -> Value
        ) async throws(ReplayStoreError) -> Value {
            try await perform(at: nil, isRead: true, body: body)
        }

        private func perform<Value: Sendable>(
            at time: Timestamp?,
            isRead: Bool,
            body: @escaping @Sendable (Database) throws -> Value
        ) async throws(ReplayStoreError) -> Value {
            let limit = deadline.limit
            let answer: Result<Value, ReplayStoreError> = await withCheckedContinuation { continuation in
                submit(Work(time: time, isRead: isRead, limit: limit, body: body, caller: continuation))
            }
            return try answer.get()
        }

        private func submit(_ job: any Job) {
            let (isTaken, mustStart, look) = state.withLock { state in
                guard state.jobs.count < waitingLimit else { return (false, false, ContinuousClock.Instant?.none) }
                state.jobs.append(job)
                defer { state.isWriting = true }
                return (true, !state.isWriting, nextLook(&state))
            }
            if !isTaken {
                job.fail(ReplayStoreError(.unavailable, reason: "\(waitingLimit) writes are waiting for the disk"))
            }
            if mustStart { writer.async { self.carryOut() } }
            if let look { schedule(look) }
        }

        // MARK: Carrying out

        /// Carries out batches until no job is left. It blocks its thread, which is that of the writer.
        private func carryOut() {
            while let jobs = nextBatch() {
                do {
                    try files.demandPresence()
                    if jobs.first?.isRead == true {
                        try database.read { database in for job in jobs { try job.carryOut(in: database) } }
                    } else {
                        try database.write { database in try Self.write(jobs, in: database) }
                    }
                    for job in jobs { job.succeed() }
                } catch {
                    let failure = error as? ReplayStoreError ?? ReplayStoreError(.unavailable, reason: error.sqliteText)
                    for job in jobs { job.fail(failure) }
                }
                state.withLock { state in
                    state.jobs.removeFirst(jobs.count)
                    state.late = max(0, state.late - jobs.count)
                }
            }
        }

        /// The first jobs, of one kind; `nil` if none is left.
        private func nextBatch() -> [any Job]? {
            state.withLock { state in
                guard let isRead = state.jobs.first?.isRead else {
                    state.isWriting = false
                    return nil
                }
                return Array(state.jobs.prefix(Self.batchLimit).prefix { $0.isRead == isRead })
            }
        }

        private static func write(_ jobs: [any Job], in database: Database) throws {
            for job in jobs { try job.carryOut(in: database) }
            // In the same transaction, because another one would need another disk sync.
            guard let now = jobs.last(where: { $0.time != nil })?.time else { return }
            try UseTables(database).forget(at: now, atMost: 2 * jobs.count + 16)
            try GrantTables(database).forget(at: now, atMost: 2 * jobs.count + 16)
        }

        // MARK: Deadlines

        /// Returns the time at which a look must be scheduled; `nil` if one is, or none is needed.
        private func nextLook(_ state: inout State) -> ContinuousClock.Instant? {
            guard state.late < state.jobs.count, let end = end(of: state.jobs[state.late]) else { return nil }
            if let scheduled = state.nextLook, scheduled <= end { return nil }
            state.nextLook = end
            return end
        }

        /// Returns the time at which a job is late; `nil` if its duration is not limited.
        private func end(of job: any Job) -> ContinuousClock.Instant? {
            job.limit.map { job.submitted + deadline.limit(since: $0) }
        }

        private func schedule(_ look: ContinuousClock.Instant) {
            let wait = max(look - .now, .zero)
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(wait.nanoseconds))) {
                self.failLate(look)
            }
        }

        /// Fails the jobs that are late, and schedules the next look.
        private func failLate(_ look: ContinuousClock.Instant) {
            let now = ContinuousClock.now
            let (late, next) = state.withLock { state in
                if state.nextLook == look { state.nextLook = nil }
                let waiting = state.jobs.dropFirst(state.late)
                let late = waiting.prefix { job in end(of: job).map { $0 <= now } ?? false }
                state.late += late.count
                return (late, nextLook(&state))
            }
            for job in late { job.fail(ReplayStoreError(.deadline, reason: "the disk did not answer in time")) }
            if let next { schedule(next) }
        }
    }

    /// A job of a store, and its waiting caller.
    private protocol Job: AnyObject, Sendable {
        /// The time of receipt of its request, until which records may be forgotten.
        var time: Timestamp? { get }
        /// True if it writes nothing.
        var isRead: Bool { get }
        var submitted: ContinuousClock.Instant { get }
        /// The deadline at that time.
        var limit: Duration? { get }

        /// Does the work within a transaction.
        func carryOut(in database: Database) throws

        /// Answers the caller after the transaction.
        func succeed()

        /// Answers the caller, if it still waits.
        func fail(_ error: ReplayStoreError)
    }

    private final class Work<Value: Sendable>: Job {
        typealias Caller = CheckedContinuation<Result<Value, ReplayStoreError>, Never>

        let time: Timestamp?
        let isRead: Bool
        let submitted = ContinuousClock.now
        let limit: Duration?
        private let body: @Sendable (Database) throws -> Value
        private let state: Mutex<(caller: Caller?, value: Value?)>

        init(
            time: Timestamp?,
            isRead: Bool,
            limit: Duration?,
            body: @escaping @Sendable (Database) throws -> Value,
            caller: Caller
        ) {
            self.time = time
            self.isRead = isRead
            self.limit = limit
            self.body = body
            state = Mutex((caller, nil))
        }

        func carryOut(in database: Database) throws {
            let value = try body(database)
            state.withLock { $0.value = value }
        }

        func succeed() {
            let (caller, value) = removeCaller()
            if let value { caller?.resume(returning: .success(value)) }
        }

        func fail(_ error: ReplayStoreError) { removeCaller().caller?.resume(returning: .failure(error)) }

        private func removeCaller() -> (caller: Caller?, value: Value?) {
            state.withLock { state in
                defer { state.caller = nil }
                return state
            }
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
