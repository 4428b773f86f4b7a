// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import ReplayStores
    internal import Synchronization

    /// The acknowledgements of replicas for the writes of one connection (`WAIT`).
    ///
    /// `WAIT` blocks its connection, and is for all writes before it. So one is sent at a time, for all writes whose replies
    /// arrived while the one before was outstanding.
    final class RedisAcknowledgements: Sendable {
        private let settings: RedisSettings.Wait
        private let link: RedisLink
        private let missing: RedisCounter
        private let state = Mutex(State())

        /// Called with the fault if fewer replicas acknowledged in time. The written data stay, on the primary at
        /// least.
        typealias Receiver = @Sendable (ReplayStoreError?) -> Void

        private struct State {
            var waiting: [Receiver] = []
            var isAsking = false
        }

        /// - Parameter missing: Counts writes that too few replicas acknowledged.
        init(settings: RedisSettings.Wait, link: RedisLink, missing: RedisCounter) {
            self.settings = settings
            self.link = link
            self.missing = missing
        }

        /// Waits for the replicas to acknowledge all writes of the connection whose replies have arrived.
        func wait(_ receive: @escaping Receiver) {
            let isFirst = state.withLock { state in
                state.waiting.append(receive)
                defer { state.isAsking = true }
                return !state.isAsking
            }
            if isFirst { ask() }
        }

        /// Sends a `WAIT` for all that wait now, and after its reply the next one.
        private func ask() {
            let round = state.withLock { state in
                defer { state.waiting = [] }
                state.isAsking = !state.waiting.isEmpty
                return state.waiting
            }
            guard !round.isEmpty else { return }
            let command = RedisCommand("WAIT", "\(settings.replicas)", "\(settings.timeout.wholeMilliseconds)")
            link.send(command) { result in
                let fault = self.fault(in: result)
                if fault != nil { self.missing.add(round.count) }
                for receive in round { receive(fault) }
                self.ask()
            }
        }

        private func fault(in result: Result<RedisReply, ReplayStoreError>) -> ReplayStoreError? {
            switch result {
            case .success(.integer(let count)) where count >= settings.replicas: nil
            case .success(.integer(let count)):
                ReplayStoreError(.unavailable, reason: "\(count) of \(settings.replicas) replicas acknowledged in time")
            case .success(.error(let text)): ReplayStoreError(.unavailable, reason: "Redis refused WAIT: \(text)")
            case .success(let reply): .unexpected(reply)
            case .failure(let error): error
            }
        }
    }

    extension Duration {
        fileprivate var wholeMilliseconds: Int64 {
            let (seconds, attoseconds) = components
            return max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        }
    }

    /// A number that only grows.
    final class RedisCounter: Sendable {
        private let count = Atomic<Int>(0)

        var value: Int { count.load(ordering: .relaxed) }

        func add(_ number: Int = 1) { count.add(number, ordering: .relaxed) }
    }
#endif
