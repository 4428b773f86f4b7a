// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CLimits
import Foundation
import MediaTokens

/// A mixed load on gates: first a measurement of their capacity, then a fraction of it for a time, at a steady rate.
///
/// The latency of a request is measured from the moment that it was due, not from when it was sent, so that a stalled gate
/// does not receive fewer requests. Tokens are created in advance, each for the second of its viewer's arrival.
@main
struct Load: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Load gates at a fraction of their capacity, and measure latency and memory."
    )

    @Option(help: ArgumentHelp("A gate: NAME,PORT-OF-API,PORT-OF-EDGE,PROCESS-ID.", valueName: "gate"))
    var gate: [Gate]

    @Option(help: ArgumentHelp("Another process whose memory is watched: NAME,PROCESS-ID.", valueName: "process"))
    var watch: [Watched] = []

    @Option(help: ArgumentHelp("The key that signs tokens.", valueName: "file"))
    var key: String

    @Option(help: ArgumentHelp("A fraction of the capacity and its seconds, such as 0.7:600.", valueName: "phase"))
    var phase: [Phase]

    @Option(help: ArgumentHelp("New viewers per second, each with a token for all gates.", valueName: "number"))
    var viewers = 50

    @Option(help: ArgumentHelp("The lifetime of a token.", valueName: "seconds"))
    var ttl = 30

    @Option(help: ArgumentHelp("Connections to each listener.", valueName: "number"))
    var connections = 32

    @Option(help: ArgumentHelp("The interval between printed lines.", valueName: "seconds"))
    var every = 10

    @Option(help: ArgumentHelp("The capacity, in place of a measurement.", valueName: "requests-per-second"))
    var capacity: Double?

    @Flag(help: "Expects status 200 of every response, and no more: of a server that checks nothing.")
    var bare = false

    @Option(help: ArgumentHelp("Writes the output to a file too, one line of JSON each.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard !gate.isEmpty, !phase.isEmpty else { throw ValidationError("name a gate and a phase") }
        guard capacity ?? 1 > 0 else { throw ValidationError("capacity is above 0") }
        guard viewers > 0, ttl >= 5, connections > 0, every > 0 else {
            throw ValidationError("viewers, connections and every are above 0; ttl is at least 5")
        }
    }

    func run() throws {
        let (settling, measuring) = (4, 4)
        let seconds = settling + measuring + phase.reduce(0) { $0 + $1.seconds } + 5
        let audience = try ViewerLoad(
            key: try String(contentsOfFile: key, encoding: .utf8),
            viewersPerSecond: viewers,
            seconds: seconds,
            timeToLive: ttl
        )
        // A closed connection is detected by the result of `write`, not by a signal.
        signal(SIGPIPE, SIG_IGN)
        // The gates use the other core.
        limits_use_last_core()
        let watched = gate.map { Watched(name: $0.name, process: $0.process) } + watch
        var report = try Report(watched, every: every, json: json)
        let engine = try Engine(to: gate, audience: audience, connections: connections, isBare: bare)
        _ = try engine.run(seconds: settling, rate: nil) { _ in }
        let capacity = try capacity ?? measuredCapacity(by: engine, seconds: measuring, into: &report)
        for phase in phase {
            report.title("\(Int(phase.part * 100)) % of that")
            _ = try engine.run(seconds: phase.seconds, rate: capacity * phase.part) { report.record($0) }
            report.end()
        }
        if engine.failures > 0 {
            print("load: \(engine.failures) unexpected responses, first: \(engine.firstFailure)")
        }
        let growths = report.growths
        for growth in growths ?? [] { print("load: \(growth)") }
        guard engine.failures == 0, growths?.isEmpty ?? true else { throw ExitCode.failure }
        print(
            "load: every response as expected;",
            growths == nil ? "too short to judge memory" : "no growth of memory"
        )
    }

    private func measuredCapacity(by engine: Engine, seconds: Int, into report: inout Report) throws -> Double {
        report.title("capacity")
        let capacity = try engine.run(seconds: seconds, rate: nil) { report.record($0) }
        report.end()
        return capacity
    }
}

/// A gate under load.
struct Gate: ExpressibleByArgument {
    let name: String
    let api: UInt16
    let edge: UInt16
    let process: Int

    init?(argument: String) {
        let parts = argument.split(separator: ",")
        guard parts.count == 4, let api = UInt16(parts[1]), let edge = UInt16(parts[2]), let process = Int(parts[3])
        else { return nil }
        (name, self.api, self.edge, self.process) = (String(parts[0]), api, edge, process)
    }
}

/// A process whose memory is watched.
struct Watched: ExpressibleByArgument {
    let name: String
    let process: Int

    init(name: String, process: Int) { (self.name, self.process) = (name, process) }

    init?(argument: String) {
        let parts = argument.split(separator: ",")
        guard parts.count == 2, let process = Int(parts[1]) else { return nil }
        self.init(name: String(parts[0]), process: process)
    }

    /// The processor time of the process in seconds.
    var processorSeconds: Double {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        // The fields follow the name, which may contain spaces.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        let ticks = fields.count > 13 ? (Double(fields[12]) ?? 0) + (Double(fields[13]) ?? 0) : 0
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Resident memory in bytes.
    var memory: Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}

/// A fraction of the capacity for a number of seconds.
struct Phase: ExpressibleByArgument {
    let part: Double
    let seconds: Int

    init?(argument: String) {
        let parts = argument.split(separator: ":")
        guard parts.count == 2, let part = Double(parts[0]), let seconds = Int(parts[1]) else { return nil }
        guard part > 0, part < 1, seconds > 0 else { return nil }
        (self.part, self.seconds) = (part, seconds)
    }
}
