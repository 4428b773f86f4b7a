// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

@Suite struct `The admin listener` {
    @Test func `says that it lives, and what it does`() async throws {
        try await RunningGate.with { gate in
            #expect(try gate.admin("GET", path: "/livez").status == 200)
            #expect(try gate.admin("GET", path: "/readyz").status == 200)
            #expect(try gate.admin("POST", path: "/livez").status == 405)
            #expect(try gate.admin("GET", path: "/reload").status == 405)
            #expect(try gate.admin("GET", path: "/v1/playback").status == 404)
            _ = try gate.play(token: try gate.token())
            #expect(try gate.metric("playgate_decisions_total{decision=\"allow\",code=\"verified\"}") == 1)
            #expect(try gate.metric("playgate_decision_duration_seconds_count") == 1)
            #expect(try gate.metric("playgate_store_uses") == 1)
            #expect(try gate.metric("playgate_catalogue_entries") == 5)
            #expect(try gate.metric("playgate_in_flight") == 0)
            #expect(try gate.metric("playgate_api_requests_total{status=\"200\"}") == 1)
        }
    }

    /// A reader of the text format that is strict enough to find malformed lines.
    @Test func `writes metrics that Prometheus reads`() async throws {
        try await RunningGate.with { gate in
            let text = try gate.admin("GET", path: "/metrics").body
            var types: [String: String] = [:]
            for line in text.split(separator: "\n") {
                if let match = line.wholeMatch(of: /# TYPE ([a-z_]+) (counter|gauge|histogram)/) {
                    #expect(types.updateValue(String(match.2), forKey: String(match.1)) == nil, "\(line)")
                    continue
                }
                if line.wholeMatch(of: /# HELP [a-z_]+ .+/) != nil { continue }
                let sample = try #require(
                    line.wholeMatch(
                        of: /([a-z_]+)(\{([a-z_]+="[^"\\\n]*",?)+\})? (-?[0-9.]+(e[-+]?[0-9]+)?|inf|\+Inf)/
                    ),
                    "\(line)"
                )
                let name = String(sample.1)
                let family =
                    ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) && types[name] == nil }
                    .map { String(name.dropLast($0.count)) } ?? name
                #expect(types[family] != nil, "\(line)")
                if types[family] == "counter" { #expect(name.hasSuffix("_total"), "\(line)") }
            }
            #expect(types.count > 12)
        }
    }

    @Test func `is not ready without a key that is valid`() async throws {
        try await RunningGate.with { gate in
            let later = gate.now.adding(seconds: 399 * 86_400)
            let token = try GateSample.token(at: later)
            gate.now = later
            let answer = try gate.admin("GET", path: "/readyz")
            #expect(answer.status == 503)
            #expect((answer.json["faults"] as? [String: Any])?["trust"] != nil)
            // The certificate has expired while the gate ran, and is no longer trusted.
            let refused = try gate.play(token: token)
            #expect(refused.status == 403)
            #expect(refused.code == "no_usable_key")
            #expect(refused.json["action"] as? String == "configuration")
        }
    }

    @Test func `is not ready without a catalogue`() async throws {
        let configuration = """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }] }
            catalogue: { feeds: [{ file: feed.xml }] }
            api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate] }
            admin: { listen: "127.0.0.1:0" }

            """
        let empty = "<rss version=\"2.0\"><channel><title>TNT</title></channel></rss>"
        try await RunningGate.with(configuration, files: ["feed.xml": empty]) { gate in
            let answer = try gate.admin("GET", path: "/readyz")
            #expect(answer.status == 503)
            #expect((answer.json["faults"] as? [String: Any])?["catalogue"] != nil)
            #expect(try gate.play().code == "unknown_media")
        }
    }

    // MARK: Reload

    @Test func `reads everything again on demand, all of it or nothing`() async throws {
        try await RunningGate.with { gate in
            let more = RunningGate.configuration(catalogue: "    - { media: new, resource: NEW }")
            try gate.folder.write("gate.yaml", contents: more)
            #expect(try gate.play("new").code == "unknown_media")
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.play("new").code == "media_token_missing")
            // One error: the previous configuration stays active.
            try gate.folder.write(
                "gate.yaml",
                contents: RunningGate.configuration("typo: 1", catalogue: "    - { media: newer, resource: NEW }")
            )
            let refused = try gate.admin("POST", path: "/reload")
            #expect(refused.status == 422)
            #expect((refused.json["problems"] as? [String])?.first?.contains("typo") ?? false)
            #expect(try gate.play("newer").code == "unknown_media")
            #expect(try gate.play("new").code == "media_token_missing")
            #expect(try gate.metric("playgate_config_reload_success") == 0)
            #expect(try gate.log("reload failed").count == 1)
            try gate.folder.write("gate.yaml", contents: more)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.metric("playgate_config_reload_success") == 1)
        }
    }

    @Test func `remembers what was used over a reload`() async throws {
        try await RunningGate.with { gate in
            let token = try gate.token()
            #expect(try gate.play(token: token).status == 200)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.play(token: token).code == "token_already_used")
        }
    }

    @Test func `changes trust with the key's file`() async throws {
        try await RunningGate.with { gate in
            let foreign = try GateSample.foreign.get()
            let token = try foreign.issuer.issue(GateSample.claims(), at: gate.now).serialized
            #expect(try gate.play(token: token).code == "untrusted_signature")
            try gate.folder.write("signer.pem", contents: foreign.keys.signerCertificate)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.play(token: token).status == 200)
            #expect(try gate.play(token: try gate.token()).code == "untrusted_signature")
        }
    }

    private static let watching = RunningGate.configuration().replacing(
        "watch: false",
        with: "watch: configuration\nadvanced: { watchInterval: 100ms }"
    )

    @Test func `reads files again when they change`() async throws {
        let configuration = Self.watching
        try await RunningGate.with(configuration) { gate in
            #expect(try gate.play("new").code == "unknown_media")
            try gate.folder.write("gate.yaml", contents: configuration.replacing("media: tbs", with: "media: new"))
            #expect(try eventually { try gate.play("new").code == "media_token_missing" })
            try gate.folder.write("gate.yaml", contents: configuration + "typo: 1\n")
            #expect(try eventually { try gate.metric("playgate_config_reload_success") == 0 })
            try gate.folder.write("signer.pem", contents: try GateSample.foreign.get().keys.signerCertificate)
            try gate.folder.write("gate.yaml", contents: configuration)
            #expect(try eventually { try gate.play(token: try gate.token()).code == "untrusted_signature" })
        }
    }

    /// A writer that pauses for seconds would open what it protects later.
    @Test func `reads keys and feeds again when they change, and the configuration only on demand`() async throws {
        let configuration = Self.watching.replacing("watch: configuration", with: "watch: files")
        try await RunningGate.with(configuration) { gate in
            try gate.folder.write("gate.yaml", contents: configuration.replacing("media: tbs", with: "media: new"))
            try gate.folder.write("signer.pem", contents: try GateSample.foreign.get().keys.signerCertificate)
            let token = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
            #expect(try eventually { try gate.play(token: token).status == 200 })
            #expect(try gate.play("new").code == "unknown_media")
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.play("new").code == "media_token_missing")
        }
    }

    /// A key outside its validity is loaded beside the others, not used, and named.
    @Test func `starts and reloads with a key that has expired beside one that has not`() async throws {
        let keys =
            "trust: { keys: [{ file: signer.pem }, { file: other.pem, name: old, notAfter: \"2031-01-02T10:03:05Z\" }] }"
        let configuration = RunningGate.configuration()
            .replacing("trust: { keys: [{ file: signer.pem }] }", with: keys)
        let files = ["other.pem": try GateSample.foreign.get().keys.signerCertificate]
        try await RunningGate.with(configuration, files: files) { gate in
            let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
            #expect(try gate.play(token: foreign).code == "untrusted_signature")
            #expect(try gate.play(token: try gate.token()).status == 200)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.metric("playgate_trusted_key_usable{key=\"old\"}") == 0)
            #expect(try gate.metric("playgate_trusted_key_usable{key=\"signer\"}") == 1)
            let warnings = try gate.log("the key old")
            #expect(
                warnings.allSatisfy { $0.contains("2031-01-02T10:03:05") && $0.contains("is not used") }
                    && !warnings.isEmpty
            )
            // All of them: the gate goes on, and refuses.
            gate.now = gate.now.adding(seconds: 399 * 86_400)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.play(token: try gate.token()).code == "no_usable_key")
            #expect(try gate.log("every media token is refused").count == 1)
        }
    }

    @Test func `sees what is behind a link, and what only the new configuration names`() async throws {
        let configuration = Self.watching.replacing("signer.pem", with: "link.pem")
        let files = ["other.pem": try GateSample.foreign.get().keys.signerCertificate]
        try await RunningGate.with(configuration, files: files, links: ["link.pem": "signer.pem"]) { gate in
            #expect(try gate.play(token: try gate.token()).status == 200)
            try gate.folder.write("signer.pem", contents: try GateSample.foreign.get().keys.signerCertificate)
            #expect(try eventually { try gate.play(token: try gate.token()).code == "untrusted_signature" })
            // A key file that does not exist yet.
            try gate.folder.write("gate.yaml", contents: configuration.replacing("link.pem", with: "later.pem"))
            #expect(try eventually { try gate.metric("playgate_config_reload_success") == 0 })
            try gate.folder.write("later.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
            let token = try gate.token(GateSample.claims(session: "later"))
            #expect(try eventually { try gate.play(token: token).status == 200 })
        }
    }

    @Test(arguments: ["gate.yaml", "signer.pem"])
    func `sees what changed before it listened`(file: String) async throws {
        let changed = [
            "gate.yaml": Self.watching.replacing("media: tnt", with: "media: new"),
            "signer.pem": try GateSample.foreign.get().keys.signerCertificate,
        ]
        let code = ["gate.yaml": "unknown_media", "signer.pem": "untrusted_signature"][file]
        try await RunningGate.with(Self.watching, later: [file: try #require(changed[file])]) { (gate) throws in
            #expect(try eventually { try gate.play(token: try gate.token()).code == code })
        }
    }

    // MARK: Web pages

    /// Requests that a page in an operator's browser can send, and those of tools and of the listener's own page.
    @Test(
        arguments: [
            ("POST", "/reload", "localhost", [:], 403),
            ("POST", "/reload", "localhost", ["Content-Type": "text/plain"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Origin": "http://evil.example"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Origin": "null"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Origin": "http://evil.example", "X-Playgate-Request": "1"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Sec-Fetch-Site": "cross-site", "X-Playgate-Request": "1"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Sec-Fetch-Site": "same-site"], 403),
            ("POST", "/reload", "127.0.0.1:9090", ["Origin": "http://127.0.0.1:9090"], 200),
            ("POST", "/reload", "127.0.0.1:9090", ["X-Playgate-Request": "1"], 200),
            ("POST", "/reload", "gate.internal:9090", ["X-Playgate-Request": "1"], 200),
            ("POST", "/reload", "rebound.example", ["X-Playgate-Request": "1"], 403),
            ("GET", "/config", "rebound.example", [:], 403), ("GET", "/metrics", "rebound.example:9090", [:], 403),
            ("GET", "/metrics", "localhost.evil.example", [:], 403),
            ("GET", "/metrics", "127.0.0.1.evil.example", [:], 403),
            ("GET", "/metrics", "", [:], 403), ("GET", "/metrics", "localhost, evil.example", [:], 403),
            ("GET", "/metrics", "LOCALHOST:9090", [:], 200), ("GET", "/metrics", "[::1]:9090", [:], 200),
            ("GET", "/metrics", "10.1.2.3", [:], 200), ("GET", "/metrics", "Gate.Internal", [:], 200),
            ("DELETE", "/metrics", "localhost", [:], 403),
        ] as [(String, String, String, [String: String], Int)]
    )
    func `answers no page of another site, nor a name that is not its own`(
        method: String,
        path: String,
        host: String,
        headers: [String: String],
        status: Int
    ) async throws {
        let configuration = RunningGate.configuration()
            .replacing(
                "admin: { listen: \"127.0.0.1:0\" }",
                with: "admin: { listen: \"127.0.0.1:0\", hosts: [gate.internal] }"
            )
        try await RunningGate.with(configuration) { (gate) throws in
            let answer = try HTTPConnection(gate.admin).request(method, path: path, headers: headers, host: host)
            #expect(answer.status == status, "\(answer)")
            if status == 403 { #expect(answer.json["error"] != nil) }
        }
    }

    @Test func `answers to any name on a unix socket, which no browser reaches`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("admin.sock"))"
        let configuration = RunningGate.configuration()
            .replacing("admin: { listen: \"127.0.0.1:0\" }", with: "admin: { listen: \"\(socket)\" }")
        try await RunningGate.with(configuration) { (gate) throws in
            #expect(try HTTPConnection(socket).request("POST", path: "/reload", host: "gate").status == 200)
        }
    }

    // MARK: Overload

    @Test(.needsRedis) func `refuses at once what is beyond its limit`() async throws {
        // A hanging store occupies the only place.
        let redis = try RedisServer()
        let server = try redis.start()
        let configuration = RunningGate.configuration(
            "advanced: { concurrency: 1 }\nreplayStore: { deadline: 5s, redis: \"unix:\(redis.socket)\" }",
            api: "  anonymous: true\n  hosts: [gate, g]\n"
        )
        try await RunningGate.with(configuration) { gate in
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            server.signal(SIGSTOP)
            let waiting = try gate.connect()
            let body = "{\"media\":\"tnt\",\"token\":\"\(try gate.token())\"}"
            try waiting.sendRequest("POST", path: "/v1/playback", body: body)
            #expect(try eventually { try gate.metric("playgate_in_flight") == 1 })
            let refused = try gate.play("trailer")
            #expect(refused.status == 503)
            #expect(refused.code == "gate_overloaded")
            #expect(refused.headers["retry-after"] == "1")
            #expect(try gate.metric("playgate_decisions_total{decision=\"refuse\",code=\"gate_overloaded\"}") == 1)
            server.signal(SIGCONT)
            _ = try waiting.response()
            #expect(try gate.play("trailer").status == 200)
            server.signal(SIGTERM)
        }
    }
}
