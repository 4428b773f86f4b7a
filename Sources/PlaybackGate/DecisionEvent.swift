// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A decision and the facts about it that logs and metrics use.
///
/// The event holds no encoded token. The authentic token in `decision` contains the viewer's session GUID: do not log it in
/// clear.
public struct DecisionEvent: Sendable {
    /// The requested media.
    public let target: PlaybackRequest.Target
    /// The caller of the request.
    public let client: PlaybackRequest.Client
    /// The decision.
    public let decision: Decision
    /// The time of receipt.
    public let time: Timestamp
    /// The duration of the whole decision.
    public let latency: Duration
    /// The latency of the replay store; `nil` if it was not called or answers without input and output.
    public let storeLatency: Duration?
}

/// An observer of every decision. It is called on the thread that made the decision, so it must return quickly.
public protocol DecisionObserver: Sendable {
    /// Records a decision.
    func observe(_ event: DecisionEvent)
}

/// An observer that ignores every decision.
public struct NoObserver: DecisionObserver {
    /// Creates an observer.
    public init() {}

    public func observe(_: DecisionEvent) {}
}

/// An observer that forwards every decision to several observers in order.
public struct DecisionObservers: DecisionObserver {
    private let first: any DecisionObserver

    /// Creates an observer from several.
    public init(_ observers: [any DecisionObserver]) {
        guard let last = observers.last else {
            first = NoObserver()
            return
        }
        first = observers.dropLast().reversed().reduce(last) { Pair($1, then: $0) }
    }

    public func observe(_ event: DecisionEvent) { first.observe(event) }

    /// Two observers. Reading an array would count references for each element, and all threads share those counts.
    private final class Pair: DecisionObserver {
        private let first: any DecisionObserver
        private let second: any DecisionObserver

        init(_ first: any DecisionObserver, then second: any DecisionObserver) {
            self.first = first
            self.second = second
        }

        func observe(_ event: DecisionEvent) {
            first.observe(event)
            second.observe(event)
        }
    }
}
