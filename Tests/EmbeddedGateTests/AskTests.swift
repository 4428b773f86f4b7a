// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import GateTestSupport
import Testing

@testable import EmbeddedGate

@Suite("Asking the service")
struct AskTests {
    private typealias Reply = ScriptedService.Reply

    /// An asker, and the answers to what it asks.
    private final class Asker {
        let asker: OpaquePointer

        init(_ path: String, timeout: UInt32 = 10_000, connections: UInt32 = 8) throws {
            var made: OpaquePointer?
            #expect(playgate_asker_create(path, timeout, connections, &made) == PLAYGATE_OK)
            asker = try #require(made)
        }

        deinit { playgate_asker_free(asker) }

        func ask(
            _ target: String = "/live/tnt/master.m3u8?token=a%2Bb",
            client: String = "192.0.2.9",
            headers: [(String, String)] = [],
            flags: Int32 = 0,
            capacity: Int = Int(PLAYGATE_BUFFER_SIZE)
        ) -> EngineUnderTest.Answer {
            let memory = SliceMemory()
            let fields = headers.map { playgate_header(name: memory.slice($0.0), value: memory.slice($0.1)) }
            var buffer = [CChar](repeating: 0, count: capacity)
            return fields.withUnsafeBufferPointer { fields in
                buffer.withUnsafeMutableBufferPointer { buffer in
                    var request = playgate_request()
                    request.size = UInt32(MemoryLayout<playgate_request>.size)
                    request.flags = UInt32(flags)
                    (request.method, request.target) = (memory.slice("GET"), memory.slice(target))
                    (request.scheme, request.host) = (memory.slice("https"), memory.slice("cdn.example"))
                    request.client = memory.slice(client)
                    (request.headers, request.header_count) = (fields.baseAddress, fields.count)
                    var answer = playgate_answer()
                    answer.size = UInt32(MemoryLayout<playgate_answer>.size)
                    (answer.buffer, answer.capacity) = (buffer.baseAddress, buffer.count)
                    return EngineUnderTest.Answer(result: playgate_ask(asker, &request, &answer), answer: answer)
                }
            }
        }
    }

    private static let allowed = Reply(
        status: 200,
        fields: [
            "x-playgate-decision: allow", "x-playgate-code: verified",
            "x-playgate-trace: 0af7651916cd43dd8448eb211c80319c",
            "x-playgate-session: 0123456789abcdef0123456789abcdef", "x-playgate-mvpd: Cable%20One",
            "x-playgate-resource: TNT",
            "x-playgate-expires: 1700000000000", "x-playgate-set-cookie: CTA-Common-Access-Token=x; Path=/",
            "x-playgate-grant: x", "cta-common-access-token: x",
        ]
    )

