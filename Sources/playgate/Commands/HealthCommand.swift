// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import Encodings
import GateAPI
import GateAdmin

struct HealthCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running gate if it is ready.",
        discussion: """
            Asks the admin listener of the configuration, as GET /readyz does: a key is valid, the store can record, the \
            catalogue has entries. Exits with 0 if the gate is ready, with 1 if it has a fault, and with 2 if no gate answers. \
            A reload that was rejected is told with its line, and is no fault: the gate goes on by its previous configuration. \
            With --wait it asks again, ten times a second, until the gate is ready.
            """
    )

    @Option(help: ArgumentHelp("The gate's configuration file (YAML).", valueName: "file"), completion: .file())
    var config = "/etc/playgate/gate.yaml"

    @Option(
        help: ArgumentHelp(
            "The time within which the gate has to become ready, up to 1h; none by default.",
            valueName: "duration"
        )
    )
    var wait: DurationArgument?

    @Flag(help: "Print a JSON object.")
    var json = false

    var answersInJSON: Bool { json }

    func validate() throws {
        if let wait, !(Duration.zero...(.seconds(3600)) ~= wait.duration) {
            throw ValidationError("--wait is at most 1h")
        }
    }

    func run() async throws {
        let check: HealthCheck
        do throws(ConfigurationError) { check = try HealthCheck(configurationFile: config) } catch {
            throw CommandFailure("\(error)", code: "configuration_invalid")
        }
        let report: HealthReport
        do throws(ListenerClient.Failure) { report = try await ask(check).get() } catch {
            throw CommandFailure("no gate answers at \(check.address): \(error.reason)", code: "gate_unreachable")
        }
        Terminal.output.write(
            json ? Self.json(address: check.address, report: report) : Self.text(address: check.address, report: report)
        )
        if !report.faults.isEmpty { throw ExitCode.refused }
    }

    private typealias Answer = Result<HealthReport, ListenerClient.Failure>

    /// Asks until the gate is ready, or the wait is over. Returns the last answer.
    private func ask(_ check: HealthCheck) async -> Answer {
        let end = ContinuousClock.now + (wait?.duration ?? .zero)
        while true {
            let answer: Answer
            do throws(ListenerClient.Failure) { answer = .success(try await check.report()) } catch {
                answer = .failure(error)
            }
            if case .success(let report) = answer, report.faults.isEmpty { return answer }
            guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(100))) != nil else {
                return answer
            }
        }
    }

    private static func json(address: String, report: HealthReport) -> String {
        let answer = JSON.object([
            ("ready", .bool(report.faults.isEmpty)), ("admin", .string(address)), ("faults", .object(report.faults)),
            ("rejectedReload", .array(report.rejectedReload.map { .string($0) })),
        ])
        return answer.line + "\n"
    }

    private static func text(address: String, report: HealthReport) -> String {
        let isReady = report.faults.isEmpty
        let head = isReady ? Style.green("✔") + " ready" : Style.red("✘") + " not ready"
        let faults = report.faults.map { "  \($0.name): \($0.value.text ?? $0.value.line)\n" }
        let reload = report.rejectedReload.map { Style.yellow("  reload rejected: \($0)") + "\n" }
        return head + ": admin \(address)\n" + (faults + reload).joined()
    }
}
