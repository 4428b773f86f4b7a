// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CoreMetrics
internal import Synchronization

/// The metrics of this process, in Prometheus text format.
///
/// Source: Prometheus documentation, "Exposition formats", text format 0.0.4.
package final class PrometheusRegistry: MetricsFactory {
    private let state = Mutex(State())

    /// Creates a registry without metrics.
    package init() {}

    private struct State {
        var counters: [Series: PrometheusCounter] = [:]
        var histograms: [Series: PrometheusHistogram] = [:]
    }

    /// A metric with its labels.
    struct Series: Hashable, Comparable {
        let name: String
        let labels: String

        static func < (left: Series, right: Series) -> Bool {
            (left.name, left.labels) < (right.name, right.labels)
        }
    }

    // MARK: MetricsFactory

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let series = Series(name: label + "_total", labels: Self.labels(dimensions))
        return state.withLock { state in
            let counter = state.counters[series] ?? PrometheusCounter()
            state.counters[series] = counter
            return counter
        }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label + "_seconds", dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        histogram(label, dimensions: dimensions)
    }

    private func histogram(_ name: String, dimensions: [(String, String)]) -> PrometheusHistogram {
        let series = Series(name: name, labels: Self.labels(dimensions))
        return state.withLock { state in
            let histogram = state.histograms[series] ?? PrometheusHistogram()
            state.histograms[series] = histogram
            return histogram
        }
    }

    // Handlers live as long as the process.
    func destroyCounter(_: any CounterHandler) {}
    func destroyRecorder(_: any RecorderHandler) {}
    func destroyTimer(_: any TimerHandler) {}

    // MARK: Text

    /// Returns all metrics, followed by `gauges`.
    package func text(gauges: [PrometheusGauge]) -> String {
        let (counters, histograms) = state.withLock { ($0.counters, $0.histograms) }
        var text = ""
        var lastName = ""
        let head = { (name: String, type: String, help: String) in
            guard name != lastName else { return }
            lastName = name
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        }
        for (series, counter) in counters.sorted(by: { $0.key < $1.key }) {
            head(series.name, "counter", Self.help[series.name] ?? "A count.")
            text += "\(series.name)\(series.labels.isEmpty ? "" : "{\(series.labels)}") \(counter.value)\n"
        }
        for (series, histogram) in histograms.sorted(by: { $0.key < $1.key }) {
            head(series.name, "histogram", Self.help[series.name] ?? "A distribution.")
            histogram.write(series, to: &text)
        }
        // The format demands that the series of one name stand together.
        var (names, series): ([String], [String: [PrometheusGauge]]) = ([], [:])
        for gauge in gauges {
            if series[gauge.name] == nil { names.append(gauge.name) }
            series[gauge.name, default: []].append(gauge)
        }
        for gauge in names.flatMap({ series[$0] ?? [] }) {
            head(gauge.name, gauge.type, gauge.help)
            let labels = Self.labels(gauge.labels)
            text += "\(gauge.name)\(labels.isEmpty ? "" : "{\(labels)}") \(PrometheusGauge.number(gauge.value))\n"
        }
        return text
    }

    private static let help = [
        "playgate_decisions_total": "Decisions of the gate by outcome and code.",
        "playgate_store_errors_total": "Operations that the replay store did not answer.",
        "playgate_decision_duration_seconds":
            "Time from receipt to decision: catalogue, verification, policies and replay store.",
        "playgate_store_duration_seconds": "Time that the replay store took.",
        "playgate_api_requests_total": "Requests to the API by status.",
        "playgate_connections_total": "Accepted connections.",
        "playgate_grants_issued_total": "Grants that were issued, by profile and format.",
        "playgate_grants_renewed_total": "Grants that were renewed, by profile.",
        "playgate_edge_requests_total": "Edge checks by dialect and status.",
        "playgate_spoe_disconnects_total": "Connections of HAProxy that ended by a DISCONNECT frame, by side and code.",
        "playgate_spans_total":
            "Spans of decisions by result: sent, refused by the collector, or dropped beyond traces.advanced.limit or the buffer.",
        "playgate_manifest_requests_total": "Requests for manifests by result.",
        "playgate_manifest_origin_fetch_seconds": "Time from a request to the origin to the end of its answer.",
    ]

    private static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\($0.0)=\"\(escaped($0.1))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

/// A value that is read when metrics are requested.
package struct PrometheusGauge {
    package let name: String
    package var type = "gauge"
    package let help: String
    package var labels: [(String, String)] = []
    package let value: Double

    /// Creates a value of its members.
    package init(name: String, type: String = "gauge", help: String, labels: [(String, String)] = [], value: Double) {
        self.name = name
        self.type = type
        self.help = help
        self.labels = labels
        self.value = value
    }

    /// Formats a number, without a fraction if it is whole.
    package static func number(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}

/// A counter that only grows.
final class PrometheusCounter: CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func increment(by amount: Int64) { count.add(amount, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .relaxed) }
}

/// A histogram of durations, in buckets from 10 µs to 2.5 s.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    private static let bounds: [Int64] = [
        10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
    ]

    private let buckets = (0...bounds.count).map { _ in PrometheusCounter() }
    private let sum = Atomic<Int64>(0)

    func recordNanoseconds(_ duration: Int64) {
        let index = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        buckets[index].increment(by: 1)
        sum.add(duration, ordering: .relaxed)
    }

    func record(_ value: Int64) { recordNanoseconds(value) }

    func record(_ value: Double) { recordNanoseconds(Int64(value)) }

    fileprivate func write(_ series: PrometheusRegistry.Series, to text: inout String) {
        let labels = series.labels.isEmpty ? "" : series.labels + ","
        var total: Int64 = 0
        for (bound, bucket) in zip(Self.bounds, buckets) {
            total += bucket.value
            text += "\(series.name)_bucket{\(labels)le=\"\(Double(bound) / 1e9)\"} \(total)\n"
        }
        total += buckets[Self.bounds.count].value
        text += "\(series.name)_bucket{\(labels)le=\"+Inf\"} \(total)\n"
        let tail = series.labels.isEmpty ? "" : "{\(series.labels)}"
        text += "\(series.name)_sum\(tail) \(Double(sum.load(ordering: .relaxed)) / 1e9)\n"
        text += "\(series.name)_count\(tail) \(total)\n"
    }
}
