// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import SQLiteStore
import Testing

/// A store that can no longer record, or may forget, says so before the next decision.
@Suite struct `A store whose ground is gone` {
    private static let now = GateSample.time

    /// What happens to the files of a SQLite store.
    struct Loss: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let act: @Sendable (String) throws -> Void
    }

    private static let losses = ["", "-wal", "-shm"].flatMap { end in
        [
            Loss(testDescription: "uses.sqlite\(end) is deleted") { path in
                try FileManager.default.removeItem(atPath: path + end)
            },
            Loss(testDescription: "uses.sqlite\(end) is moved") { path in
                try FileManager.default.moveItem(atPath: path + end, toPath: path + "-old")
            },
            Loss(testDescription: "uses.sqlite\(end) is replaced by its copy") { path in
                try FileManager.default.copyItem(atPath: path + end, toPath: path + "-copy")
                try FileManager.default.removeItem(atPath: path + end)
                try FileManager.default.moveItem(atPath: path + "-copy", toPath: path + end)
            },
        ]
    }

    @Test(arguments: losses) func `refuses in SQLite`(loss: Loss) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path, busyTimeout: .seconds(20))
        #expect(try await store.record(try GateSample.use(1), at: Self.now) == .recorded)
        try await store.check()
        try loss.act(path)
        let use = try GateSample.use(2)
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.record(use, at: Self.now) }
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.examine(use, at: Self.now) }
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.revocations(after: nil) }
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.check() }
    }

    @Test func `goes on in SQLite when the file is back`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path, busyTimeout: .seconds(20))
        #expect(try await store.record(try GateSample.use(1), at: Self.now) == .recorded)
        try FileManager.default.moveItem(atPath: path, toPath: path + "-old")
        await #expect(throws: ReplayStoreError.self) { try await store.check() }
        try FileManager.default.moveItem(atPath: path + "-old", toPath: path)
        try await store.check()
        #expect(try await store.record(try GateSample.use(1), at: Self.now) == .usedUp)
    }

    /// The files are only for their owner, also those that another version left open to all.
    @Test func `has files that nobody else reads`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        for mode in [nil, 0o644] as [Int?] {
            if let mode { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path) }
            let store = try SQLiteReplayStore(path: path, busyTimeout: .seconds(20))
            try await store.check()
            for end in ["", "-wal", "-shm"] {
                let facts = try FileManager.default.attributesOfItem(atPath: path + end)
                #expect(facts[.posixPermissions] as? Int == 0o600, "\(end)")
            }
        }
    }

    private static let mounts = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        36 22 0:40 / /mnt/nfs rw,relatime shared:2 master:3 - nfs4 server:/x rw
        37 22 0:41 / /mnt/cifs rw - cifs //server/x rw
        38 22 0:42 / /mnt/ssh rw shared:9 - fuse.sshfs u@h:/ rw
        39 22 0:43 / /tmp rw - tmpfs tmpfs rw
        40 22 8:1 / /usb rw - fuseblk /dev/sda1 rw
        41 22 0:44 / /vm rw - 9p share rw
        """

    @Test(
        arguments: [
            (254 << 8, nil), (40, "nfs4"), (41, "cifs"), (42, "fuse.sshfs"), (43, nil), (8 << 8 | 1, nil), (44, "9p"),
            (99, nil),
        ] as [(UInt64, String?)]
    )
    func `is known for one of the network`(device: UInt64, name: String?) {
        #expect(FileSystemKind(device: device, mounts: Self.mounts).networkName == name)
    }

    @Test(.needsRedis) func `refuses when Redis has no memory, and goes on when it has`() async throws {
        let redis = try RedisServer(["--maxmemory", "100mb"])
        let server = try redis.start()
        try await withRedis(redis) { store in
            let now = Timestamp.now()
            #expect(try await store.record(try GateSample.use(1, issued: now), at: now) == .recorded)
            try redis.set("maxmemory", to: "1")
            let use = try GateSample.use(2, issued: now)
            await #expect(throws: ReplayStoreError.self) { try await store.check() }
            await #expect(throws: ReplayStoreError.self) { try await store.record(use, at: now) }
            try await waitUntil { store.gauges.contains { $0.name == "playgate_store_memory_ratio" && $0.value == 1 } }
            try redis.set("maxmemory", to: "0")
            #expect(try await store.record(use, at: now) == .recorded)
        }
        server.signal(SIGTERM)
    }

    @Test(.needsRedis) func `refuses when Redis may evict what it stores`() async throws {
        let redis = try RedisServer(["--maxmemory", "100mb"])
        let server = try redis.start()
        try await withRedis(redis) { store in
            try redis.set("maxmemory-policy", to: "allkeys-lru")
            try await waitUntil { (try? await store.check()) == nil }
            try redis.set("maxmemory-policy", to: "noeviction")
            try await waitUntil { (try? await store.check()) != nil }
        }
        server.signal(SIGTERM)
    }
}

extension RedisServer {
    /// Changes a setting while the server runs.
    fileprivate func set(_ name: String, to value: String) throws {
        let connection = try HTTPConnection("unix:\(socket)")
        try connection.send("CONFIG SET \(name) \(value)\r\n")
        #expect(try connection.line() == "+OK")
    }
}
