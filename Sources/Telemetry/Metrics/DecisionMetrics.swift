// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Metrics
internal import Platform
public import PlaybackGate

/// Counts decisions and measures their duration, in the configured backend of swift-metrics.
///
/// - `playgate_decisions`: decisions by `decision` (`allow`, `refuse`, `shadow`) and `code`.
/// - `playgate_decision_duration`: from receipt to decision, with the replay store.
/// - `playgate_store_duration`: the latency of the replay store, if it does input and output.
/// - `playgate_store_errors`: how often the replay store did not answer.
///
/// All labels are of closed lists, and all handles are made once.
public struct DecisionMetrics: DecisionObserver {
    private let allowed: [Counter]
    private let refused: [DenyCode: Counter]
    private let shadowed: [DenyCode: Counter]
    private let duration: Metrics.Timer
    private let storeDuration: Metrics.Timer
    private let storeErrors: Counter

    private static let reasons: [Decision.Allowance.Reason] = [
        .granted, .withinTTL, .verified, .unprotected, .repeated, .useUnknown, .probe, .renewed,
    ]

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - factory: The metrics backend; that of the process by default.
    ///   - store: The name of the replay store.
    public init(factory: any MetricsFactory = MetricsSystem.factory, store: String) {
        let counter = { (decision: String, code: String) in
            Counter(
                label: "playgate_decisions",
                dimensions: [("decision", decision), ("code", code)],
                factory: factory
            )
        }
        allowed = Self.reasons.map { counter("allow", $0.name) }
        refused = Dictionary(uniqueKeysWithValues: DenyCode.allCases.map { ($0, counter("refuse", $0.rawValue)) })
        shadowed = Dictionary(uniqueKeysWithValues: DenyCode.allCases.map { ($0, counter("shadow", $0.rawValue)) })
        duration = Metrics.Timer(label: "playgate_decision_duration", dimensions: [], factory: factory)
        let labels = [("store", store)]
        storeDuration = Metrics.Timer(label: "playgate_store_duration", dimensions: labels, factory: factory)
        storeErrors = Counter(label: "playgate_store_errors", dimensions: labels, factory: factory)
    }

    public func observe(_ event: DecisionEvent) {
        switch event.decision {
        case .refuse(let refusal): refused[refusal.code]?.increment()
        case .allow(let allowance):
            switch allowance.reason {
            case .shadow(let code): shadowed[code]?.increment()
            default:
                guard let index = Self.reasons.firstIndex(of: allowance.reason) else { break }
                allowed[index].increment()
            }
            if allowance.reason == .useUnknown { storeErrors.increment() }
        }
        if event.decision.code == .replayStoreUnavailable { storeErrors.increment() }
        duration.recordNanoseconds(event.latency.nanoseconds)
        if let latency = event.storeLatency { storeDuration.recordNanoseconds(latency.nanoseconds) }
    }

    /// Counts a request that was refused for overload before a decision was made.
    public func countOverload() { refused[.overloaded]?.increment() }
}
