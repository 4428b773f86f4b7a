// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
package import Platform
package import PlaybackGate
internal import Synchronization
internal import Telemetry

/// The last decisions, and their rates and latencies in each of the last two minutes' seconds, for the operator page.
///
/// It stores no token and no claim except the MVPD. Memory is bounded: 1,024 decisions. It costs nothing until it is
/// started.
package final class DecisionWindow: DecisionObserver {
    private let state = Mutex(State())
    private let isStarted: Atomic<Bool>

    /// Creates a window.
    ///
    /// - Parameter isStarted: True to store decisions from now on; false to store none before ``start()``.
    package init(isStarted: Bool) { self.isStarted = Atomic(isStarted) }

    /// Stores decisions from now on.
    package func start() { isStarted.store(true, ordering: .relaxed) }

    /// The number of decisions that are stored.
    package static let capacity = 1024
    /// The number of seconds that are counted.
    package static let seconds = 120

    /// A decision on the page.
    package struct Row: Sendable {
        package let number: UInt64
        package let time: Timestamp
        package let decision: String
        package let code: String
        /// The media id, or the path without its query.
        package let target: String
        package let mvpd: String?
        /// The edge or caller that sent the request.
        package let source: String?
        /// The duration of the decision, in microseconds.
        package let latency: Int64
        package let trace: TraceID
    }

    /// The counts of one second.
    struct Second: Sendable {
        /// The second, in Unix seconds; 0 for none.
        fileprivate(set) var start: Int64 = 0
        fileprivate(set) var allowed = 0
        fileprivate(set) var refused = 0
        fileprivate var latencies = Latencies()

        /// The latency that a share of the decisions did not exceed, in microseconds; `nil` without decisions.
        func latency(below share: Double) -> Int? { latencies.limit(below: share) }
    }

    private struct State {
        var rows: [Row] = []
        /// The number of decisions so far, which is the number of the newest one.
        var count: UInt64 = 0
        var seconds = [Second](repeating: Second(), count: DecisionWindow.seconds)
    }

    package func observe(_ event: DecisionEvent) {
        guard isStarted.load(ordering: .relaxed) else { return }
        let latency = event.latency.nanoseconds / 1000
        let target =
            switch event.target {
            case .media(let id): id[...].beginning
            case .path(let path): path.loggable
            }
        let (decision, code) = (event.decision.name, event.decision.codeName)
        let mvpd = event.decision.subject.token.map { $0.mvpdID[...].beginning }
        let source = event.client.edge ?? event.client.caller
        state.withLock { state in
            state.count += 1
            let row = Row(
                number: state.count,
                time: event.time,
                decision: decision,
                code: code,
                target: target,
                mvpd: mvpd,
                source: source,
                latency: latency,
                trace: event.client.trace
            )
            if state.rows.count < Self.capacity {
                state.rows.append(row)
            } else {
                state.rows[Int((state.count - 1) % UInt64(Self.capacity))] = row
            }
            let start = event.time.millisecondsSince1970 / 1000
            let index = Int(start % Int64(Self.seconds))
            guard index >= 0, state.seconds[index].start <= start else { return }
            if state.seconds[index].start < start {
                state.seconds[index] = Second()
                state.seconds[index].start = start
            }
            if decision == "allow" { state.seconds[index].allowed += 1 } else { state.seconds[index].refused += 1 }
            state.seconds[index].latencies.add(latency)
        }
    }

    // MARK: Looking

    /// The decisions to display.
    package struct Filter: Sendable {
        /// The whole code; empty for all.
        package var code = ""
        /// Parts of media ids or paths, of MVPDs, and of the names of edges and callers; empty for all.
        package var target = ""
        package var mvpd = ""
        package var source = ""

        fileprivate func matches(_ row: Row) -> Bool {
            (code.isEmpty || row.code == code) && Self.has(row.target, part: target) && Self.has(row.mvpd, part: mvpd)
                && Self.has(row.source, part: source)
        }

        private static func has(_ text: String?, part: String) -> Bool {
            part.isEmpty || text.map { $0.utf8.contains(part.utf8) } ?? false
        }
    }

    /// Returns the newest decisions, the newest first.
    ///
    /// - Parameters:
    ///   - number: Only decisions after this one; 0 for all.
    ///   - limit: The most decisions.
    package func rows(after number: UInt64, _ filter: Filter, limit: Int) -> (newest: UInt64, rows: [Row]) {
        // The copy is made outside of the lock, by what writes next; what is looked for is looked for here.
        let (count, all) = state.withLock { ($0.count, $0.rows) }
        var rows: [Row] = []
        for step in 0..<UInt64(all.count) where rows.count < limit {
            let row = all[Int((count - 1 - step) % UInt64(Self.capacity))]
            if row.number <= number { break }
            if filter.matches(row) { rows.append(row) }
        }
        return (count, rows)
    }

    /// Returns the seconds that are over, the oldest first.
    func history(at now: Timestamp) -> [Second] {
        let present = now.millisecondsSince1970 / 1000
        let seconds = state.withLock { $0.seconds }
        return (1..<Int64(Self.seconds)).reversed().map { ago in
            let second = seconds[Int(max(present - ago, 0) % Int64(Self.seconds))]
            return second.start == present - ago ? second : Second()
        }
    }
}

extension Collection where Element: Equatable {
    fileprivate func contains(_ part: some Collection<Element>) -> Bool {
        guard let first = part.first else { return true }
        var start = startIndex
        while let found = self[start...].firstIndex(of: first) {
            if self[found...].starts(with: part) { return true }
            start = index(after: found)
        }
        return false
    }
}

/// Counts of latencies, in steps of half a power of two from 1 µs to 1 s.
private struct Latencies: Sendable {
    private var counts = [UInt32](repeating: 0, count: Self.steps)
    private var total: UInt32 = 0

    private static let steps = 42

    mutating func add(_ microseconds: Int64) {
        let value = UInt64(max(microseconds, 1))
        let power = 63 - value.leadingZeroBitCount
        let half = power == 0 ? 0 : Int(value >> UInt64(power - 1)) & 1
        counts[min(2 * power + half, Self.steps - 1)] &+= 1
        total &+= 1
    }

    /// The upper end of the step in which a share of the values ends.
    func limit(below share: Double) -> Int? {
        guard total > 0 else { return nil }
        var missing = Int((Double(total) * share).rounded(.up))
        for (step, count) in counts.enumerated() {
            missing -= Int(count)
            if missing <= 0 {
                let power = step / 2
                return step % 2 == 0 ? (power == 0 ? 1 : 3 << (power - 1)) : 2 << power
            }
        }
        return nil
    }
}
