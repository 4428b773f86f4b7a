// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Clients without a key that try to exhaust memory: a process with a memory limit, and 4,096 connections.
@Suite(.serialized) struct `A gate under 4,096 hostile connections` {
    private static let connections = 4096

    /// The maximum resident memory of the process, in bytes.
    private static let limit = 150 << 20

    /// The data that a client sends repeatedly on its connection, without reading.
    enum Attack: String, CaseIterable, Sendable {
        case documentsNeverRead = "asks for documents, and reads none"
        case requestsAhead = "sends small requests ahead, and reads nothing"
        case bodiesWithoutKey = "sends bodies without a key"
        case chunksWithoutKey = "sends chunks without a key"
        case headersWithoutEnd = "sends headers without an end"
        case bodiesWithKey = "sends bodies with a key, and stops before their end"

        /// The bytes of a client, by its number: enough to fill the system's buffers, and much more for some clients.
        func bytes(_ number: Int) -> [UInt8] {
            let isInsistent = number.isMultiple(of: 16)
            let json = "Content-Type: application/json\r\n"
            let head = "POST /v1/playback/batch HTTP/1.1\r\nHost: g\r\n\(json)"
            let filler = String(repeating: "x", count: 16 * 1024)
            let text =
                switch self {
                case .documentsNeverRead:
                    String(repeating: "GET /openapi.yaml HTTP/1.1\r\nHost: g\r\n\r\n", count: isInsistent ? 100 : 6)
                case .requestsAhead:
                    String(repeating: "GET / HTTP/1.1\r\nHost: g\r\n\r\n", count: isInsistent ? 1000 : 20)
                case .bodiesWithoutKey: "\(head)Content-Length: 2000000\r\n\r\n\(filler)\(filler)"
                case .chunksWithoutKey:
                    "\(head)Transfer-Encoding: chunked\r\n\r\n4000\r\n\(filler)\r\n4000\r\n\(filler)"
                case .headersWithoutEnd:
                    "GET /v1/codes HTTP/1.1\r\nHost: g\r\nX: \(filler)\r\nY: \(filler.dropLast(400))"
                case .bodiesWithKey:
                    "\(head)Authorization: Bearer \(`A gate under 4,096 hostile connections`.key)\r\nContent-Length: 2000000\r\n\r\n\(filler)\(filler)"
                }
            return [UInt8](text.utf8)
        }
    }

    /// A key that is in the configuration.
    private static let key = "pg_0123456789abcdef0123456789abcdef"

    @Test(.needsOpenFiles(9000), .needsMemoryLimit, arguments: Attack.allCases)
    func `stays alive and small`(attack: Attack) async throws {
        try #require(raiseFileLimit(to: 9000), "raise the hard limit of open files (ulimit -Hn)")
        let folder = try TemporaryFolder()
        let digest = try Self.digest(Self.key)
        let configuration = ServedGate.configuration("{ advanced: { capacity: 10000 } }")
            .replacing(
                "api: { listen: \"127.0.0.1:0\", anonymous: true, hosts: [gate, g] }",
                with: """
                    api:
                      listen: "127.0.0.1:0"
                      keys: [{ name: player-backend, sha256: "\(digest)", scopes: [playback] }]
                    advanced: { limits: { connectionsPerPeer: 4096 } }
                    """
            )
        let limiter = try #require(Program.installed("prlimit"), "there is no limit for memory")
        let gate = try ServedGate(
            in: folder,
            configuration: configuration,
            under: [limiter, "--data=\(4 * Self.limit)"]
        )
        try await onThread {
            let before = try gate.metric("process_resident_memory_bytes")
            var peak = before
            var clients: [HTTPConnection] = []
            for number in 0..<(Self.connections - 1) {
                clients.append(try HTTPConnection(gate.api, receiveBuffer: 4096))
                _ = try? clients[number].sendWhatFits(attack.bytes(number))
                if number.isMultiple(of: 512) { peak = max(peak, try gate.metric("process_resident_memory_bytes")) }
            }
            // A second round, if the buffers have room again.
            for (number, client) in clients.enumerated() where number.isMultiple(of: 16) {
                _ = try? client.sendWhatFits(attack.bytes(number))
            }
            peak = max(peak, try gate.metric("process_resident_memory_bytes"))
            #expect(peak < Self.limit, "\(attack.rawValue): \(before >> 20) MiB before, \(peak >> 20) MiB at most")
            #expect(gate.program.isRunning)
            // A well-behaved client still gets a place.
            let answer = try HTTPConnection(gate.api).request("GET", path: "/v1/codes/expired")
            #expect(answer.status == 200, "\(attack.rawValue)")
            clients.removeAll()
            #expect(try eventually { try gate.metric("playgate_connections_open{listener=\"api\"}") <= 1 })
        }
        #expect(gate.program.isRunning, "\(gate.program.output.suffix(2000))")
    }

    private static func digest(_ text: String) throws -> String {
        let openssl = try #require(Program.installed("openssl"))
        let run = try CommandRun(openssl, arguments: ["dgst", "-sha256", "-r"], input: [UInt8](text.utf8))
        #expect(run.status == 0, "\(run)")
        return String(run.output.prefix(64))
    }
}