    @Test("The facts and the client's credentials reach the service, and nothing else of the client")
    func request() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in Self.allowed }
            let asker = try Asker(folder.file("edge.sock"))
            let headers = [
                ("Cookie", "media-token=x"), ("COOKIE", "a=b"), ("X-Original-Client", "203.0.113.1"),
                ("Range", "bytes=5-"),
                ("Forwarded", "for=203.0.113.1"), ("User-Agent", "tv"), ("X-Media-Token", "t"),
                ("Authorization", "Bearer u"),
            ]
            #expect(asker.ask(headers: headers).outcome == PLAYGATE_ALLOW)
            let lines = try #require(service.requests.first).split(separator: "\r\n").map(String.init)
            #expect(
                lines == [
                    "GET /v1/check/nginx HTTP/1.1", "Host: gate", "X-Original-URI: /live/tnt/master.m3u8?token=a%2Bb",
                    "X-Original-Method: GET", "X-Original-Scheme: https", "X-Original-Host: cdn.example",
                    "X-Original-Client: 192.0.2.9", "Cookie: media-token=x", "Cookie: a=b",
                    "X-Original-Range: bytes=5-",
                    "User-Agent: tv", "X-Media-Token: t", "Authorization: Bearer u",
                ]
            )
        }
    }

    @Test("An edge that forwards paths as they are asks where empty and dot segments are refused")
    func asIs() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in Self.allowed }
            let asker = try Asker(folder.file("edge.sock"))
            let headers = [("Range", "bytes=5-"), ("X-Forwarded-For", "203.0.113.1")]
            #expect(asker.ask(headers: headers, flags: Int32(PLAYGATE_REQUEST_AS_IS)).outcome == PLAYGATE_ALLOW)
            let lines = try #require(service.requests.first).split(separator: "\r\n").map(String.init)
            #expect(
                lines == [
                    "GET /v1/check/forward HTTP/1.1", "Host: gate",
                    "X-Forwarded-Uri: /live/tnt/master.m3u8?token=a%2Bb",
                    "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: cdn.example",
                    "X-Forwarded-For: 192.0.2.9", "Range: bytes=5-",
                ]
            )
        }
    }

    @Test("An answer has all that the service says")
    func allow() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in Self.allowed }
            let asker = try Asker(folder.file("edge.sock"))
            let answer = asker.ask()
            #expect(answer.result == PLAYGATE_OK && answer.status == 200 && answer.code == "verified")
            #expect(answer.mvpd == "Cable One" && answer.resource == "TNT" && answer.expires == 1_700_000_000_000)
            #expect(answer.grant == "x" && answer.cookie == "CTA-Common-Access-Token=x; Path=/")
            #expect(answer.session.count == 32 && answer.trace == "0af7651916cd43dd8448eb211c80319c")
            #expect(answer.flags == UInt32(PLAYGATE_ANSWER_GRANT_HEADER))
            let small = asker.ask(capacity: 40)
            #expect(small.outcome == PLAYGATE_ALLOW && small.flags & UInt32(PLAYGATE_ANSWER_TRUNCATED) != 0)
            #expect(small.trace.count == 32 && small.session.isEmpty)
            #expect(service.connections == 1)
        }
    }

    @Test(
        "A refusal is one; all that is no answer of a gate is refused as a failure",
        arguments: [
            (
                Reply(status: 403, fields: ["x-playgate-decision: refuse", "x-playgate-code: token_already_used"]),
                "token_already_used", 403
            ),
            (
                Reply(
                    status: 403,
                    fields: ["x-playgate-decision: refuse", "x-playgate-code: unknown_media", "x-playgate-status: 404"]
                ),
                "unknown_media", 404
            ),
            (
                Reply(
                    status: 401,
                    fields: ["x-playgate-decision: refuse", "x-playgate-code: media_token_missing"],
                    body: "{}"
                ),
                "media_token_missing", 401
            ),
            (Reply(status: 200), "internal_failure", 503),
            (Reply(status: 200, fields: ["x-playgate-code: verified"]), "internal_failure", 503),
            (Reply(status: 200, fields: ["x-playgate-decision: allow"]), "internal_failure", 503),
            (
                Reply(status: 200, fields: ["x-playgate-decision: refuse", "x-playgate-code: verified"]),
                "internal_failure", 503
            ),
            (
                Reply(status: 403, fields: ["x-playgate-decision: allow", "x-playgate-code: verified"]),
                "internal_failure", 503
            ),
            (
                Reply(status: 204, fields: ["x-playgate-decision: allow", "x-playgate-code: verified"]),
                "internal_failure", 503
            ),
            (
                Reply(status: 200, fields: ["x-playgate-decision: allow", "x-playgate-code: of_the_future"]),
                "internal_failure", 503
            ),
            (
                Reply(
                    status: 200,
                    fields: ["x-playgate-decision: refuse", "x-playgate-decision: allow", "x-playgate-code: verified"]
                ),
                "internal_failure", 503
            ),
            (Reply("HTTP/1.0 200 OK\r\nx-playgate-decision: allow\r\n\r\n", closes: true), "internal_failure", 503),
            (Reply("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", closes: true), "internal_failure", 503),
            (Reply("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n"), "internal_failure", 503),
            (Reply("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc"), "internal_failure", 503),
            (Reply("HTTP/1.1 2x0 OK\r\ncontent-length: 0\r\n\r\n"), "internal_failure", 503),
            (Reply("\r\n\r\n"), "internal_failure", 503),
            (Reply(String(repeating: "x", count: 40_000)), "internal_failure", 503),
            (.end, "internal_failure", 503),
        ]
    )
    fileprivate func answers(reply: ScriptedService.Reply, code: String, status: Int32) async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in reply }
            let asker = try Asker(folder.file("edge.sock"))
            let answer = asker.ask()
            #expect(answer.outcome == PLAYGATE_REFUSE && answer.code == code && answer.status == status)
            #expect(answer.grant.isEmpty && answer.cookie.isEmpty && !service.requests.isEmpty)
        }
    }

    @Test("A service that is away, or silent, is a failure in time")
    func silence() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let away = try Asker(folder.file("none.sock"))
            #expect(away.ask().result == PLAYGATE_E_INTERNAL && away.ask().status == 503)
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in .nothing }
            let asker = try Asker(folder.file("edge.sock"), timeout: 50)
            #expect(asker.ask().code == "internal_failure")
            // Not asked twice: the service may have consumed the token.
            #expect(eventually { service.requests.count == 1 })
        }
    }

    @Test("A connection that the service has closed in the meantime is replaced")
    func closed() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in Self.allowed }
            let asker = try Asker(folder.file("edge.sock"))
            for round in 1...5 {
                #expect(asker.ask().outcome == PLAYGATE_ALLOW)
                #expect(asker.ask().outcome == PLAYGATE_ALLOW)
                #expect(service.connections == round && service.requests.count == 2 * round)
                service.closeAll()
            }
        }
    }

    @Test("Threads ask at once, and few connections are kept")
    func threads() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { request, _ in
                Reply(
                    status: 200,
                    fields: [
                        "x-playgate-decision: allow", "x-playgate-code: verified",
                        "x-playgate-resource: \(mark(request))",
                    ]
                )
            }
            let asker = try Shared(Asker(folder.file("edge.sock"), connections: 2))
            let wrong = try concurrently(200) { asker.value.ask("/\($0)").resource == "/\($0)" ? 0 : 1 }
            #expect(wrong.reduce(0, +) == 0 && service.requests.count == 200)
        }
    }

    /// An asker may be used by all threads.
    private struct Shared: @unchecked Sendable {
        let value: Asker
        init(_ value: Asker) { self.value = value }
    }

    @Test(
        "What would be another field or line is not sent",
        arguments: [
            ("/a\r\nX: y", "192.0.2.9", "c=d"), ("/a\u{0}", "192.0.2.9", "c=d"), ("/a", "1\n", "c=d"),
            ("/a", "192.0.2.9", "c=d\r\nX-Original-URI: /b"),
            ("/" + String(repeating: "a", count: 70_000), "192.0.2.9", "c=d"),
            ("", "192.0.2.9", "c=d"),
        ]
    )
    func injection(target: String, client: String, cookie: String) async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let service = try ScriptedService(at: folder.file("edge.sock")) { _, _ in Self.allowed }
            let asker = try Asker(folder.file("edge.sock"))
            let answer = asker.ask(target, client: client, headers: [("Cookie", cookie)])
            #expect(answer.result == PLAYGATE_E_ARGUMENT && answer.outcome == PLAYGATE_REFUSE && answer.status == 503)
            #expect(service.requests.isEmpty)
        }
    }

    @Test("Bad arguments are errors")
    func arguments() {
        var asker: OpaquePointer?
        for (path, timeout, connections) in [
            (nil, 1, 1), ("", 1, 1), (String(repeating: "a", count: 104), 1, 1), ("a", 0, 1), ("a", 60_001, 1),
            ("a", 1, 0),
            ("a", 1, 1025),
        ] as [(String?, UInt32, UInt32)] {
            #expect(playgate_asker_create(path, timeout, connections, &asker) == PLAYGATE_E_ARGUMENT && asker == nil)
        }
        #expect(playgate_asker_create("a", 1, 1, nil) == PLAYGATE_E_ARGUMENT)
        playgate_asker_free(nil)
        var answer = playgate_answer()
        #expect(playgate_ask(nil, nil, &answer) == PLAYGATE_E_ARGUMENT)
        answer.size = UInt32(MemoryLayout<playgate_answer>.size)
        #expect(playgate_ask(nil, nil, &answer) == PLAYGATE_E_ARGUMENT && answer.outcome == PLAYGATE_REFUSE)
        #expect(playgate_ask(nil, nil, nil) == PLAYGATE_E_ARGUMENT)
    }
}

/// The target that a request states.
private func mark(_ request: String) -> Substring {
    request.split(separator: "\r\n").first { $0.hasPrefix("X-Original-URI: ") }?.dropFirst("X-Original-URI: ".count)
        ?? ""
}
