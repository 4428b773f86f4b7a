// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import Encodings
import GateAPI
import GateAdmin
import Platform

struct TopCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch a running gate: decisions a second by code, latency, store, caches, keys.",
        discussion: """
            Reads the metrics of the configuration's admin listener again and again, until it is interrupted or has shown \
            --count intervals. On a terminal the table stays in its place; elsewhere one follows the other, and with --json \
            an object a line. Exits with 2 if no gate answers; a gate that is away later is waited for.
            """
    )

    @Option(help: ArgumentHelp("The gate's configuration file (YAML).", valueName: "file"), completion: .file())
    var config = "/etc/playgate/gate.yaml"

    @Option(help: ArgumentHelp("The time between two tables, from 100ms to 1h.", valueName: "duration"))
    var interval = DurationArgument(milliseconds: 1000)

    @Option(help: ArgumentHelp("The number of tables; no end by default.", valueName: "number"))
    var count: Int?

    @Flag(help: "Print a JSON object for each interval.")
    var json = false

    var answersInJSON: Bool { json }

    func validate() throws {
        guard .milliseconds(100) ... .seconds(3600) ~= interval.duration else {
            throw ValidationError("--interval is from 100ms to 1h")
        }
        if let count, count < 1 { throw ValidationError("--count is at least 1") }
    }

    func run() async throws {
        let monitor: GateMonitor
        do throws(ConfigurationError) { monitor = try GateMonitor(configurationFile: config) } catch {
            throw CommandFailure("\(error)", code: "configuration_invalid")
        }
        var before: MetricsSample
        do throws(ListenerClient.Failure) { before = try await monitor.sample() } catch {
            throw CommandFailure("no gate answers at \(monitor.address): \(error.reason)", code: "gate_unreachable")
        }
        var samples = 0
        while count.map({ samples < $0 }) ?? true {
            try await Task.sleep(for: interval.duration)
            do throws(ListenerClient.Failure) {
                let now = try await monitor.sample()
                show(GateReading(now, since: before, health: try await monitor.health()), at: monitor.address)
                before = now
            } catch { showFailure(error, at: monitor.address) }
            samples += 1
        }
    }

    private func show(_ reading: GateReading, at address: String) {
        if json {
            Terminal.output.write(reading.json.line + "\n")
        } else {
            Terminal.output.write(clearing + reading.table(address))
        }
    }

    private func showFailure(_ failure: ListenerClient.Failure, at address: String) {
        let text = "no gate answers at \(address): \(failure.reason)"
        let answer = JSON.object([("error", .string("gate_unreachable")), ("message", .string(text))])
        Terminal.output.write(json ? answer.line + "\n" : clearing + Style.red(text) + "\n")
    }

    /// On a terminal, the first position and an empty screen: ECMA-48, CUP and ED.
    private var clearing: String { Terminal.output.isInteractive ? "\u{1B}[H\u{1B}[J" : "" }
}

/// The state of a gate over an interval.
private struct GateReading {
    private let now: MetricsSample
    private let before: MetricsSample
    private let health: HealthReport
    private let decisions: [(decision: String, code: String, count: Double)]
    private let seconds: Double

    /// The most codes of a table.
    private static let rows = 16
    private static let duration = "playgate_decision_duration_seconds"
    private static let storeDuration = "playgate_store_duration_seconds"

    init(_ now: MetricsSample, since before: MetricsSample, health: HealthReport) {
        (self.now, self.before, self.health) = (now, before, health)
        decisions = now.decisions(since: before)
        seconds = now.seconds(since: before)
    }

    /// The days until a trusted key expires; infinite for one that does not.
    private var keys: [(label: String, value: Double)] {
        now.all("playgate_trusted_key_expiry_timestamp_seconds", by: "key")
    }

    /// The share of look-ups in a cache that found something; `nil` without look-ups.
    private func share(_ name: String) -> Double? {
        let counts = Dictionary(now.all(name, by: "result").map { ($0.label, $0.value) }) { $1 }
        let earlier = Dictionary(before.all(name, by: "result").map { ($0.label, $0.value) }) { $1 }
        let found = (counts["hit"] ?? 0) - (earlier["hit"] ?? 0)
        let all = found + (counts["miss"] ?? 0) - (earlier["miss"] ?? 0)
        return all > 0 ? found / all : nil
    }

    // MARK: For people

    func table(_ address: String) -> String {
        let total = decisions.reduce(0) { $0 + $1.count } / seconds
        var lines = [
            Style.bold("playgate \(now.label("version", of: "playgate_build_info") ?? "")") + "  admin \(address)",
            "ready      " + readiness,
            "decisions  \(Self.number(total)) a second, \(Int(now.first("playgate_in_flight") ?? 0)) in flight",
            "latency    " + latency(Self.duration),
            "store      " + store,
        ]
        let caches = [("tokens", "playgate_cache_lookups_total"), ("grants", "playgate_grant_cache_lookups_total")]
            .compactMap { title, name in share(name).map { "\(title) \(Int(($0 * 100).rounded())) %" } }
        if !caches.isEmpty { lines.append("found in   cache: " + caches.joined(separator: ", ")) }
        let open = now.all("playgate_connections_open", by: "listener").map { "\($0.label) \(Int($0.value))" }
        lines.append("connected  " + open.joined(separator: ", "))
        lines.append("keys       " + (keys.isEmpty ? "none" : keys.map(expiry).joined(separator: ", ")))
        lines += warnings.map { Style.yellow($0) }
        lines.append("")
        if decisions.isEmpty { lines.append(Style.faint("no decisions in this interval")) }
        lines += decisions.prefix(Self.rows).map { line(for: $0.decision, code: $0.code, rate: $0.count / seconds) }
        if decisions.count > Self.rows { lines.append(Style.faint("\(decisions.count - Self.rows) more codes")) }
        return lines.joined(separator: "\n") + "\n"
    }

