// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Platform

@main
struct LeakSimulation: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leak-simulation",
        abstract: "Simulate honest and shared playbacks, and let the gate's own watch judge them.",
        discussion: """
            Each playback is simulated request by request: players, networks, cookie jars, answers that cross or get lost. \
            The same seed makes the same playbacks. Prints tables in Markdown.

            Exit codes: 0 all goals are reached, 1 an honest playback was proven to be shared, or a leak was found too late.
            """
    )

    @Option(help: "The number of honest viewer-hours.") var hours = 20_000
    @Option(help: "The number of leaks of each kind.") var leaks = 1000
    @Option(help: "The number of handovers from one device to another.") var handovers = 2000
    @Option(help: "The seed of all random numbers.") var seed: UInt64 = 2026
    @Option(help: "The setting leaks.handover, in seconds.") var handover = 45

    func run() async throws {
        var faults: [String] = []
        print(await honestTable(faults: &faults))
        print(await leakTable(of: Scenario.viewers, count: leaks, title: "Leaks", faults: &faults) { kind in
            setup { $0.count = kind.isOnOtherEdges ? 3 : 1 }
        })
        let title = "Leaks at edges that decide by themselves"
        print(await leakTable(of: [2, 3, 20], count: leaks / 2, title: title, faults: &faults) { kind in
            setup { ($0.count, $0.edges) = kind.isOnOtherEdges ? (2, 4) : (1, 1) }
        })
        for fault in faults { print("FAILED: \(fault)") }
        if !faults.isEmpty { throw ExitCode.failure }
    }

    private func run(_ scenario: Scenario, count: Int, setup: GateInstallation.Setup) async -> Outcomes {
        let bar = Bar(total: count, name: scenario.name)
        defer { bar.clear() }
        return await Simulation(setup: setup, seed: seed).run(scenario, count: count) { bar.show($0) }
    }

    private var setup: GateInstallation.Setup { .init(handover: .seconds(handover)) }

    private func setup(change: (inout GateInstallation.Setup) -> Void) -> GateInstallation.Setup {
        var changed = setup
        change(&changed)
        return changed
    }

    // MARK: One viewer

    private func honestTable(faults: inout [String]) async -> String {
        var reportRates: [String] = []
        var lines = [
            "One viewer, seed \(seed), `handover: \(handover)s`:", "",
            "| playbacks | hours | requests | challenges | of 100,000 hours suspected | proven |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for row in honestRows where row.count > 0 {
            let (name, count, text) = (row.scenario, row.count, row.text)
            guard let scenario = Scenario.all.first(where: { $0.name == name }) else { continue }
            let found = await run(scenario, count: count, setup: row.setup)
            if row.setup.count > 1, !row.setup.isBalanced {
                let rate = Int((Double(found.sentBytes) / found.seconds * 10_000).rounded())
                reportRates.append("\(rate) bytes a second\(row.setup.edges > 0 ? " with those of edges" : "")")
                // Edges and gates report each by themselves.
                if rate > (row.setup.edges > 0 ? 20_000 : 10_000) {
                    faults.append("reports of 10,000 playbacks have \(rate) bytes a second")
                }
            }
            let rate = Int((Double(found.suspected) / found.hours * 100_000).rounded())
            let proofs = name == "handover" ? found.proofs.count.share(of: count) : "\(found.proofs.count)"
            lines.append(
                "| \(text) | \(Int(found.hours)) | \(found.requests) | \(found.challenges) | \(rate) | \(proofs) |"
            )
            if name != "handover", !found.proofs.isEmpty {
                faults.append("\(found.proofs.count) of \(count) playbacks \(name) were proven to be shared")
            }
        }
        lines += ["", "The reports of 10,000 playbacks are \(reportRates.joined(separator: "; "))."]
        return lines.joined(separator: "\n") + "\n"
    }

    /// A row of the table of one viewer.
    private struct HonestRow {
        let scenario: String
        let setup: GateInstallation.Setup
        let count: Int
        let text: String
    }

    private var honestRows: [HonestRow] {
        func row(_ scenario: String, count: Int, setup: GateInstallation.Setup, text: String) -> HonestRow {
            HonestRow(scenario: scenario, setup: setup, count: count, text: text)
        }
        let several = setup { $0.count = 3 }
        let balanced = setup { ($0.count, $0.isBalanced) = (3, true) }
        let edges = setup { ($0.count, $0.edges) = (2, 4) }
        let brief = setup { $0.renewalAge = 60 }
        return [
            row("honest", count: hours, setup: setup, text: "one jar, with tabs, pictures in pictures, downloads"),
            row("honest", count: hours / 4, setup: several, text: "the same with three gates"),
            row("honest", count: hours / 4, setup: edges, text: "the same with four edges that decide by themselves, and two gates"),
            row("honest", count: hours / 20, setup: balanced, text: "the same with three gates behind a load balancer"),
            row("honest-one-player", count: hours / 4, setup: setup, text: "one player"),
            row("honest-busy", count: hours / 20, setup: setup, text: "one jar, with eight times as many rare events"),
            row("honest-busy", count: hours / 20, setup: brief, text: "the same with a renewal each minute"),
            row("handover", count: handovers, setup: setup, text: "a copied cookie in a handover: 8 s at the median"),
        ]
    }

    // MARK: Leaks

    private func leakTable(
        of numbers: [Int],
        count leaks: Int,
        title: String,
        faults: inout [String],
        setup: (Scenario.LeakKind) -> GateInstallation.Setup
    ) async -> String {
        let kinds = Scenario.LeakKind.allCases
        var lines = [
            "\(title), \(leaks) of each kind: seconds after both play, median / p99 (found within five minutes):", "",
            "| viewers | " + kinds.map(\.rawValue).joined(separator: " | ") + " |",
            "| --- | " + kinds.map { _ in "---" }.joined(separator: " | ") + " |",
        ]
        for viewers in numbers {
            var cells: [String] = []
            // A playback of a hundred viewers costs as much as fifty of two.
            let count = max(1, viewers < 20 ? leaks : leaks / 5)
            for kind in kinds {
                let name = "leak-\(viewers)-\(kind.rawValue)"
                guard let scenario = Scenario.all.first(where: { $0.name == name }) else { continue }
                let found = await run(scenario, count: count, setup: setup(kind))
                cells.append(found.cell)
                faults += Goal.of(viewers: viewers, kind).map { $0.faults(of: found) } ?? []
            }
            lines.append("| \(viewers) | " + cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The goal of a kind of leak.
private struct Goal {
    let found: Double
    let median: Double

    /// Returns the goal of leaks with this number of viewers; `nil` if they have none.
    static func of(viewers: Int, _ kind: Scenario.LeakKind) -> Goal? {
        guard kind != .filmInSync else { return nil }
        return switch viewers {
        case 2: Goal(found: 0.99, median: 90)
        case 3: Goal(found: 0.99, median: 45)
        case 20: Goal(found: 0.99, median: 30)
        default: nil
        }
    }

    func faults(of outcomes: Outcomes) -> [String] {
        var faults: [String] = []
        if outcomes.found < found {
            faults.append("\(outcomes.scenario.name): only \(outcomes.cell) were found within five minutes")
        }
        if outcomes.time(of: 0.5) ?? .infinity > median {
            faults.append("\(outcomes.scenario.name): a median of more than \(Int(median)) s: \(outcomes.cell)")
        }
        return faults
    }
}

extension Outcomes {
    /// Median and p99 in seconds, and the share that was found.
    fileprivate var cell: String {
        func text(_ share: Double) -> String { time(of: share).map { "\(Int($0.rounded()))" } ?? "–" }
        return "\(text(0.5))/\(text(0.99)) (\(proofs.count { $0 <= Self.limit }.share(of: count)))"
    }
}

extension Int {
    /// The share of a number in percent, with two decimals.
    fileprivate func share(of count: Int) -> String {
        let hundredths = Int((Double(self) / Double(Swift.max(count, 1)) * 10_000).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) %"
    }
}

/// A progress bar of playbacks.
private struct Bar: Sendable {
    let total: Int
    let name: String

    func show(_ done: Int) {
        var bar = ProgressBar(total: total)
        bar.show(done: done, note: name)
    }

    func clear() { ProgressBar(total: total).clear() }
}
