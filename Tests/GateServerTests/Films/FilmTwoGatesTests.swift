// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// Two gates, each a process of its own, with one Redis and the same keys behind one nginx.
@Suite(.serialized) struct `A film behind two gates` {
    @Test(.needs(.nginx), .needsRedis)
    func `goes on with the same grant after the death of one`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        defer { server.signal(SIGKILL) }
        let folder = try TemporaryFolder()
        let sockets = ["one", "two"].map { folder.file("\($0).sock") }
        let gates = try sockets.map { socket in
            let store = "{ deadline: 5s, redis: \"unix:\(redis.socket)\" }"
            let configuration = Self.configuration(store: store, socket: socket, renewing: "59s")
            return try ServedGate(
                in: folder,
                configuration: configuration,
                name: (socket as NSString).lastPathComponent
            )
        }
        try await onThread {
            let first = "server unix:\(sockets[0]);"
            let options = RunningEdge.Options(
                port: try RunningEdge.freePort(),
                replacing: [first: "\(first) server unix:\(sockets[1]);"]
            )
            let nginx = try RunningEdge(.nginx, in: folder, gate: sockets[0], options: options)
            nginx.origin.serve(Film.files)
            let issuer = try GateSample.current.get().issuer
            let token = try issuer.issue(GateSample.claims(), at: .now()).serialized.percentEncoded
            let player = FilmPlayer(at: nginx) { .now() }
            let start = try player.get("\(Film.start)?token=\(token)")
            #expect(start.status == 200 && start.gateCode == "verified", "\(start)")
            for number in 0..<8 {
                #expect(try player.get(Film.segment(number)).isAllowed("granted", "renewed", by: .nginx))
            }
            // Either gate has taken its part.
            let checks = "playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}"
            for gate in gates { #expect(try gate.metric(checks) > 0) }

            gates[0].program.signal(SIGKILL)
            let grant = player.cookie(for: Film.variant)
            for number in 8..<20 {
                let answer = try player.get(Film.segment(number))
                #expect(answer.status == 200 && answer.body == "segment \(number)", "\(number): \(answer)")
            }
            // The other one renews it.
            let isRenewed = try eventually {
                let answer = try player.get(Film.segment(21))
                #expect(answer.status == 200, "\(answer)")
                return player.cookie(for: Film.variant) != grant
            }
            #expect(isRenewed)
            #expect(try player.get(Film.segment(22)).status == 200)
            let second = FilmPlayer(at: nginx) { .now() }
            #expect(try second.get("\(Film.start)?token=\(token)").gateCode == "token_already_used")
        }
        gates[1].program.signal(SIGTERM)
    }

    /// A gate that cannot know what is revoked refuses grants, by the code of its store, and is not ready.
    @Test func `is refused by a gate whose store is away`() async throws {
        let folder = try TemporaryFolder()
        let memory = try ServedGate(
            in: folder,
            configuration: Self.configuration(store: "{}", socket: folder.file("one.sock")),
            name: "one"
        )
        let redis = "{ deadline: 100ms, redis: \"unix:\(folder.file("none"))\" }"
        let away = try ServedGate(
            in: folder,
            configuration: Self.configuration(store: redis, socket: folder.file("two.sock")),
            name: "two"
        )
        try await onThread {
            let token = try GateSample.current.get().issuer.issue(GateSample.claims(), at: .now()).serialized
            let body = "{\"media\":\"film\",\"token\":\"\(token)\"}"
            let playback = try HTTPConnection(memory.api).request("POST", path: "/v1/playback", body: body)
            let grants = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
            let grant = try #require(grants[0]["token"] as? String)
            let headers = [
                "X-Forwarded-Uri": Film.variant, "X-Forwarded-Method": "GET", "CTA-Common-Access-Token": grant,
            ]
            let check = { (gate: String) in
                try HTTPConnection("unix:\(folder.file(gate))").request(
                    "GET",
                    path: "/v1/check/forward",
                    headers: headers
                )
                .gateCode
            }
            let renew = { (gate: ServedGate) in
                try HTTPConnection(gate.api).request("POST", path: "/v1/grants/renew", body: "{\"grant\":\"\(grant)\"}")
            }
            #expect(try check("one.sock") == "granted" && renew(memory).status == 200)
            #expect(try check("two.sock") == "replay_store_unavailable")
            let renewal = try renew(away)
            #expect(renewal.status == 503 && renewal.body.contains("replay_store_unavailable"), "\(renewal)")
            let ready = try away.admin("GET", path: "/readyz")
            #expect(ready.status == 503 && ready.body.contains("\"revocations\""), "\(ready)")
            #expect(memory.isReady)
        }
    }

    /// Returns the configuration of a gate whose grants last for longer than the busiest machine may stop between two requests.
    ///
    /// - Parameter end: The last part of a grant's life of 60 s, in which a check renews it.
    private static func configuration(store: String, socket: String, renewing end: String = "5s") -> String {
        let more = "edge: { listen: \"unix:\(socket)\", tokens: [{ query: token }] }\n"
        return ServedGate.configuration(store, more: more + Film.grants.replacing("EDGE", with: "cdn.example"))
            .replacing("life: 10s", with: "life: 60s").replacing("deadline: 5s }\n", with: "deadline: \(end) }\n")
            .replacing("session: \(Film.session)s", with: "session: 600s")
            .replacing("entries: [", with: "entries: [\(Film.entries.joined(separator: ", ")), ")
    }
}