    private var readiness: String {
        if health.faults.isEmpty { return Style.green("yes") }
        let faults = health.faults.map { "\($0.name): \($0.value.text ?? $0.value.line)" }
        return Style.red("no: " + faults.joined(separator: "; "))
    }

    private func latency(_ name: String) -> String {
        let values = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)].compactMap { title, share in
            now.quantile(share, of: name, since: before).map { "\(title) ≤ \(Self.time($0))" }
        }
        return values.isEmpty ? "–" : values.joined(separator: ", ")
    }

    private var store: String {
        let errors = now.increase(of: "playgate_store_errors_total", since: before) / seconds
        let uses = now.first("playgate_store_uses").map { ["\(Int($0)) uses"] } ?? []
        let name = now.label("store", of: "playgate_store_errors_total") ?? ""
        let wait = now.quantile(0.99, of: Self.storeDuration, since: before).map { ["p99 ≤ \(Self.time($0))"] } ?? []
        return ([name] + uses + wait + ["\(Self.number(errors)) errors a second"]).joined(separator: ", ")
    }

    private var warnings: [String] {
        var warnings = health.rejectedReload.map { "reload rejected, the previous configuration is active: \($0)" }
        if let age = now.first("playgate_revocation_mirror_age_seconds"), age > 30 {
            warnings.append("revocations cannot be read: every grant is refused")
        }
        if now.increase(of: "playgate_log_lines_dropped_total", since: before) > 0 {
            warnings.append("log lines are dropped: the output is too slow")
        }
        return warnings
    }

    private func line(for decision: String, code: String, rate: Double) -> String {
        let rate = Self.number(rate)
        let style: Style = decision == "allow" ? .green : decision == "refuse" ? .red : .yellow
        let space = String(repeating: " ", count: max(9 - rate.count, 0))
        return space + rate + "  " + style(decision) + String(repeating: " ", count: max(8 - decision.count, 1)) + code
    }

    /// The names of the trusted keys that are not valid now.
    private var unusable: [String] {
        now.all("playgate_trusted_key_usable", by: "key").filter { $0.value == 0 }.map(\.label)
    }

    private func expiry(_ key: (label: String, value: Double)) -> String {
        let days = (key.value - Double(Timestamp.now().millisecondsSince1970) / 1000) / 86_400
        if days >= 0, unusable.contains(key.label) { return Style.yellow("\(key.label) not valid yet") }
        guard key.value.isFinite else { return "\(key.label) does not expire" }
        let text = "\(key.label) \(days < 0 ? "expired" : "\(Int(days)) days")"
        return days < 30 ? Style.yellow(text) : text
    }

    private static func number(_ value: Double) -> String {
        value >= 100 || value == 0 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
    }

    private static func time(_ seconds: Double) -> String {
        guard seconds.isFinite else { return "more than 2.5 s" }
        return seconds < 0.001 ? "\(Int((seconds * 1e6).rounded())) µs" : "\((seconds * 1e4).rounded() / 10) ms"
    }

    // MARK: For programs

    var json: JSON {
        let codes = decisions.map { row in
            JSON.object([
                ("decision", .string(row.decision)), ("code", .string(row.code)), ("count", .number(Int64(row.count))),
            ])
        }
        let errors = now.increase(of: "playgate_store_errors_total", since: before)
        let latencies: [JSON.Member] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)].map { name, share in
            let value = now.quantile(share, of: Self.duration, since: before)
            return (name, value.flatMap { $0.isFinite ? JSON.number(Int64(($0 * 1e6).rounded())) : nil } ?? .null)
        }
        let expiries = keys.map { key in
            JSON.object([
                ("key", .string(key.label)), ("usable", .bool(!unusable.contains(key.label))),
                ("expires", key.value.isFinite ? .number(Int64(key.value) * 1000) : .null),
            ])
        }
        return .object([
            ("time", .number(Timestamp.now().millisecondsSince1970)), ("milliseconds", .number(Int64(seconds * 1000))),
            ("decisions", .array(codes)),
            ("latencyMicroseconds", .object(latencies)),
            ("inFlight", .number(Int64(now.first("playgate_in_flight") ?? 0))),
            ("store", .optional(now.label("store", of: "playgate_store_errors_total"))),
            ("storeErrors", .number(Int64(errors))),
            ("ready", .bool(health.faults.isEmpty)), ("faults", .object(health.faults)),
            ("keys", .array(expiries)), ("warnings", .array(warnings.map { .string($0) })),
        ])
    }
}
