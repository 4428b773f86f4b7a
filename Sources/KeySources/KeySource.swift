// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Keys
public import Platform
internal import Synchronization

/// A key set that is fetched, and fetched again in the background.
///
/// No check waits for a fetch: it is judged with the keys that are there. ``run(onChange:)`` is the only task that fetches.
public final class KeySource: Sendable {
    /// The configuration of the source.
    public let configuration: Configuration

    private let fetcher: any KeySetFetcher
    private let clock: @Sendable () -> Timestamp
    private let spread: @Sendable () -> Double
    private let report: @Sendable (Event) -> Void
    private let alarm: Alarm
    private let inner: Mutex<Inner>

    private struct Inner: Sendable {
        var state: KeySetState
        var counts: [KeySetOutcome: Int] = [:]
        var isStopped = false
    }

    /// The configuration of a source. Sources with equal ones do the same.
    public struct Configuration: Equatable, Sendable {
        /// The address of the set.
        public var address: KeySetAddress
        /// The binding of its keys.
        public var binding: KeyBinding
        /// The rules by which it is retained.
        public var rules: KeySetRules
        /// The folder of the last good copy; `nil` for none.
        public var folder: String?

        /// Creates a configuration.
        public init(
            _ address: KeySetAddress,
            binding: KeyBinding,
            rules: KeySetRules = KeySetRules(),
            folder: String? = nil
        ) {
            self.address = address
            self.binding = binding
            self.rules = rules
            self.folder = folder
        }

        /// The path of the last good copy.
        var copy: String? { folder.map { "\($0)/\(KeySetCopy.name(address, issuer: binding.issuer))" } }
    }

    /// An event for the log of an operator.
    public enum Event: Sendable {
        /// A fetch has ended.
        case ended(Fetch)
        /// No server has confirmed the keys for too long, and they are gone.
        case gone
        /// The copy from before a restart is in use.
        case restored(keys: Int)
        /// The copy cannot be written.
        case notKept(reason: String)
    }

    /// A fetch that has ended.
    public struct Fetch: Sendable {
        /// The outcome.
        public let outcome: KeySetOutcome
        /// The number of failures since the last success; 0 if the fetch succeeded.
        public let failures: Int
        /// The number of keys that are in use now.
        public let keys: Int
        /// The entries of the set in use that cannot be used.
        public let skipped: [KeySetReading.SkippedKey]
        /// The explanation of a set that was not accepted, for people.
        public let fault: String?
    }

    /// Creates a source, with the keys of its last good copy if there is one.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - fetcher: The fetcher.
    ///   - clock: The source of the current time.
    ///   - sleep: Waits for so many milliseconds of `clock`, or until its task is cancelled.
    ///   - spread: A source of random numbers from -1 to 1, which spread the times of fetches.
    ///   - report: A receiver of events.
    public init(
        _ configuration: Configuration,
        fetcher: any KeySetFetcher,
        clock: @escaping @Sendable () -> Timestamp = { .now() },
        sleep: @escaping @Sendable (Int64) async -> Void = { try? await Task.sleep(for: .milliseconds($0)) },
        spread: @escaping @Sendable () -> Double = { .random(in: -1...1) },
        report: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.fetcher = fetcher
        self.clock = clock
        alarm = Alarm(sleep: sleep)
        self.spread = spread
        self.report = report
        var state = KeySetState(binding: configuration.binding, rules: configuration.rules)
        if let path = configuration.copy, let copy = KeySetCopy(from: path, configuration.address),
            state.restore(copy, at: clock())
        {
            report(.restored(keys: state.keys.count))
        }
        inner = Mutex(Inner(state: state))
    }

    /// The state of a source, for readiness and metrics.
    public struct Status: Sendable {
        /// The keys; none if the set was never fetched, or is gone.
        public let keys: [TokenKey]
        /// The time since the last confirmation; `nil` if there are no keys.
        public let age: Duration?
        /// The number of fetches by their outcome.
        public let fetches: [KeySetOutcome: Int]
    }

    /// Returns the state at `now`.
    public func status(at now: Timestamp) -> Status {
        inner.withLock { inner in
            let age = inner.state.confirmed.map { Duration.milliseconds(max(0, now.since($0))) }
            return Status(keys: inner.state.keys, age: age, fetches: inner.counts)
        }
    }

    /// The keys.
    public var keys: [TokenKey] { inner.withLock { $0.state.keys } }

    /// Requests a key that no set has: see ``KeySetState/ask(for:at:)``.
    ///
    /// - Returns: True if a fetch is due or under way that may bring it.
    public func ask(for id: KeyID, at now: Timestamp) -> Bool {
        let (isAwaited, isFetching) = inner.withLock { ($0.state.ask(for: id, at: now), $0.state.isFetching) }
        if isAwaited, !isFetching { alarm.ring() }
        return isAwaited
    }

    /// Ends ``run(onChange:)``.
    public func stop() {
        inner.withLock { $0.isStopped = true }
        alarm.ring()
    }

    /// Fetches the set whenever it is due, until ``stop()`` or the end of the task. Call it once.
    ///
    /// - Parameter onChange: Called whenever the keys have changed.
    public func run(onChange: @Sendable () async -> Void) async {
        var generation = inner.withLock { $0.state.generation }
        while !Task.isCancelled {
            let (step, isStopped) = inner.withLock { ($0.state.next(at: clock()), $0.isStopped) }
            if isStopped { return }
            if changed(since: &generation) {
                if keys.isEmpty { report(.gone) }
                await onChange()
            }
            switch step {
            case .wait(let milliseconds): await alarm.wait(milliseconds: milliseconds)
            case .fetch(let tag):
                await fetch(tag)
                if changed(since: &generation) { await onChange() }
            }
        }
    }

    private func changed(since generation: inout UInt64) -> Bool {
        let present = inner.withLock { $0.state.generation }
        defer { generation = present }
        return present != generation
    }

    private func fetch(_ tag: String?) async {
        let answer = await fetcher.fetch(KeySetRequest(configuration.address, entityTag: tag))
        // An end of the task is no failure of the server.
        guard !Task.isCancelled else { return }
        let now = clock()
        let (outcome, state) = inner.withLock { inner in
            (inner.state.finish(answer, at: now, spread: spread()), inner.state)
        }
        report(
            .ended(
                Fetch(
                    outcome: outcome,
                    failures: state.failures,
                    keys: state.keys.count,
                    skipped: state.skipped,
                    fault: state.fault
                )
            )
        )
        if case .failed = outcome {} else { save(state) }
        // A fetch that is counted has its copy written.
        inner.withLock { $0.counts[outcome, default: 0] += 1 }
    }

    private func save(_ state: KeySetState) {
        guard let path = configuration.copy, let confirmed = state.confirmed else { return }
        let copy = KeySetCopy(confirmed: confirmed, entityTag: state.entityTag, bytes: state.bytes)
        do throws(FileFault) { try copy.write(to: path, configuration.address) } catch {
            report(.notKept(reason: error.reason))
        }
    }
}
