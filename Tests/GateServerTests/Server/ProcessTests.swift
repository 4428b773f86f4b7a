// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Synchronization
import Testing

/// Plays every token on `address`, with several concurrent connections.
///
/// - Parameter record: Receives the token's number and the response, or `nil` if there was none.
func playAll(
    _ tokens: [String],
    on address: @escaping @Sendable () -> String,
    connections: Int = 4,
    record: @escaping @Sendable (Int, HTTPConnection.Response?) -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<connections {
            group.addTask {
                try await onThread {
                    var connection: HTTPConnection?
                    for number in stride(from: part, to: tokens.count, by: connections) {
                        do {
                            let open = try connection ?? HTTPConnection(address())
                            connection = open
                            record(number, try ServedGate.play(tokens[number], on: open))
                        } catch {
                            connection = nil
                            record(number, nil)
                            // If the gate is down, wait for it: a request that is never sent proves nothing.
                            _ = eventually { (try? HTTPConnection(address())) != nil }
                        }
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

/// The number of times that each token was allowed, and that each code was returned.
final class Tally: Sendable {
    private let state = Mutex((allowed: [Int: Int](), codes: [String: Int](), lost: 0))

    func add(number: Int, answer: HTTPConnection.Response?) {
        state.withLock { state in
            guard let answer else {
                state.lost += 1
                return
            }
            if answer.status == 200 {
                state.allowed[number, default: 0] += 1
            } else {
                state.codes["\(answer.status) \(answer.code ?? "")", default: 0] += 1
            }
        }
    }

    var allowed: [Int: Int] { state.withLock { $0.allowed } }
    var codes: [String: Int] { state.withLock { $0.codes } }
    var lost: Int { state.withLock { $0.lost } }
}

@Suite(.serialized) struct `playgate serve` {
    @Test(.needsRedis) func `on one Redis, two gates allow each of 10,000 tokens once`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        let folder = try TemporaryFolder()
        let configuration = ServedGate.configuration(
            "{ deadline: 10s, redis: \"unix:\(redis.socket)\" }"
        )
        let first = try ServedGate(in: folder, configuration: configuration, name: "first")
        let second = try ServedGate(in: folder, configuration: configuration, name: "second")
        #expect(eventually { first.isReady && second.isReady })
        let tokens = try await mint(10_000)
        let tally = Tally()
        async let one: Void = playAll(tokens, on: { first.api }) { tally.add(number: $0, answer: $1) }
        async let two: Void = playAll(tokens, on: { second.api }) { tally.add(number: $0, answer: $1) }
        _ = try await (one, two)
        #expect(tally.allowed.count == 10_000)
        #expect(tally.allowed.values.allSatisfy { $0 == 1 })
        #expect(tally.codes == ["403 token_already_used": 10_000])
        server.signal(SIGTERM)
    }

    @Test func `on SQLite, killed and started again, allows no token twice`() async throws {
        let folder = try TemporaryFolder()
        let configuration = ServedGate.configuration(
            "{ deadline: 10s, sqlite: uses.sqlite }"
        )
        let gate = Mutex<ServedGate?>(try ServedGate(in: folder, configuration: configuration))
        let tokens = try await mint(3000)
        let tally = Tally()
        let address = { @Sendable in gate.withLock { $0?.api } ?? "127.0.0.1:1" }
        // Every token is presented twice, and the gate is killed repeatedly in the meantime.
        let killer = Task {
            for _ in 0..<4 {
                let before = tally.allowed.count
                while tally.allowed.count < before + 300 { try await Task.sleep(for: .milliseconds(2)) }
                try await onThread {
                    gate.withLock { $0 }?.program.signal(SIGKILL)
                    try gate.withLock { $0 }?.program.waitUntilExit()
                    let next = try ServedGate(in: folder, configuration: configuration)
                    gate.withLock { $0 = next }
                }
            }
        }
        try await playAll(tokens + tokens, on: address) { tally.add(number: $0 % 3000, answer: $1) }
        killer.cancel()
        _ = try? await killer.value
        // A token may be consumed without a response to an interrupted request: the gate fails closed.
        #expect(tally.allowed.values.allSatisfy { $0 == 1 })
        #expect(tally.allowed.count > 1200)
        let again = Tally()
        let played = tally.allowed.keys.map { tokens[$0] }
        try await playAll(played, on: address) { again.add(number: $0, answer: $1) }
        #expect(again.allowed.isEmpty)
        #expect(again.codes == ["403 token_already_used": played.count])
    }

    @Test(.needsRedis)
    func `refuses while Redis is stopped under load, and recovers without a restart`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        let folder = try TemporaryFolder()
        let gate = try ServedGate(
            in: folder,
            configuration: ServedGate.configuration(
                "{ deadline: 10s, redis: \"unix:\(redis.socket)\" }"
            )
        )
        #expect(eventually { gate.isReady })
        let tokens = try await mint(1200)
        let address = { @Sendable in gate.api }
        let up = Tally()
        try await playAll(Array(tokens[..<400]), on: address) { up.add(number: $0, answer: $1) }
        #expect(up.allowed.count == 400, "\(up.codes), \(up.lost) lost")
        let during = Tally()
        async let load: Void = playAll(Array(tokens[400..<800]), on: address) { during.add(number: $0, answer: $1) }
        server.signal(SIGKILL)
        try server.waitUntilExit()
        try await load
        #expect(during.allowed.count + (during.codes["503 replay_store_unavailable"] ?? 0) == 400)
        let down = try ServedGate.play(tokens[800], on: try HTTPConnection(gate.api))
        #expect(down.code == "replay_store_unavailable")
        #expect(down.headers["retry-after"] == "1")
        #expect(try gate.admin("GET", path: "/readyz").status == 503)
        let again = try redis.start()
        #expect(eventually { gate.isReady })
        let back = Tally()
        try await playAll(Array(tokens[800...]), on: address) { back.add(number: $0, answer: $1) }
        #expect(back.allowed.count == 400, "\(back.codes), \(back.lost) lost")
        again.signal(SIGTERM)
    }

    @Test func `fails no request because of reloads`() async throws {
        let folder = try TemporaryFolder()
        let gate = try ServedGate(in: folder, configuration: ServedGate.configuration("{}"))
        let tokens = try await mint(3000)
        let tally = Tally()
        // On one thread: other tests may occupy those of tasks.
        let reloading = Task {
            try await onThread {
                var count = 0
                while !Task.isCancelled {
                    gate.program.signal(SIGHUP)
                    if try gate.admin("POST", path: "/reload").status == 200 { count += 1 }
                }
                return count
            }
        }
        try await playAll(tokens, on: { gate.api }) { tally.add(number: $0, answer: $1) }
        reloading.cancel()
        let reloads = try await reloading.value
        #expect(reloads > 10)
        #expect(tally.lost == 0 && tally.codes.isEmpty)
        #expect(tally.allowed.count == 3000)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `drains and ends with 0`(signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let gate = try ServedGate(in: folder, configuration: ServedGate.configuration("{}"))
        let idle = try HTTPConnection(gate.api)
        #expect(try idle.request("GET", path: "/v1/codes").status == 200)
        gate.program.signal(signal)
        #expect(try gate.program.waitUntilExit() == 0)
        #expect(gate.program.output.contains("\"message\":\"stopped\""))
    }

    /// Runs `body` with a gate whose store, a Redis server, hangs, and a connection whose playback waits for the store.
    private static func withHangingStore(
        deadline: String,
        more: String = "",
        _ body: (ServedGate, HTTPConnection) throws -> Void
    ) async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        defer { server.signal(SIGKILL) }
        let use = "{ deadline: \(deadline), redis: \"unix:\(redis.socket)\" }"
        let gate = try ServedGate(in: try TemporaryFolder(), configuration: ServedGate.configuration(use, more: more))
        #expect(eventually { gate.isReady })
        server.signal(SIGSTOP)
        let token = try await mint(1)[0]
        let waiting = try HTTPConnection(gate.api)
        try waiting.sendRequest("POST", path: "/v1/playback", body: "{\"media\":\"tnt\",\"token\":\"\(token)\"}")
        #expect(
            eventually { (try? gate.admin("GET", path: "/metrics").body.contains("playgate_in_flight 1")) ?? false }
        )
        try body(gate, waiting)
    }

    @Test(.needsRedis) func `answers what is in hand before it ends`() async throws {
        try await Self.withHangingStore(deadline: "500ms") { (gate, waiting) throws in
            gate.program.signal(SIGTERM)
            #expect(try waiting.response().code == "replay_store_unavailable")
            #expect(try gate.program.waitUntilExit() == 0)
        }
    }

    @Test(.needsRedis) func `ends within its grace time while the store hangs`() async throws {
        try await Self.withHangingStore(deadline: "10s", more: "advanced: { shutdownGrace: 500ms }") {
            (gate, waiting) throws in
            gate.program.signal(SIGTERM)
            // The request in hand is refused, or cut off.
            let answer = try? waiting.response()
            #expect(answer?.status ?? 503 == 503)
            #expect(eventually { !gate.program.isRunning })
        }
    }

    @Test func `says what is wrong and exits with 2`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("gate.yaml", contents: "typo: 1\n")
        for command in [["serve", "--config", file], ["check", file]] {
            let run = try CommandRun(Program.built("playgate"), arguments: command)
            #expect(run.status == 2)
            #expect((run.output + run.error).contains("gate.yaml:1:1: typo: unknown key"))
        }
        // An address that is in use.
        let gate = try ServedGate(in: folder, configuration: ServedGate.configuration("{}"))
        let taken = ServedGate.configuration("{}").replacing(
            "listen: \"127.0.0.1:0\", anonymous",
            with: "listen: \"\(gate.api)\", anonymous"
        )
        let second = try CommandRun(
            Program.built("playgate"),
            arguments: ["serve", "--config", try folder.write("taken.yaml", contents: taken)]
        )
        #expect(second.status == 2)
        #expect((second.output + second.error).contains("in use"), "\(second)")
    }

    @Test func `stays up, in the same memory, through 100,000 broken requests`() async throws {
        let folder = try TemporaryFolder()
        let gate = try ServedGate(in: folder, configuration: Self.tight)
        try await Self.abuse(gate, count: 10_000, seed: 1)
        let before = try gate.metric("process_resident_memory_bytes")
        try await Self.abuse(gate, count: 90_000, seed: 2)
        let after = try gate.metric("process_resident_memory_bytes")
        // The gate is warm after the first tenth: the rest must not add up.
        #expect(after < before + 16 << 20, "\(before) \(after)")
        let token = try await mint(1)[0]
        #expect(try ServedGate.play(token, on: try HTTPConnection(gate.api)).status == 200)
    }

    private static let tight = ServedGate.configuration(
        "{ advanced: { capacity: 1000 } }",
        more: "advanced: { limits: { headerBytes: 2048 } }"
    )

    /// Sends malformed requests of several kinds on a few concurrent connections, until the first that is not refused.
    private static func abuse(_ gate: ServedGate, count: Int, seed: UInt64) async throws {
        _ = try await onThread {
            let hasFailed = Mutex(false)
            return try concurrently(4) { part in
                var requests = BrokenRequests(seed: seed &* 31 &+ UInt64(part))
                let pool = (0..<300).map { _ in requests.next() }
                var connection: HTTPConnection?
                for number in 0..<(count / 4) where !hasFailed.withLock({ $0 }) {
                    let request = pool[number % pool.count]
                    do { try request.send(to: gate, on: &connection) } catch {
                        hasFailed.withLock { $0 = true }
                        let text = String(decoding: request.bytes.prefix(200), as: UTF8.self)
                        throw HTTPConnection.Failure(reason: "\(error) for \(text)")
                    }
                }
            }
        }
        #expect(gate.program.isRunning, "\(gate.program.output.suffix(4000))")
    }
}

