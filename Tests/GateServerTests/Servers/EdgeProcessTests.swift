// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Synchronization
import Testing

/// The edge listener of a gate in its own process.
@Suite(.serialized) struct `playgate serve at an edge` {
    private static func configuration(_ listen: String, more: String = "") -> String {
        ServedGate.configuration(
            "{}",
            more: "edge: { listen: \(listen), tokens: [{ query: token }]\(more) }"
        )
        .replacing("resource: TNT }]", with: "resource: TNT }, { path: /live/seg/, resource: TNT, admits: ttl }]")
    }

    private static func check(_ target: String, on connection: HTTPConnection) throws -> Int {
        let headers = ["X-Forwarded-Uri": target, "X-Forwarded-Method": "GET"]
        return try connection.request("GET", path: "/v1/check/forward", headers: headers).status
    }

    @Test(.needsOpenFiles(14_000))
    func `serves others undisturbed by 10,000 idle connections and 1,000 slow ones`() async throws {
        try #require(raiseFileLimit(to: 14_000), "raise the hard limit of open files (ulimit -Hn)")
        let folder = try TemporaryFolder()
        let limits = " }\nadvanced: { limits: { connections: 12000, requestTimeout: 20s, idleTimeout: 10m }"
        let address = "unix:\(folder.file("edge.sock"))"
        let gate = try ServedGate(in: folder, configuration: Self.configuration("\"\(address)\"", more: limits))
        let target = "/live/seg/1?token=\(try await mint(1)[0])"
        try await onThread {
            let first = try HTTPConnection(address)
            #expect(try Self.check(target, on: first) == 200)
            let before = try gate.metric("process_resident_memory_bytes")
            // The first 1,000 send a request; the others never send anything.
            let idle = try (0..<10_000).map { number in
                let connection = try HTTPConnection(address)
                if number < 1000 { #expect(try Self.check(target, on: connection) == 200) }
                return connection
            }
            let slow = try (0..<1000).map { _ in try HTTPConnection(address) }
            let request = Array("GET /v1/check/forward HTTP/1.1\r\nHost: g\r\nX: ".utf8)
            for byte in request {
                // On a busy machine some are closed before they have sent the whole request, as intended.
                for connection in slow { _ = connection.isAccepting([byte]) }
                for _ in 0..<20 { #expect(try Self.check(target, on: first) == 200) }
                #expect(try Self.check(target, on: try HTTPConnection(address)) == 200)
            }
            let after = try gate.metric("process_resident_memory_bytes")
            // 11,000 connections, at most 16 KiB each.
            #expect(after < before + 11_000 << 14, "\((after - before) / 11_000) bytes a connection")
            // A client that sends single bytes is disconnected. A client that waits between requests is not.
            #expect(eventually(within: 60) { slow.allSatisfy { !$0.isAccepting([UInt8(ascii: "x")]) } })
            #expect(try Self.check(target, on: idle[0]) == 200)
        }
    }

    @Test(.needs(.nginx))
    func `loses no request of nginx when it is replaced on a socket that it inherits`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("edge.sock")
        // As with systemd: the socket outlives the gate.
        let socket = try ListeningSocket(path)
        // Beside the inherited socket there may be others.
        let other = "unix:\(folder.file("other.sock"))"
        let configuration = Self.configuration("[\"fd:3\", \"\(other)\"]")
        let gate = Mutex(try ServedGate(in: folder, configuration: configuration, keeping: socket.descriptor))
        let nginx = try RunningEdge(.nginx, in: folder, gate: path)
        let address = nginx.address
        let token = try await mint(1)[0]
        let record = LoadRecord()
        let load = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<4 {
                    group.addTask {
                        try await onThread {
                            let connection = try HTTPConnection(address)
                            var number = 0
                            while !record.isOver {
                                number += 1
                                let path = "/live/seg/\(part)-\(number)?token=\(token)"
                                let status = try connection.request("GET", path: path).status
                                record.add(status)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await onThread {
            for _ in 0..<5 {
                let start = record.count(200)
                #expect(eventually { record.count(200) > start + 200 })
                let old = gate.withLock { $0 }
                old.program.signal(SIGTERM)
                #expect(try old.program.waitUntilExit() == 0)
                let next = try ServedGate(in: folder, configuration: configuration, keeping: socket.descriptor)
                gate.withLock { $0 = next }
            }
            // It may listen there a little later.
            let target = "/live/seg/1?token=\(token)"
            #expect(eventually { (try? Self.check(target, on: HTTPConnection(other))) == 200 })
            record.end()
        }
        try await load.value
        #expect(record.statuses == [200])
    }
}

/// Raises the limit of open files for this process and its children; false if this is not permitted.
func raiseFileLimit(to number: rlim_t) -> Bool {
    let resource = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
    var limit = rlimit()
    // Other tests with many connections may run beside.
    for wanted in [max(number, 40_000), number] {
        unsafe getrlimit(resource, &limit)
        if limit.rlim_cur >= wanted { return true }
        limit.rlim_cur = wanted
        limit.rlim_max = max(limit.rlim_max, wanted)
        if unsafe setrlimit(resource, &limit) == 0 { return true }
    }
    return false
}

/// The responses to a load, and the flag that ends it.
final class LoadRecord: Sendable {
    private let state = Mutex((counts: [Int: Int](), isOver: false))

    var isOver: Bool { state.withLock { $0.isOver } }
    var statuses: Set<Int> { state.withLock { Set($0.counts.keys) } }

    func add(_ status: Int) { state.withLock { $0.counts[status, default: 0] += 1 } }
    func count(_ status: Int) -> Int { state.withLock { $0.counts[status] ?? 0 } }
    func end() { state.withLock { $0.isOver = true } }
}

/// A listening unix socket. This process does not accept connections on it.
final class ListeningSocket: Sendable {
    let descriptor: Int32

    struct Failure: Error { let reason: Int32 }

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let result = unsafe withUnsafePointer(to: &name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 1024) == 0 else { throw Failure(reason: errno) }
    }

    deinit { close(descriptor) }
}
