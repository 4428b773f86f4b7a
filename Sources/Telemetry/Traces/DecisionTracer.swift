// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import GateConfiguration
package import Metrics
internal import Platform
package import PlaybackGate
internal import Synchronization

/// Makes spans of decisions, and stores them until they are sent.
///
/// A decision gets a span if its caller may have recorded its trace, or, without a parent, if its trace is in the configured share. A
/// viewer can send the field of a parent through an edge, so the number of spans in a second is limited. A decision waits for nothing:
/// while the collector is away, spans beyond the buffer are dropped and counted.
package final class DecisionTracer: DecisionObserver {
    private let share: SampleShare
    private let limit: Int
    private let state = Mutex(State())
    private let counters: Counters

    /// The most spans that wait.
    package static let capacity = 8192

    private struct State {
        /// Spans in the form for sending. A decision's own texts would retain the head of its request.
        var spans: [[UInt8]] = []
        /// The present second, and the number of its spans.
        var second: Int64 = 0
        var count = 0
    }

    /// The results of spans.
    package struct Counters: Sendable {
        /// The spans that the collector has accepted, and those that it has refused.
        package let sent, refused: Counter
        /// The spans beyond the limit or the buffer.
        package let dropped: Counter

        package init(factory: any MetricsFactory) {
            func counter(_ result: String) -> Counter {
                Counter(label: "playgate_spans", dimensions: [("result", result)], factory: factory)
            }
            (sent, refused, dropped) = (counter("sent"), counter("refused"), counter("dropped"))
        }
    }

    /// - Parameters:
    ///   - share: The share of decisions without a parent that get a span.
    ///   - limit: The most spans in a second.
    package init(share: SampleShare, limit: Int, _ counters: Counters) {
        (self.share, self.limit, self.counters) = (share, limit, counters)
    }

    package func observe(_ event: DecisionEvent) {
        let client = event.client
        let isSampled =
            client.parent == .none ? share.contains(randomness: client.trace.low) : client.parent.isSampled
        guard isSampled else { return }
        let second = event.time.millisecondsSince1970 / 1000
        let hasRoom = state.withLock { state in
            if state.second != second { (state.second, state.count) = (second, 0) }
            state.count += 1
            return state.count <= limit && state.spans.count < Self.capacity
        }
        guard hasRoom else {
            counters.dropped.increment()
            return
        }
        // Outside of the lock. As many more as there are threads may wait than the capacity.
        let span = DecisionSpan(event).text
        state.withLock { $0.spans.append(span) }
    }

    /// Removes and returns the oldest spans, at most `count`.
    package func removeOldest(_ count: Int) -> [[UInt8]] {
        state.withLock { state in
            let taken = Array(state.spans.prefix(count))
            state.spans.removeFirst(taken.count)
            return taken
        }
    }
}
