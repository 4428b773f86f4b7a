// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import GateAPI
internal import NIOCore

/// Watches a running gate by the metrics of its admin listener.
package struct GateMonitor: Sendable {
    private let client: ListenerClient

    /// The address of the admin listener, as in the configuration.
    package var address: String { client.address }

    /// Reads the address of the admin listener.
    ///
    /// - Parameter path: The path of the configuration file.
    /// - Throws: `ConfigurationError` if the section cannot be read, or names no usable address.
    package init(configurationFile path: String) throws(ConfigurationError) {
        client = try ListenerClient(configurationFile: path)
    }

    /// Asks for the faults of the gate, and for a reload that was rejected.
    ///
    /// - Throws: `ListenerClient.Failure` if no admin listener answers.
    package func health() async throws(ListenerClient.Failure) -> HealthReport { try await client.health() }

    /// Reads the metrics as they are now.
    ///
    /// - Throws: `ListenerClient.Failure` if no admin listener answers.
    package func sample() async throws(ListenerClient.Failure) -> MetricsSample {
        let (status, body) = try await client.get("/metrics", upTo: 1 << 20)
        let sample = MetricsSample(String(buffer: body), at: .now)
        guard status == 200, sample.first("playgate_build_info") != nil else {
            throw ListenerClient.Failure(reason: "the answer, with status \(status), is not that of an admin listener")
        }
        return sample
    }
}

/// The metrics of a gate at one moment.
package struct MetricsSample: Sendable {
    private let values: [(name: Substring, labels: [Substring: Substring], value: Double)]
    private let time: ContinuousClock.Instant

    /// Reads the text format of Prometheus, as a gate writes it. Other lines are skipped.
    package init(_ text: String, at time: ContinuousClock.Instant) {
        self.time = time
        values = text.split(separator: "\n").compactMap { line in
            guard line.first != "#", let space = line.lastIndex(of: " ") else { return nil }
            let number = line[line.index(after: space)...]
            guard let value = number == "+Inf" ? .infinity : Double(number) else { return nil }
            let series = line[..<space]
            guard let open = series.firstIndex(of: "{") else { return (series, [:], value) }
            return (series[..<open], Self.labels(series[series.index(after: open)...].dropLast()), value)
        }
    }

    /// Reads `NAME="VALUE",…`. The gate's own values have no escapes that would end one early.
    private static func labels(_ text: Substring) -> [Substring: Substring] {
        var labels: [Substring: Substring] = [:]
        var rest = text
        while let mark = rest.firstIndex(of: "="), let start = rest[mark...].firstIndex(of: "\"") {
            let value = rest[rest.index(after: start)...]
            guard let end = value.firstIndex(of: "\"") else { break }
            labels[rest[..<mark]] = value[..<end]
            rest = value[value.index(after: end)...].drop { $0 == "," }
        }
        return labels
    }

    /// The value of a metric; the first one of several series, and `nil` for none.
    package func first(_ name: String) -> Double? { values.first { $0.name == name[...] }?.value }

    /// The values of a metric with several series, by one of their labels.
    package func all(_ name: String, by label: String) -> [(label: String, value: Double)] {
        values.filter { $0.name == name[...] }.compactMap { series in
            series.labels[label[...]].map { (String($0), series.value) }
        }
    }

    /// A label of the first series of a metric.
    package func label(_ label: String, of name: String) -> String? {
        values.first { $0.name == name[...] }?.labels[label[...]].map { String($0) }
    }

    // MARK: Since an earlier sample

    /// The seconds since an earlier sample, at least a millisecond.
    package func seconds(since earlier: MetricsSample) -> Double {
        max(Double((time - earlier.time) / .milliseconds(1)) / 1000, 0.001)
    }

    /// The decisions since an earlier sample, by outcome and code, the most frequent first.
    package func decisions(since earlier: MetricsSample) -> [(decision: String, code: String, count: Double)] {
        let name = "playgate_decisions_total"
        return values.filter { $0.name == name }
            .compactMap { series -> (decision: String, code: String, count: Double)? in
                let before = earlier.values.first { $0.name == name && $0.labels == series.labels }?.value ?? 0
                guard series.value > before, let decision = series.labels["decision"], let code = series.labels["code"]
                else {
                    return nil
                }
                return (String(decision), String(code), series.value - before)
            }
            .sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    }

    /// The increase of a counter, with all its series.
    package func increase(of name: String, since earlier: MetricsSample) -> Double {
        let sum = { (sample: MetricsSample) in sample.values.reduce(0) { $1.name == name[...] ? $0 + $1.value : $0 } }
        return max(sum(self) - sum(earlier), 0)
    }

    /// The bound that a share of a histogram's values since an earlier sample did not exceed, in seconds; `nil` without values.
    package func quantile(_ share: Double, of name: String, since earlier: MetricsSample) -> Double? {
        let bucket = name + "_bucket"
        var total = 0.0
        var counts: [(bound: Double, count: Double)] = []
        for series in values where series.name == bucket[...] {
            guard let text = series.labels["le"] else { continue }
            let before = earlier.values.first { $0.name == bucket[...] && $0.labels == series.labels }?.value ?? 0
            let bound = text == "+Inf" ? .infinity : Double(text) ?? .infinity
            let count = max(series.value - before, 0)
            total = max(total, count)
            counts.append((bound, count))
        }
        guard total > 0 else { return nil }
        return counts.sorted { $0.bound < $1.bound }.first { $0.count >= total * share }?.bound
    }
}
