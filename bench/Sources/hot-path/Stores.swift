// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import MediaTokens
import PlaybackGate
import RedisStore
import ReplayStores
import SQLiteStore

extension HotPath {
    /// Measures uses of 64 concurrent playbacks. Concurrent uses are written together.
    static func stores(_ options: Options) async throws {
        guard options.only == nil else { return }
        let issued = try SignedToken()
        let (rounds, usesOfRound) = (5, 1000)
        let verifier = try issued.verifier()
        let uses = try issued.tokens(rounds * usesOfRound).map { text in
            guard
                case .valid(let token, _) = verifier.authenticate(
                    String(decoding: text, as: UTF8.self),
                    at: SignedToken.time
                )
            else { fatalError("a token does not verify") }
            return TokenUse(token)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var stores: [(name: String, store: any ReplayStore)] = [
            ("memory", MemoryReplayStore()),
            ("SQLite", try SQLiteReplayStore(path: folder.appendingPathComponent("uses").path)),
        ]
        let server = try RedisProcess(in: folder.path)
        var connection: Task<Void, Never>?
        defer {
            connection?.cancel()
            server?.stop()
        }
        if let server {
            let redis = RedisReplayStore(RedisSettings(.one(.unix(path: server.socket))))
            connection = Task { await redis.run { _ in } }
            var patience = 500
            while patience > 0, (try? await redis.check()) == nil {
                patience -= 1
                try await Task.sleep(for: .milliseconds(10))
            }
            stores.append(("Redis, written to the disk", redis))
        } else {
            print("\nRedis is skipped: not installed; run scripts/setup test")
        }
        let table = Table("Uses in stores, 64 playbacks at once: the time of one", options: options)
        for round in 0..<rounds {
            let part = uses[(round * usesOfRound)..<((round + 1) * usesOfRound)]
            for (name, store) in stores {
                table.add(name, nanoseconds: try await nanoseconds(of: store, uses: Array(part)))
            }
        }
        table.report()
    }

    /// Returns the time of one recorded use in nanoseconds.
    private static func nanoseconds(of store: any ReplayStore, uses: [TokenUse]) async throws -> Double {
        let start = limits_now()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for part in 0..<64 {
                group.addTask {
                    var recorded = 0
                    for number in stride(from: part, to: uses.count, by: 64) {
                        let outcome = try await store.record(uses[number], at: SignedToken.time)
                        recorded += outcome == .recorded ? 1 : 0
                    }
                    return recorded
                }
            }
            let recorded = try await group.reduce(0, +)
            guard recorded == uses.count else { fatalError("\(recorded) of \(uses.count) recorded") }
        }
        return Double(limits_now() - start) / Double(uses.count)
    }
}

/// A Redis server of this benchmark, with an append-only file.
private final class RedisProcess {
    let socket: String
    private let process = Process()

    init?(in folder: String) throws {
        guard
            let program = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].first(
                where: FileManager.default.isExecutableFile(atPath:)
            )
        else { return nil }
        socket = folder + "/redis.sock"
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "", "--appendonly", "yes",
        ]
        // An inherited pipe would keep the reader of this program's output waiting for both processes.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<400 where !FileManager.default.fileExists(atPath: socket) { usleep(10_000) }
    }

    func stop() { kill(process.processIdentifier, SIGKILL) }
}
