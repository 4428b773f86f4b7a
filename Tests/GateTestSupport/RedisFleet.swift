// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
private import Synchronization

/// Redis servers and sentinels of one test, on free ports of loopback. They end with the value.
package final class RedisFleet: Sendable {
    package let folder: TemporaryFolder
    private let programs = Mutex<[Int: Program]>([:])

    package init() throws { folder = try TemporaryFolder() }

    deinit { for program in programs.withLock({ $0.values.map(\.self) }) { program.signal(SIGKILL) } }

    /// Starts a server, and returns its port.
    package func start(_ options: [String] = []) throws -> Int {
        let port = try freePort()
        try start(on: port, options)
        return port
    }

    /// Starts a server on `port`.
    package func start(on port: Int, _ options: [String]) throws {
        let arguments = [
            "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder.path, "--save", "", "--dbfilename",
            "\(port).rdb", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--daemonize", "no",
        ]
        try run(arguments + options, on: port)
    }

    /// Starts a sentinel that watches the server on the port `primary` under the name `gate`, and returns its port.
    package func startSentinel(of primary: Int, quorum: Int, downAfter milliseconds: Int = 500) throws -> Int {
        let port = try freePort()
        let file = try folder.write(
            "sentinel-\(port).conf",
            contents: """
                port \(port)
                bind 127.0.0.1
                dir \(folder.path)
                sentinel monitor gate 127.0.0.1 \(primary) \(quorum)
                sentinel down-after-milliseconds gate \(milliseconds)
                sentinel failover-timeout gate 4000

                """
        )
        try run([file, "--sentinel"], on: port)
        return port
    }

    private func run(_ arguments: [String], on port: Int) throws {
        guard let program = Program.installed("redis-server") else { throw RedisServer.NotInstalled() }
        let server = try Program(program, arguments: arguments, log: folder.file("\(port).log"))
        programs.withLock { $0[port] = server }
        let responds = {
            ["PONG", "NOAUTH"].contains { (try? self.command(on: port, words: "PING"))?.hasPrefix($0) ?? false }
        }
        guard eventually({ !server.isRunning || responds() }), server.isRunning else {
            throw RedisServer.NotStarted(log: server.output)
        }
    }

    /// Kills the server on `port`, as a crash does.
    package func kill(_ port: Int) throws {
        let program = programs.withLock { $0.removeValue(forKey: port) }
        program?.signal(SIGKILL)
        try program?.waitUntilExit()
    }

    /// Sends a command to the server on `port`, and returns its reply as `redis-cli` prints it.
    @discardableResult
    package func command(on port: Int, words: String...) throws -> String {
        guard let client = Program.installed("redis-cli") else { throw RedisServer.NotInstalled() }
        let run = try CommandRun(client, arguments: ["-p", "\(port)"] + words)
        return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    // MARK: Sentinels

    /// True if a server copies another one.
    package func isReplica(_ port: Int) throws -> Bool {
        try command(on: port, words: "INFO", "replication").contains("role:slave")
    }

    /// Has a sentinel make the replica of `primary` the primary, if that is still the primary.
    package func orderFailover(_ sentinel: Int, from primary: Int) throws {
        let present = try command(on: sentinel, words: "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "gate")
        if present.hasSuffix("\n\(primary)") { try command(on: sentinel, words: "SENTINEL", "FAILOVER", "gate") }
    }

    // MARK: Cluster

    private static func clusterOptions(_ port: Int) throws -> [String] {
        [
            "--cluster-enabled", "yes", "--cluster-config-file", "nodes-\(port).conf", "--cluster-node-timeout", "1000",
            "--cluster-port", "\(try freePort())",
        ]
    }

    /// Starts the servers of a cluster, which do not know each other yet.
    package func startClusterServers(_ count: Int) throws -> [Int] {
        try (0..<count).map { _ in
            let port = try freePort()
            try start(on: port, Self.clusterOptions(port))
            return port
        }
    }

    /// Starts a cluster of primaries with so many replicas each, and waits until it works.
    package func startCluster(primaries: Int, replicas: Int = 0) throws -> [Int] {
        let ports = try startClusterServers(primaries * (replicas + 1))
        guard let client = Program.installed("redis-cli") else { throw RedisServer.NotInstalled() }
        let made = try CommandRun(
            client,
            arguments: ["--cluster", "create"] + ports.map { "127.0.0.1:\($0)" } + [
                "--cluster-replicas", "\(replicas)", "--cluster-yes",
            ]
        )
        guard made.status == 0, eventually({ ports.allSatisfy(isClusterReady) }) else {
            throw RedisServer.NotStarted(log: made.output + made.error)
        }
        return ports
    }

    /// True if the cluster works, as the server on `port` knows it.
    package func isClusterReady(_ port: Int) -> Bool {
        (try? command(on: port, words: "CLUSTER", "INFO").contains("cluster_state:ok")) ?? false
    }

    /// Moves slots from one primary to another, with their keys.
    package func migrate(_ slots: Int, from source: Int, to target: Int) throws {
        guard let client = Program.installed("redis-cli") else { throw RedisServer.NotInstalled() }
        let arguments = [
            "--cluster", "reshard", "127.0.0.1:\(source)", "--cluster-from",
            try command(on: source, words: "CLUSTER", "MYID"),
            "--cluster-to", try command(on: target, words: "CLUSTER", "MYID"), "--cluster-slots", "\(slots)",
            "--cluster-yes",
        ]
        // It begins only if all servers know of the migration before.
        var run = try CommandRun(client, arguments: arguments)
        _ = try eventually {
            guard run.status != 0, run.output.contains("Nodes don't agree") else { return true }
            run = try CommandRun(client, arguments: arguments)
            return false
        }
        guard run.status == 0 else { throw RedisServer.NotStarted(log: run.output + run.error) }
    }

    // MARK: Sentinel

    /// A primary with one replica and three sentinels.
    package struct Watched: Sendable {
        package let primary: Int
        package let replica: Int
        package let sentinels: [Int]
    }

    /// Starts a primary with one replica and three sentinels, and waits until all know each other.
    package func startWatched() throws -> Watched {
        let primary = try start()
        let replica = try start(["--replicaof", "127.0.0.1 \(primary)"])
        guard
            try eventually({ try command(on: replica, words: "INFO", "replication").contains("master_link_status:up") })
        else {
            throw RedisServer.NotStarted(log: "no replication")
        }
        let sentinels = try (0..<3).map { _ in try startSentinel(of: primary, quorum: 2) }
        let isKnown = { (sentinel: Int) in
            let facts = try self.command(on: sentinel, words: "SENTINEL", "MASTER", "gate")
            return facts.contains("num-slaves\n1\n") && facts.contains("num-other-sentinels\n2\n")
        }
        guard try eventually({ try sentinels.allSatisfy(isKnown) }) else {
            throw RedisServer.NotStarted(log: "the sentinels do not know each other")
        }
        return Watched(primary: primary, replica: replica, sentinels: sentinels)
    }
}
