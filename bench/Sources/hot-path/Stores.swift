// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateStores
import MediaTokens
import PlaybackGate

extension HotPath {
    /// Uses a second, from 64 playbacks that start at once: what comes together is written together.
    static func stores(_ options: Options) async throws {
        guard options.only == nil else { return }
        let issued = try Issued()
        let uses = try (0..<2000).map { number in
            let claims = TokenClaims(
                requestorID: "REF30",
                resourceID: "TNT",
                mvpdID: "SandboxMVPD",
                userSessionGUID: "viewer-\(number)"
            )
            let text = try issued.issuer.issue(claims, at: Issued.time).serialized
            guard case .valid(let token, _) = try issued.verifier().authenticate(text, at: Issued.time) else {
                fatalError("a token does not verify")
            }
            return TokenUse(token, forgettable: token.expires)
        }
        print("\nUses a second, 64 at once")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await measure("memory", MemoryUseStore(), uses)
        try await measure("SQLite", try SQLiteUseStore(path: folder.appendingPathComponent("uses").path), uses)
        guard let server = try RedisProcess(in: folder.path) else {
            print("  Redis          not installed: scripts/setup test")
            return
        }
        defer { server.stop() }
        let redis = RedisUseStore(RedisSettings(address: .unix(path: server.socket)))
        let connection = Task { try await redis.run() }
        defer { connection.cancel() }
        var patience = 500
        while patience > 0, (try? await redis.check()) == nil {
            patience -= 1
            try await Task.sleep(for: .milliseconds(10))
        }
        try await measure("Redis", redis, uses)
    }

    private static func measure(_ name: String, _ store: any UseStore, _ uses: [TokenUse]) async throws {
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Int.self) { group in
            for part in 0..<64 {
                group.addTask {
                    var recorded = 0
                    for number in stride(from: part, to: uses.count, by: 64) {
                        let outcome = try await store.record(uses[number], at: Issued.time)
                        recorded += outcome == .recorded ? 1 : 0
                    }
                    return recorded
                }
            }
            let recorded = try await group.reduce(0, +)
            guard recorded == uses.count else { fatalError("\(name): \(recorded) of \(uses.count) recorded") }
        }
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        let rate = Double(uses.count) / (Double(seconds) + Double(attoseconds) / 1e18)
        print("  \(name.padding(toLength: 14, withPad: " ", startingAt: 0)) \(Int(rate))")
    }
}

/// A Redis of this benchmark's own, which writes to the disk before it answers.
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
        // It must not hold what this program writes to: whoever reads that would wait for both.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<400 where !FileManager.default.fileExists(atPath: socket) { usleep(10_000) }
    }

    func stop() { kill(process.processIdentifier, SIGKILL) }
}
