// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Traffic Server's plugin as `make test` builds it.
enum TrafficServerModule {
    static let file = "\(repository)/.build-trafficserver/playgate.so"

    static var isBuilt: Bool {
        FileManager.default.fileExists(atPath: file) && EdgeProxy.trafficserver.executable != nil
    }

    /// The policy that the page prints.
    static let policy = "policy=unix:/run/playgate/api.sock @pparam=key=/etc/trafficserver/playgate.key"

    /// The lines of `records.config` for a test that counts what the origin gets, and looks at counters and reloads. Statistics are not
    /// summed up more often: Traffic Server 9.2 crashes if that happens while its last threads are being made.
    static let records = """
        CONFIG proxy.config.http.wait_for_cache INT 1
        CONFIG proxy.config.raw_stat_sync_interval_ms INT 3000
        CONFIG proxy.config.exec_thread.limit INT 4
        CONFIG proxy.config.config_update_interval_ms INT 100
        CONFIG proxy.config.process_manager.timeout INT 1

        """
}

extension EdgePage {
    /// The file by which the start of a Traffic Server is held: it accepts connections, and has no threads for tasks yet.
    static func hold(in folder: TemporaryFolder) -> String { folder.file("clock.hold") }

    /// The page's configuration, with the clock of the test.
    func trafficServerModule() throws -> Start {
        let port = try options.port ?? RunningEdge.freePort()
        let server = try TrafficServerFolder(in: folder, name: "trafficserver-\(port)")
        var remap = try replaced(try block("remap", waiting: ["ask_timeout=300 ": "ask_timeout=10000 "]))
        if let prefix = options.tokenSegment {
            let last = "@pparam=token=header=X-Media-Token"
            remap = remap.replacing(last, with: "\(last) @pparam=token=segment=\(prefix)")
        }
        remap = remap.replacing("@plugin=playgate.so", with: "@plugin=\(TrafficServerModule.file)")
            .replacing(TrafficServerModule.policy, with: "policy=unix:\(folder.file("api.sock"))")
            .replacing("policy.json", with: folder.file("policy.json"))
            .replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)")
        try server.write("remap.config", contents: remap)
        try server.write("playgate.config", contents: try block("header-rewrite"))
        // Other formats have no token either.
        let logging = try block("logging").replacing("%<cquuc>", with: "%<cquuc> %<cquc> %<cqtx> %<{Cookie}cqh>")
        try server.write("logging.yaml", contents: logging)
        let records =
            try block("records").replacing("STRING 8088", with: "STRING \(port):ip-in=127.0.0.1")
            + TrafficServerFolder.records + TrafficServerModule.records
        // As the user of the tests: the gate's sockets are for that one, and what the manager starts as another preloads nothing.
        let own = records.replacing("user_id STRING trafficserver", with: "user_id STRING #-1")
        try #require(own != records)
        let isHeld = FileManager.default.fileExists(atPath: Self.hold(in: folder))
        try server.write(
            "records.config",
            contents: isHeld
                ? own.replacing("wait_for_cache INT 1", with: "wait_for_cache INT 0").replacing(
                    "ms INT 3000",
                    with: "ms INT 600000"
                )
                : own
        )
        // Traffic Server's own events depend on a clock that runs.
        let variables =
            try PreloadedClock.environment(folder, for: "playgate")
            + ["PLAYGATE_HOLD=\(Self.hold(in: folder))"]
        let name = options.isManaged ? "traffic_manager" : "traffic_server"
        let program = try #require(Program.installed(name), "\(name) is not installed: run scripts/setup test")
        return (variables + [program] + server.arguments, "127.0.0.1:\(port)")
    }
}

/// A Traffic Server under its manager.
struct ManagedTrafficServer: Sendable {
    /// The folder in which Traffic Server has all its files.
    private let root: String

    /// Finds the one that runs in `folder`.
    init(_ folder: TemporaryFolder) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        root = folder.file(try #require(names.first { $0.hasPrefix("trafficserver-") }))
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
    }

    private func command(_ words: String...) throws -> CommandRun {
        let program = try #require(Program.installed("traffic_ctl"))
        return try CommandRun(program, arguments: ["--run-root=\(root)/runroot.yaml"] + words)
    }

    func counter(_ name: String) throws -> Int? {
        try command("metric", "get", "plugin.playgate.\(name)").output.split { !$0.isNumber }.last.flatMap { Int($0) }
    }

    /// The number of the process that serves requests.
    func process() throws -> Int {
        let number = { (try? text("run/server.lock")).flatMap { Int($0.filter(\.isNumber)) } }
        #expect(eventually { number() != nil })
        return try #require(number())
    }

    /// The number of its threads with this name.
    func threads(named name: String) throws -> Int {
        let tasks = "/proc/\(try process())/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).count {
            (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)) == "\(name)\n"
        }
    }

    /// The number of its threads that follow policies.
    func followers() throws -> Int { try threads(named: "playgate-policy") }

    /// Changes `remap.config`, and waits until Traffic Server has read it.
    func reload(
        _ number: Int,
        expecting result: String = "finished loading",
        replacing: (printed: String, other: String)? = nil
    ) throws {
        let said = { try text("log/diags.log").split(separator: "\n").count { $0.contains("remap.config \(result)") } }
        let (before, good) = (try said(), try text("etc/remap.config"))
        let changed = replacing.map { good.replacing($0.printed, with: $0.other) } ?? good
        #expect(changed != good || replacing == nil)
        try Data("\(changed)# \(number)\n".utf8).write(to: URL(filePath: "\(root)/etc/remap.config"))
        #expect(try command("config", "reload").status == 0)
        #expect(try eventually(within: 30) { try said() > before }, "reload \(number)")
        if result == "failed to load" { try Data(good.utf8).write(to: URL(filePath: "\(root)/etc/remap.config")) }
    }
}