/// Malformed requests: invalid HTTP, JSON or UTF-8, or an exceeded limit.
private struct BrokenRequests {
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    struct Request {
        let bytes: [UInt8]
        /// True if the server has all the bytes that it needs for a response.
        let isWhole: Bool

        /// Sends the request and reads the response, which must be a refusal. The gate may close the connection instead,
        /// but must not leave it waiting.
        func send(to gate: ServedGate, on connection: inout HTTPConnection?) throws {
            let open = try connection ?? HTTPConnection(gate.api)
            connection = nil
            let answer = try HTTPConnection.unlessClosed {
                try open.send(bytes)
                return isWhole ? try open.response() : nil
            }
            guard let answer else { return }
            try #require((400..<500).contains(answer.status))
            if answer.headers["connection"] != "close" { connection = open }
        }
    }

    private mutating func random(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    mutating func next() -> Request {
        switch random(12) {
        case 0: return Request(bytes: (0..<(1 + random(200))).map { _ in UInt8(random(256)) }, isWhole: false)
        case 1:
            return Request(
                bytes: head("POST", path: "/v1/playback", more: "X: \(String(repeating: "x", count: 4000))\r\n"),
                isWhole: true
            )
        case 2:
            return Request(
                bytes: head("POST", path: "/v1/playback", more: "Content-Length: 5\r\nContent-Length: 6\r\n"),
                isWhole: true
            )
        case 3:
            return Request(
                bytes: head("POST", path: "/v1/playback", more: "Content-Length: 100\r\n") + [123],
                isWhole: false
            )
        case 4: return body(String(repeating: "[", count: 1 + random(1000)))
        case 5: return body(String(repeating: "{\"media\":", count: 1 + random(200)))
        case 6:
            return body(
                "{\"media\":\"tnt\",\"token\":\"\(String(repeating: "A", count: random(20) == 0 ? 30_000 : random(1000)))\"}"
            )
        case 7:
            return body(
                Array("{\"media\":\"tnt\",\"token\":\"".utf8) + (0..<50).map { _ in UInt8(128 + random(128)) }
                    + Array("\"}".utf8)
            )
        case 8:
            return body("{\"media\":\"tnt\",\"token\":\"<signatureInfo>\(random(1000))<signatureInfo><authToken>\"}")
        case 9: return body("{\"path\":\"/live/%\(random(100))..;\(random(9))%2f\"}")
        case 10: return body("{\"medi\(random(100))\":\"tnt\"}")
        default:
            return Request(
                bytes: head(["GET", "PUT", "BREW", "OPTIONS"][random(4)], path: "/v1/playback", more: ""),
                isWhole: true
            )
        }
    }

    private func head(_ method: String, path: String, more: String) -> [UInt8] {
        Array("\(method) \(path) HTTP/1.1\r\nHost: g\r\n\(more)\r\n".utf8)
    }

    private func body(_ text: String) -> Request { body(Array(text.utf8)) }

    private func body(_ bytes: [UInt8]) -> Request {
        let head = head(
            "POST",
            path: "/v1/playback",
            more: "Content-Type: application/json\r\nContent-Length: \(bytes.count)\r\n"
        )
        return Request(bytes: head + bytes, isWhole: true)
    }
}
