// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import NIOHTTP1
import Platform
import Testing

/// The parts of `docs/how-to/edges/envoy-module.md` that apply to Envoy's module only. What all edges do is in the suites of all edges.
@Suite(.needs(.envoyModule), .serialized) struct `Inside Envoy` {
    /// The page's lines that a test replaces.
    private static let (ask, drop) = ("ask gate timeout=10000", "query drop")
    private static let bootstrap = "static_resources:\n"

    private static func checks(_ gate: RunningGate) throws -> Double {
        try [200, 401, 403].reduce(0) {
            $0 + (try gate.metric("playgate_edge_requests_total{edge=\"envoy\",status=\"\($1)\"}") ?? 0)
        }
    }

    @Test func `decides without the gate, and asks for what starts a playback`() async throws {
        try await EdgeProxy.envoyModule.withGrants { (gate, envoy) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for number in 0..<20 {
                #expect(try envoy.get("/live/seg/\(number)", headers: cookie).gateCode == "within_ttl")
            }
            #expect(try envoy.get("/live/free/a").gateCode == "unprotected")
            #expect(try envoy.get("/live/seg/1").status == 401)
            #expect(try Self.checks(gate) == 0)
            #expect(try envoy.get("/live/tnt/a?token=\(try gate.token())").gateCode == "verified")
            #expect(try Self.checks(gate) == 1)
        }
    }

    /// Requests in all forms that matter, by their header fields.
    private static func requests(_ gate: RunningGate) throws -> [(method: String, target: String, [String: String])] {
        let (token, other) = (try gate.token(), try gate.token(GateSample.claims(session: "another")))
        let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
        let tbs = try gate.token(GateSample.claims(resource: "TBS"))
        let cookie = ["Cookie": "a=b; media-token=\(token); c=d"]
        let targets = [
            "/live/seg/1", "/live/seg/1?token=\(token)", "/live/seg/1?token=\(other)",
            "/live/seg/1?x=1&token=\(foreign)",
            "/live/seg/1?token=\(tbs)", "/live/seg/1?token=", "/live/seg/1?token=x", "/live/none", "/live/seg/a%2fb",
            "/live/seg/a;b", "/live/seg/%", "/live/seg/%ff", "/live/seg/%252e", "/live/free/1", "/", "/live/seg",
            "/live/seg/1?token=\(token)&token=\(other)", "/live/seg/1?%74oken=\(token)",
            "/live/seg/%e2%82%ac", "/live/seg/\(String(repeating: "a", count: 9000))",
        ]
        let fields: [[String: String]] = [
            [:], cookie, ["X-Media-Token": token], ["X-Media-Token": other], ["Cookie": "media-token=\"\(token)\""],
            ["Cookie": "media-token=\(token); media-token=\(other)"], ["X-Media-Token": "é"],
            ["X-Media-Token": token, "Range": "bytes=1-2"], ["Cookie": "Media-Token=\(token)"],
        ]
        let all = targets.flatMap { target in fields.map { ("GET", target, $0) } }
        return all + ["HEAD", "OPTIONS", "POST", "DELETE", "get"].map { ($0, "/live/seg/1", cookie) }
    }

    @Test func `says what the service says`() async throws {
        let folder = try TemporaryFolder()
        // What the page answers itself, without a check.
        let preflight = ["exact: OPTIONS": "exact: NONE"]
        try await EdgeProxy.envoyModule.withGate(replacing: preflight, folder: folder) { (gate, envoy) throws in
            for (method, target, fields) in try Self.requests(gate) {
                let seen = try envoy.connect().request(method, path: target, headers: fields)
                let service = try HTTPConnection("unix:\(folder.file("edge.sock"))")
                    .request(method, path: "/v1/check/envoy\(target)", headers: fields)
                let text = "\(method) \(target) \(fields)"
                // Envoy refuses some requests before any filter.
                guard !seen.gateCode.isEmpty else {
                    #expect([400, 431, 501, 502].contains(seen.status), "\(text): \(seen)")
                    continue
                }
                #expect(seen.gateCode == service.gateCode, "\(text): \(seen) \(service)")
                // The statuses of edges: all others are 403.
                let status = Int(service.headers["x-playgate-status"] ?? "") ?? 0
                let expected = [200, 401, 404, 503].contains(status) ? status : 403
                #expect(seen.status == expected, "\(text): \(seen) \(service)")
            }
        }
    }

    /// Two workers, and a token that starts one playback.
    @Test func `26: lets one of fifty parallel requests use a token up`() async throws {
        let admin = "admin: { address: { pipe: { path: ADMIN } } }\n\(Self.bootstrap)"
        let folder = try TemporaryFolder()
        let replacing = [Self.bootstrap: admin.replacing("ADMIN", with: folder.file("admin.sock"))]
        try await EdgeProxy.envoyModule.withGate(isOnPort: true, replacing: replacing, folder: folder) {
            (gate, envoy) throws in
            try envoy.expectOneUse(at: gate)
            let curl = try #require(Program.installed("curl"))
            let query = [
                "-s", "--unix-socket", folder.file("admin.sock"), "http://envoy/stats?filter=worker_.*cx_total",
            ]
            let counts = try CommandRun(curl, arguments: query).output.split(separator: "\n").filter {
                $0.contains("listener.")
            }
            #expect(counts.count == 2 && !counts.contains { $0.hasSuffix(": 0") }, "\(counts)")
        }
    }

    /// From the gate's socket, and from a file that another program writes.
    @Test func `accepts a policy that is signed by keys to trust, and no other`() async throws {
        let signed = [EnvoyModule.policy: "FOLDER/policy.jws trust=FOLDER/signer.jwk"]
        try await EdgeProxy.envoyModule.expectSignedPolicies(replacing: signed)
    }

    @Test(arguments: [true, false]) func `hears of a revocation`(isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let replacing = isFile ? [EnvoyModule.policy: folder.file("policy.json")] : [:]
        try await EdgeProxy.envoyModule.withGate(replacing: replacing, folder: folder) { (gate, envoy) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            let other = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s2")))"]
            for viewer in [cookie, other] {
                #expect(try envoy.get("/live/seg/1", headers: viewer).gateCode == "within_ttl")
            }
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            if isFile { try NginxModule.write(policyOf: gate, to: folder) }
            #expect(try eventually { try envoy.get("/live/seg/1", headers: cookie).gateCode == "session_revoked" })
            #expect(try envoy.get("/live/seg/1", headers: other).gateCode == "within_ttl")
            guard isFile else { return }
            // A file that is no policy changes nothing, and is logged.
            try folder.write("policy.json", contents: "{")
            #expect(eventually { (try? envoy.logs().contains("stays as it was")) ?? false })
            #expect(try envoy.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
            #expect(try envoy.get("/live/seg/1", headers: other).gateCode == "within_ttl")
        }
    }

    @Test(arguments: [true, false]) func `14: trusts a policy up to its limit`(asks: Bool) async throws {
        let replacing = asks ? [:] : [Self.ask: "# nobody"]
        try await EdgeProxy.envoyModule.withGate(replacing: replacing) { (gate, envoy) throws in
            #expect(try envoy.get("/live/free/a").status == 200)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try envoy.get("/live/free/a")
            #expect(late.status == (asks ? 200 : 503), "\(late)")
            #expect(late.gateCode == (asks ? "unprotected" : "ask_policy_stale"))
            // A request that nobody can decide is refused.
            let start = try envoy.get("/live/tnt/a?token=\(try gate.token())")
            #expect(start.status == (asks ? 200 : 503), "\(start)")
        }
    }

    @Test func `shadow: logs what it would refuse, and lets it pass`() async throws {
        try await EdgeProxy.envoyModule.withGate(replacing: [Self.drop: "mode shadow"]) { (_, envoy) throws in
            let seen = try envoy.get("/live/seg/1")
            #expect(seen.status == 200 && seen.gateCode == "media_token_missing", "\(seen)")
            let other = try envoy.get("/live/none?token=xyz&a=b")
            #expect(other.gateCode == "unknown_media" && other.body.hasPrefix("GET /live/none?a=b\n"), "\(other)")
            #expect(eventually { (try? envoy.logs().contains("would be refused by media_token_missing")) ?? false })
            #expect(try !envoy.logs().contains("xyz"))
            // Nobody knows what the origin would read, so that this is closed, and the origin sees no token.
            let many = (0..<17).map { "token=secret\($0)" }.joined(separator: "&")
            let closed = try envoy.get("/live/seg/1?\(many)", headers: ["X-Playgate-MVPD": "mine"])
            #expect(closed.status == 403 && closed.gateCode == "edge_request_invalid", "\(closed)")
            #expect(envoy.origin.requests == 2)
        }
    }

    @Test func `gives the origin no token, and the player no right to share`() async throws {
        let replacing = [Self.drop: "query keep", "%REQ(:METHOD)%": "%REQ(:METHOD)% %REQ(:PATH)%"]
        try await EdgeProxy.envoyModule.withGate(replacing: replacing) { (gate, envoy) throws in
            let token = try gate.token()
            let fields = ["X-Media-Token": token, "X-Playgate-Code": "mine", "CTA-Common-Access-Token": "grant"]
            let seen = try envoy.get("/live/seg/1?a=b&token=\(token)&c=d&cat=x", headers: fields)
            #expect(seen.status == 200 && seen.body.hasPrefix("GET /live/seg/1?a=b&c=d\n"), "\(seen)")
            for secret in [token, "mine", "grant"] { #expect(!seen.body.contains(secret), "\(seen)") }
            #expect(seen.values("Cache-Control") == ["private, max-age=60"], "\(seen.fields)")
            #expect(try envoy.get("/live/seg/1").values("Cache-Control") == ["no-store"])
            #expect(try envoy.get("/live/none?token=\(token)").status == 404)
            envoy.stop()
            let logs = try envoy.logs()
            #expect(logs.contains("GET /live/none 404") && !logs.contains(token.prefix(60)), "\(logs)")
        }
    }

    @Test func `tells the gate who asks, by what Envoy knows`() async throws {
        let folder = try TemporaryFolder()
        let gate = try GrantingGate(folder.file("edge.sock"), isOffload: false)
        let options = RunningEdge.Options(port: try RunningEdge.freePort())
        let envoy = try RunningEdge(.envoyModule, in: folder, gate: folder.file("edge.sock"), options: options)
        let spoofed = [
            "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "X-Envoy-External-Address": "6.6.6.6",
            "X-Other": "a",
        ]
        #expect(try envoy.get("/live//seg/./1?a=b&token=c", headers: spoofed).status == 200)
        let check = try #require(gate.checks.last)
        #expect(check.uri == "/v1/check/envoy/live/seg/1?a=b&token=c" && check.method == .GET, "\(check)")
        #expect(check.headers["x-envoy-external-address"] == ["127.0.0.1"], "\(check)")
        #expect(check.headers["x-forwarded-proto"] == ["http"] && check.headers["x-other"].isEmpty, "\(check)")
    }

    @Test func `uses the resource of the settings instead of the path's`() async throws {
        let resource = "resource TBS requestor=REF30 admits=ttl"
        try await EdgeProxy.envoyModule.withGrants(replacing: [Self.drop: resource]) { (gate, envoy) throws in
            let tbs = try gate.token(GateSample.claims(resource: "TBS"))
            let seen = try envoy.get("/own/a?token=\(tbs)&x=1")
            #expect(seen.gateCode == "within_ttl" && seen.body.hasPrefix("GET /own/a?x=1\n"), "\(seen)")
            #expect(try envoy.get("/own/a?token=\(try gate.token())").gateCode == "resource_mismatch")
            #expect(try envoy.get("/own/a").status == 401)
            // The service knows nothing of these demands: without a policy, nobody can tell.
            let checks = try Self.checks(gate)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try envoy.get("/own/a?token=\(tbs)")
            #expect(late.status == 503 && late.gateCode == "ask_policy_stale", "\(late)")
            #expect(try Self.checks(gate) == checks)
        }
    }

    /// Faults of the settings, when Envoy reads them.
    private static let faults: [(printed: String, other: String, message: String)] = [
        ("policy POLICY", "# none", "there is no policy in the settings"),
        (
            "policy POLICY", "policy none.json",
            "the policy none.json: the policy cannot be read: No such file or directory"
        ),
        (
            "policy POLICY", "policy POLICY key=POLICY",
            "\"policy\" must be unix:PATH, with or without key=FILE, or a path, with or without trust=FILE"
        ),
        ("policy POLICY", "policy unix:/a key=none", "none"),
        ("policy POLICY", "policy unix:/a trust=none", "\"policy\" must be unix:PATH"),
        ("policy POLICY", "policy POLICY trust=none", "the keys to trust cannot be read"),
        ("policy POLICY", "policy POLICY trust=POLICY", "no JWK Set of public keys"),
        (drop, "profile none", "the policy has no profile none in the settings"),
        (drop, "resource media=none", "the policy has no media none in the settings"),
        (
            "policy POLICY", "policy POLICY\n                          policy POLICY",
            "\"policy\" is duplicate in line 3"
        ),
        (drop, "mode perhaps", "\"mode\" must be on or shadow"),
        (drop, "query", "\"query\" needs a value"),
        (drop, "surprise 1", "\"surprise\" is no setting in line"),
        (drop, "private maybe", "\"private\" must be on or off"),
        (drop, "set_cookie maybe", "\"set_cookie\" must be on or off"),
        (drop, "resource media=", "must be media=ID alone"),
        (drop, "resource TNT", "\"resource\" needs requestor=ID"),
        (drop, "resource TNT requestor=A admits=twice", "may be followed by requestor=ID"),
        (drop, "cache 3", "must be off, or a number of answers from 64 to 1048576"),
        (drop, "cache 64 entry=1", "may be followed by entry=BYTES"),
        (ask, "ask gate timeout=0", "may be followed by timeout=MILLISECONDS, from 1 to 60000"),
        ("token query=token", "token where=token", "\"token\" names no source of tokens"),
        ("token query=token", "token package=token", "which is for grants"),
    ]

    @Test func `starts with no setting that it does not understand`() async throws {
        let folder = try TemporaryFolder()
        let policy = [EnvoyModule.policy: folder.file("policy.json")]
        try await EdgeProxy.envoyModule.withGate(replacing: policy, folder: folder) { (_, _) throws in
            let good = try folder.text("envoy.yaml").replacing(
                "policy \(folder.file("policy.json"))",
                with: "policy POLICY"
            )
            let envoy = try #require(EdgeProxy.envoy.executable)
            func start(_ text: String) throws -> String {
                let file = try folder.write(
                    "test.yaml",
                    contents: text.replacing("POLICY", with: folder.file("policy.json"))
                )
                let run = try CommandRun(envoy, arguments: ["--mode", "validate", "-c", file, "--disable-hot-restart"])
                return "\(run.status) \(run.error)"
            }
            #expect(try start(good).hasPrefix("0 "))
            for fault in Self.faults {
                try #require(good.contains(fault.printed), "the page prints something else than \(fault.printed)")
                let said = try start(good.replacing(fault.printed, with: fault.other))
                #expect(said.hasPrefix("1 ") && said.contains("playgate: ") && said.contains(fault.message), "\(said)")
            }
            try folder.write("policy.json", contents: "{\n  \"surprise\": 1\n}")
            let said = try start(good)
            #expect(said.hasPrefix("1 ") && said.contains("policy.json: ") && said.contains("in line "), "\(said)")
        }
    }

    /// A bootstrap whose listener is in a file that Envoy reads again.
    private static func withListenerFile(
        _ text: String,
        in folder: TemporaryFolder
    ) throws -> (bootstrap: String, listener: String) {
        let from = try #require(text.range(of: "  listeners:\n")), to = try #require(text.range(of: "  clusters:\n"))
        let lines = text[from.upperBound..<to.lowerBound].split(separator: "\n", omittingEmptySubsequences: false)
        let listener = lines.map { $0.dropFirst(4) }.joined(separator: "\n")
        let type = "  \"@type\": type.googleapis.com/envoy.config.listener.v3.Listener\n"
        let head = "- name: players\n"
        try #require(listener.hasPrefix(head))
        let source = """
            node: { id: test, cluster: test }
            dynamic_resources: { lds_config: { path_config_source: { path: "\(folder.file("lds.yaml"))" } } }

            """
        return (
            source + text[..<from.lowerBound] + text[to.lowerBound...],
            "resources:\n" + head + type + listener.dropFirst(head.count)
        )
    }

    @Test func `loads new settings twenty times without losing a request, and ends the threads of the old ones`()
        async throws
    {
        let folder = try TemporaryFolder()
        try await EdgeProxy.envoyModule.withGate(folder: folder) { (gate, first) throws in
            first.stop()
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            let (bootstrap, listener) = try Self.withListenerFile(try folder.text("envoy.yaml"), in: folder)
            func write(_ number: Int) throws {
                let text = listener.replacing(
                    Self.drop,
                    with: "\(Self.drop)\n                      cache \(1000 + number)"
                )
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("lds.yaml")), options: .atomic)
            }
            try write(0)
            let file = try folder.write("dynamic.yaml", contents: bootstrap)
            let clock = try PreloadedClock.environment(folder)
            let envoy = try #require(EdgeProxy.envoy.executable)
            let arguments = ["-c", file, "--concurrency", "2", "--disable-hot-restart", "--drain-time-s", "1"]
            let program = try Program(
                try #require(Program.installed("env")),
                arguments: clock + [envoy] + arguments,
                log: folder.file("dynamic.log")
            )
            defer { program.signal(SIGKILL) }
            #expect(eventually(within: 30) { (try? first.get("/live/seg/1", headers: cookie).status) == 200 })
            for number in 1...20 {
                try write(number)
                #expect(
                    eventually(within: 30) {
                        program.output.components(separatedBy: "the policy was read").count > number + 1
                    }
                )
                for _ in 0..<5 { #expect(try first.get("/live/seg/\(number)", headers: cookie).status == 200) }
            }
            #expect(eventually(within: 30) { (try? Self.followers(in: program)) == 1 })
            #expect(try first.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
        }
    }

    /// The number of threads that follow a policy.
    private static func followers(in program: Program) throws -> Int {
        let tasks = "/proc/\(program.identifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).filter {
            (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)) == "playgate-policy\n"
        }.count
    }
}
