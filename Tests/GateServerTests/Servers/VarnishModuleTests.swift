// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// The parts of `docs/how-to/edges/varnish-module.md` that apply to Varnish's module only. What all edges do is in the suites of all edges.
@Suite(.needs(.varnishModule), .serialized) struct `Inside Varnish` {
    /// The page's lines that a test replaces.
    private static let check = "if (!gate.check())"
    private static let tokens = "    gate.token(\"query=token cookie=media-token header=X-Media-Token\");\n"

    private static func checks(_ gate: RunningGate) throws -> Double {
        try [200, 401, 403].reduce(0) {
            $0 + (try gate.metric("playgate_edge_requests_total{edge=\"forward\",status=\"\($1)\"}") ?? 0)
        }
    }

    private static func counter(_ name: String, in folder: TemporaryFolder, vcl: String = "boot") throws -> Int? {
        let program = try #require(Program.installed("varnishstat"))
        let run = try CommandRun(
            program,
            arguments: ["-n", folder.file("varnish"), "-1", "-f", "PLAYGATE.\(vcl).gate.\(name)"]
        )
        return run.output.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    @Test func `decides without the gate, and remembers what it has decided`() async throws {
        let folder = try TemporaryFolder()
        try await EdgeProxy.varnishModule.withGrants(folder: folder) { (gate, varnish) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for number in 0..<20 {
                #expect(try varnish.get("/live/seg/\(number)", headers: cookie).gateCode == "within_ttl")
            }
            #expect(try varnish.get("/live/free/a").gateCode == "unprotected")
            #expect(try varnish.get("/live/seg/1").status == 401)
            #expect(try Self.checks(gate) == 0)
            #expect(try Self.counter("allowed", in: folder) == 21)
            #expect(try Self.counter("cache_hits", in: folder) ?? 0 > 10)
            #expect(try varnish.get("/live/tnt/a?token=\(try gate.token())").gateCode == "verified")
            #expect(try Self.checks(gate) == 1)
            #expect(try Self.counter("asked", in: folder) == 1)
            #expect(try Self.counter("ask_failed", in: folder) == 0)
        }
    }

    /// Requests that consume nothing, inside Varnish and at the gate's own endpoint.
    @Test func `gives the service's codes and statuses`() async throws {
        let folder = try TemporaryFolder()
        try await EdgeProxy.varnishModule.withGate(folder: folder) { (gate, varnish) throws in
            try varnish.expectAnswers(of: gate, in: folder)
        }
    }

    @Test func `26: lets one of fifty parallel requests use a token up`() async throws {
        try await EdgeProxy.varnishModule.withGate { (gate, varnish) throws in
            try varnish.expectOneUse(at: gate)
        }
    }

    /// From the gate's socket, and from a file that another program writes.
    @Test func `accepts a policy that is signed by keys to trust, and no other`() async throws {
        let signed = [VarnishModule.policy: "\"FOLDER/policy.jws\", trust = \"FOLDER/signer.jwk\""]
        try await EdgeProxy.varnishModule.expectSignedPolicies(replacing: signed, hasLog: false)
    }

    @Test(arguments: [true, false]) func `hears of a revocation`(isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let replacing = isFile ? [VarnishModule.policy: "\"policy.json\""] : [:]
        try await EdgeProxy.varnishModule.withGrants(replacing: replacing, folder: folder) { (gate, varnish) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            let other = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s2")))"]
            for viewer in [cookie, other] {
                #expect(try varnish.get("/live/seg/1", headers: viewer).gateCode == "within_ttl")
            }
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            if isFile { try NginxModule.write(policyOf: gate, to: folder) }
            #expect(try eventually { try varnish.get("/live/seg/1", headers: cookie).gateCode == "session_revoked" })
            #expect(try varnish.get("/live/seg/1", headers: other).gateCode == "within_ttl")
            #expect(eventually { (try? Self.counter("policy_loads", in: folder)) ?? 0 >= 1 })
            guard isFile else { return }
            // A file that is no policy changes nothing, and is told.
            try folder.write("policy.json", contents: "{")
            #expect(eventually { (try? Self.counter("policy_faults", in: folder)) == 1 })
            #expect(try varnish.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
            #expect(try varnish.get("/live/seg/1", headers: other).gateCode == "within_ttl")
        }
    }

    @Test(arguments: [true, false]) func `14: trusts a policy up to its limit`(asks: Bool) async throws {
        let folder = try TemporaryFolder()
        let ask = ",\n        ask = \"\(folder.file("edge.sock"))\", ask_timeout = 10s);"
        let replacing = asks ? [:] : [ask: ");"]
        try await EdgeProxy.varnishModule.withGate(replacing: replacing, folder: folder) { (gate, varnish) throws in
            #expect(try varnish.get("/live/free/a").status == 200)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try varnish.get("/live/free/a")
            #expect(late.status == (asks ? 200 : 503), "\(late)")
            #expect(late.gateCode == (asks ? "unprotected" : "ask_policy_stale"))
            // A request that nobody can decide is refused.
            let token = try gate.token()
            let start = try varnish.get("/live/tnt/a?token=\(token)")
            #expect(start.status == (asks ? 200 : 503), "\(start)")
            // The gate refuses what Varnish would forward in another form than it was checked.
            #expect(try varnish.get("/live/free/../seg/1?token=\(token)").status == (asks ? 404 : 503))
        }
    }

    @Test func `uses the resource of a location instead of the path's`() async throws {
        let locations = """
                gate.location("own", resource = "TBS", requestor = "REF30", admits = ttl);
                gate.location("media", media = "trailer");

            """
        let choice = """
            if (req.url ~ "^/own/") {
                    if (!gate.check("own")) { return (synth(gate.status())); }
                    set req.http.X-Seen = gate.mvpd() + " " + gate.resource() + " " + gate.expires();
                } else if (req.url ~ "^/media/") {
                    if (!gate.check("media")) { return (synth(gate.status())); }
                } else if (req.url ~ "^/unknown/") {
                    if (!gate.check("unknown")) { return (synth(gate.status())); }
                } else if (!gate.check())
            """
        let replacing = [Self.tokens: Self.tokens + locations, Self.check: choice]
        try await EdgeProxy.varnishModule.withGrants(replacing: replacing) { (gate, varnish) throws in
            let tbs = try gate.token(GateSample.claims(resource: "TBS"))
            let seen = try varnish.get("/own/a?token=\(tbs)&x=1")
            #expect(seen.gateCode == "within_ttl" && seen.body.hasPrefix("GET /own/a\n"), "\(seen)")
            #expect(seen.body.contains("x-seen: SandboxMVPD TBS ") && seen.body.contains("2031"), "\(seen.body)")
            #expect(try varnish.get("/own/a?token=\(try gate.token())").gateCode == "resource_mismatch")
            #expect(try varnish.get("/own/a").status == 401)
            #expect(try varnish.get("/media/a").gateCode == "unprotected")
            #expect(try varnish.get("/unknown/a").status == 503)
            // The service knows nothing of a location: without a policy, nobody can tell.
            let checks = try Self.checks(gate)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try varnish.get("/media/a")
            #expect(late.status == 503 && late.gateCode == "ask_policy_stale", "\(late)")
            #expect(try Self.checks(gate) == checks)
        }
    }

    /// Restarts, which see the request as VCL has left it.
    @Test func `decides once about a request that VCL restarts`() async throws {
        let restart = [
            "    return (hash);\n":
                "    if (req.restarts == 0 && req.url !~ \"moved\") { return (restart); }\n    return (hash);\n",
            Self.check:
                "if (req.restarts == 1 && req.url ~ \"b$\") { set req.url = \"/live/tnt/other\"; }\n    \(Self.check)",
        ]
        try await EdgeProxy.varnishModule.withGate(replacing: restart) { (gate, varnish) throws in
            let token = try gate.token()
            let seen = try varnish.get("/live/tnt/a?token=\(token)&x=1")
            #expect(seen.status == 200 && seen.gateCode == "verified", "\(seen)")
            #expect(try Self.checks(gate) == 1)
            // Another target is another request, whose token is gone.
            let other = try gate.token(GateSample.claims(session: "another"))
            #expect(try varnish.get("/live/tnt/b?token=\(other)").status == 401)
        }
    }

    @Test func `refuses what could be read in two ways, and survives`() async throws {
        try await EdgeProxy.varnishModule.withGate { (gate, varnish) throws in
            let (first, second) = (try gate.token(), try gate.token(GateSample.claims(session: "another")))
            func response(to target: String, fields: [String]) throws -> HTTPConnection.Response? {
                let connection = try varnish.connect()
                try connection.send(
                    "GET \(target) HTTP/1.1\r\nHost: gate\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
                )
                return try HTTPConnection.unlessClosed { try connection.response() }
            }
            let conflicts = [
                ["X-Media-Token: \(first)", "X-Media-Token: \(second)"],
                ["Cookie: media-token=\(first); media-token=\(second)"],
                ["Cookie: media-token=\(first)", "Cookie: media-token=\(second)"],
                ["x-media-token: \(first)", "Cookie: a=b", "COOKIE: media-token=\(second)"],
                (0..<30).map { "X-Media-Token: \($0)" },
            ]
            for fields in conflicts {
                #expect(try response(to: "/live/seg/1", fields: fields)?.gateCode == "token_conflict", "\(fields)")
            }
            #expect(
                try response(to: "/live/seg/1", fields: ["X-Media-Token: \(first)", "Cookie: media-token=\(first)"])?
                    .status == 200
            )
            let many = (0..<17).map { "token=\($0)" }.joined(separator: "&")
            #expect(try response(to: "/live/seg/1?\(many)", fields: [])?.status == 403)
            // Nothing that a client sends opens anything, or ends the process.
            let long = String(repeating: "a", count: 7000)
            for target in [
                "*", "/", "//", "/?", "/live/seg/1?token", "/~cat=", "/~cat=/", "/live/seg/\(long)", "?", "/%", "/%ff",
            ] {
                for fields in [
                    [], ["X-Media-Token:"], ["Cookie: ;;=;media-token"], ["Cookie: media-token=\"\""], [":"], ["a"],
                ] {
                    if let seen = try response(to: target, fields: fields) {
                        #expect([400, 401, 403, 404].contains(seen.status), "\(seen)")
                    }
                }
            }
            #expect(try varnish.get("/live/seg/1", headers: ["X-Media-Token": first]).gateCode == "within_ttl")
            #expect(varnish.origin.requests == 1)
        }
    }

    /// Faults of the settings, and of the policy, for who loads the VCL.
    static let faults: [(printed: String, other: String, message: String)] = [
        (source, "\"none.json\"", "the policy cannot be read: No such file or directory"),
        (source, "\"\"", "there is no source"),
        (source, "\"FOLDER/policy.json\", key = \"FOLDER/policy.json\"", "a key is for unix:PATH"),
        (source, "\"unix:/a\", key = \"none\"", "the file of the key cannot be read"),
        (source, "\"FOLDER/policy.json\", cache = 3", "cache must be 0, or a number of answers from 64 to 1048576"),
        (source, "\"FOLDER/policy.json\", trust = \"none\"", "the keys to trust cannot be read"),
        (source, "\"FOLDER/policy.json\", trust = \"FOLDER/policy.json\"", "no JWK Set of public keys"),
        (source, "\"unix:/a\", trust = \"none\"", "a service needs no keys to trust"),
        ("ask_timeout = 10s", "ask_timeout = 2m", "ask_timeout must be a time from 1ms to 60s"),
        (tokens, "gate.token(\"where=token\");", "names no source of tokens"),
        (tokens, "gate.token(\"\");", "names no source"),
        (tokens, "gate.token(\"package=token\");", "which is for grants"),
        (tokens, "gate.grant(\"package=a package=b\");", "names two packages"),
        (tokens, "gate.location(\"\");", "needs a name"),
        (tokens, "gate.location(\"a\"); gate.location(\"a\");", "is there twice"),
        (tokens, "gate.location(\"a\", resource = \"TNT\");", "location(\"a\"): "),
        (tokens, "gate.location(\"a\", media = \"none\");", "location(\"a\"): the policy has no media none"),
        (tokens, "gate.location(\"a\", profile = \"none\");", "location(\"a\"): the policy has no profile none"),
    ]
    private static let source = "\"policy.json\""

    @Test func `vcl.load names a fault`() async throws {
        let folder = try TemporaryFolder()
        let policy = [VarnishModule.policy: Self.source]
        try await EdgeProxy.varnishModule.withGate(replacing: policy, folder: folder) { (_, varnish) throws in
            let good = try folder.text("playgate.vcl")
            func load(_ name: String, text: String) throws -> String {
                let file = try folder.write("\(name).vcl", contents: text)
                let run = try VarnishModule.command(["vcl.load", name, file], in: folder)
                return "\(run.status) \(run.output) \(run.error)"
            }
            let written = "\"\(folder.file("policy.json"))\""
            for (number, fault) in Self.faults.enumerated() {
                let printed = fault.printed == Self.source ? written : fault.printed
                try #require(good.contains(printed), "the page prints something else than \(printed)")
                let other = fault.other.replacing("FOLDER", with: folder.path)
                let said = try load("fault\(number)", text: good.replacing(printed, with: other))
                #expect(!said.hasPrefix("0 ") && said.contains(fault.message), "\(fault.other): \(said)")
            }
            let valid = try folder.text("policy.json")
            try folder.write("policy.json", contents: "{\n  \"surprise\": 1\n}")
            let said = try load("invalid", text: good)
            #expect(!said.hasPrefix("0 ") && said.contains("line "), "\(said)")
            try folder.write("policy.json", contents: valid)
            #expect(try load("valid", text: good).hasPrefix("0 "))
            #expect(try varnish.get("/live/free/a").status == 200)
        }
    }

    /// A revocation that came while a VCL was cold holds from the first request on.
    @Test func `a VCL that becomes warm decides by the present policy`() async throws {
        let folder = try TemporaryFolder()
        let policy = [VarnishModule.policy: Self.source]
        try await EdgeProxy.varnishModule.withGate(replacing: policy, folder: folder) { (gate, varnish) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            let child = try Child(folder)
            try child.run("vcl.load", "cold", folder.file("playgate.vcl"), "cold")
            #expect(child.followers == 1)
            #expect(try varnish.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            try NginxModule.write(policyOf: gate, to: folder)
            try child.run("vcl.state", "cold", "auto")
            try child.run("vcl.use", "cold")
            #expect(try varnish.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
        }
    }

    @Test func `reloads thirty times under load without losing a request, a thread or memory`() async throws {
        let folder = try TemporaryFolder()
        let small = ["ask_timeout = 10s": "ask_timeout = 10s, cache = 64"]
        try await EdgeProxy.varnishModule.withGate(replacing: small, folder: folder) { (gate, varnish) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            let child = try Child(folder)
            #expect(child.followers == 1)
            let (record, address) = (LoadRecord(), varnish.address)
            _ = try concurrently(3) { part in
                guard part == 0 else {
                    let connection = try HTTPConnection(address)
                    while !record.isOver {
                        record.add(try connection.request("GET", path: "/live/seg/\(part)", headers: cookie).status)
                    }
                    return
                }
                defer { record.end() }
                var start = 0
                for reload in 0..<30 {
                    try child.run("vcl.load", "v\(reload)", folder.file("playgate.vcl"))
                    try child.run("vcl.use", "v\(reload)")
                    try child.run("vcl.discard", reload == 0 ? "boot" : "v\(reload - 1)")
                    #expect(
                        try HTTPConnection(address).request("GET", path: "/live/seg/1", headers: cookie).status == 200
                    )
                    if reload == 10 { start = try child.memory() }
                }
                let end = try child.memory()
                #expect(end < start + start / 10 + 4096, "\(start) KB after 10 reloads, \(end) KB after 30")
            }
            #expect(record.statuses == [200] && record.count(200) > 100)
            // Workers that are idle hold the VCL of their last request for a minute.
            #expect(child.followers <= 10, "\(child.followers)")
            #expect(try Self.counter("allowed", in: folder, vcl: "v29") ?? 0 >= 1)
            // A VCL that is cold follows nothing, and one that becomes warm again follows again.
            try child.run("vcl.load", "cold", folder.file("playgate.vcl"))
            for _ in 0..<3 {
                let warm = child.followers
                try child.run("vcl.state", "cold", "cold")
                #expect(child.followers < warm)
                try child.run("vcl.state", "cold", "warm")
                #expect(try varnish.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
            }
            try child.run("vcl.use", "cold")
            #expect(try varnish.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
            #expect(child.isSame)
        }
    }
}

/// The process of a varnishd that runs VCL.
private struct Child {
    let folder: TemporaryFolder
    let process: String

    init(_ folder: TemporaryFolder) throws {
        self.folder = folder
        process = try Self.process(folder)
    }

    private static func process(_ folder: TemporaryFolder) throws -> String {
        let said = try VarnishModule.command(["pid"], in: folder).output
        return try #require(said.split(separator: "\n").first { $0.hasPrefix("Worker") }).filter(\.isNumber)
    }

    /// True if no other process has replaced it.
    var isSame: Bool { (try? Self.process(folder)) == process }

    /// The number of its threads that follow policies.
    var followers: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.count {
            (try? String(contentsOfFile: "/proc/\(process)/task/\($0)/comm", encoding: .utf8)) == "playgate-policy\n"
        }
    }

    /// Its resident memory in KB.
    func memory() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ").dropFirst().first ?? ""))
    }

    func run(_ words: String...) throws {
        let run = try VarnishModule.command(words, in: folder)
        #expect(run.status == 0, "\(words) \(run.output) \(run.error)")
    }
}
