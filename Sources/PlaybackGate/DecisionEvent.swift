// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A decision that was taken: what logs and metrics are made of.
///
/// It holds no encoded token. The authentic token in `decision` has the viewer's session GUID: do not write it in clear.
public struct DecisionEvent: Sendable {
    /// What was asked for.
    public let target: PlaybackRequest.Target
    /// Who asked.
    public let client: PlaybackRequest.Client
    /// The answer.
    public let decision: Decision
    /// The time of receipt.
    public let time: Timestamp
    /// How long the decision took in all.
    public let latency: Duration
    /// How long the use store took, where it was asked.
    public let storeLatency: Duration?
}

/// Somebody who is told of every decision, on the thread that took it: be quick.
public protocol DecisionObserver: Sendable {
    /// Takes note of a decision.
    func observe(_ event: DecisionEvent)
}

/// An observer who takes note of nothing.
public struct NoObserver: DecisionObserver {
    /// Makes one.
    public init() {}

    public func observe(_: DecisionEvent) {}
}
