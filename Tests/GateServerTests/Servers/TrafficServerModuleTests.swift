// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// The parts of `docs/how-to/edges/trafficserver-module.md` that apply to Traffic Server's plugin only. What all edges do is in the suites
/// of all edges.
@Suite(.needs(.trafficserverModule), .serialized) struct `Inside Traffic Server` {
    private static let edge = EdgeProxy.trafficserverModule

    private static func checks(_ gate: RunningGate) throws -> Double {
        try [200, 401, 403].reduce(0) {
            $0 + (try gate.metric("playgate_edge_requests_total{edge=\"forward\",status=\"\($1)\"}") ?? 0)
        }
    }

    @Test func `decides without the gate, and remembers what it has decided`() async throws {
        let folder = try TemporaryFolder()
        try await Self.edge.withGrants(isManaged: true, folder: folder) { (gate, server) throws in
            let managed = try ManagedTrafficServer(folder)
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for number in 0..<20 {
                let seen = try server.get("/live/seg/\(number)", headers: cookie)
                #expect(seen.gateCode == "within_ttl", "\(seen)")
            }
            #expect(try server.get("/live/free/a").gateCode == "unprotected")
            #expect(try server.get("/live/seg/1").status == 401)
            #expect(try Self.checks(gate) == 0)
            #expect(try server.get("/live/tnt/a?token=\(try gate.token())").gateCode == "verified")
            #expect(try Self.checks(gate) == 1)
            // Traffic Server adds up what its threads have counted from time to time.
            #expect(eventually { (try? managed.counter("allowed")) == 22 })
            for (name, count) in [("refused", 1), ("asked", 1), ("ask_failed", 0)] {
                #expect(try managed.counter(name) == count, "\(name)")
            }
            #expect(try managed.counter("cache_hits") ?? 0 > 10)
        }
    }

    /// Requests that consume nothing, inside Traffic Server and at the gate's own endpoint.
    @Test func `gives the service's codes and statuses`() async throws {
        let folder = try TemporaryFolder()
        try await Self.edge.withGate(folder: folder) { (gate, server) throws in
            try server.expectAnswers(of: gate, in: folder) { good in
                ["/live/seg/a;b?c;d", "/live/free/%3b/../a", "/live/seg/1#?token=\(good)", "/live/seg/1?a#b"]
            }
        }
    }

    @Test func `26: lets one of fifty parallel requests use a token up`() async throws {
        try await Self.edge.withGate { (gate, server) throws in
            try server.expectOneUse(at: gate)
        }
    }

    /// From the gate's socket, and from a file that another program writes.
    @Test func `accepts a policy that is signed by keys to trust, and no other`() async throws {
        let signed = [TrafficServerModule.policy: "policy=FOLDER/policy.jws @pparam=trust=FOLDER/signer.jwk"]
        try await Self.edge.expectSignedPolicies(replacing: signed)
    }

    @Test(arguments: [true, false]) func `hears of a revocation`(isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let replacing = isFile ? [TrafficServerModule.policy: "policy=policy.json"] : [:]
        try await Self.edge.withGrants(replacing: replacing, folder: folder) { (gate, server) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            let other = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s2")))"]
            for viewer in [cookie, other] {
                #expect(try server.get("/live/seg/1", headers: viewer).gateCode == "within_ttl")
            }
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            if isFile { try NginxModule.write(policyOf: gate, to: folder) }
            #expect(try eventually { try server.get("/live/seg/1", headers: cookie).gateCode == "session_revoked" })
            #expect(try server.get("/live/seg/1", headers: other).gateCode == "within_ttl")
            guard isFile else { return }
            // A file that is no policy changes nothing, and is told.
            try folder.write("policy.json", contents: "{")
            #expect(eventually { (try? server.logs())?.contains("stays as it was: ") == true })
            #expect(try server.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
            #expect(try server.get("/live/seg/1", headers: other).gateCode == "within_ttl")
        }
    }

    @Test(arguments: [true, false]) func `14: trusts a policy up to its limit`(asks: Bool) async throws {
        let folder = try TemporaryFolder()
        let replacing = asks ? [:] : ["@pparam=ask=\(folder.file("edge.sock")) ": ""]
        try await Self.edge.withGate(replacing: replacing, folder: folder) { (gate, server) throws in
            #expect(try server.get("/live/free/a").status == 200)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try server.get("/live/free/a")
            #expect(late.status == (asks ? 200 : 503), "\(late)")
            #expect(late.gateCode == (asks ? "unprotected" : "ask_policy_stale"))
            #expect(asks || late.values("Cache-Control") == ["no-store"])
            // A request that nobody can decide is refused.
            let token = try gate.token()
            let start = try server.get("/live/tnt/a?token=\(token)")
            #expect(start.status == (asks ? 200 : 503), "\(start)")
            #expect(try server.get("/live/free/../seg/1?token=\(token)").status == (asks ? 404 : 503))
        }
    }

    @Test func `uses the resource of a remap line instead of the path's`() async throws {
        let folder = try TemporaryFolder()
        let policy = "@plugin=playgate.so @pparam=policy=unix:\(folder.file("api.sock")) @pparam=token=query=token"
        let lines = """
            map /own/ http://127.0.0.1:8089/o/ \(policy) @pparam=resource=TBS @pparam=requestor=REF30 @pparam=admits=ttl
            map /media/ http://127.0.0.1:8089/ \(policy) @pparam=media=trailer @pparam=ask=\(folder.file("edge.sock"))
            map /twice/ http://127.0.0.1:8089/ \(policy) @pparam=media=trailer \(policy) @pparam=media=tnt
            map /

            """
        try await Self.edge.withGrants(replacing: ["map / ": String(lines.dropLast()) + " "], folder: folder) {
            (gate, server) throws in
            let tbs = try gate.token(GateSample.claims(resource: "TBS"))
            // The origin's path is another one, and has no token either.
            let seen = try server.get("/own/a?token=\(tbs)&x=1")
            #expect(seen.gateCode == "within_ttl" && seen.body.hasPrefix("GET /o/a?x=1\n"), "\(seen)")
            let segment = try server.get("/own/~cat=x/a?token=\(tbs)")
            #expect(segment.body.hasPrefix("GET /o/a\n"), "\(segment)")
            #expect(try server.get("/own/a?token=\(try gate.token())").gateCode == "resource_mismatch")
            #expect(try server.get("/own/a").status == 401)
            #expect(try server.get("/media/a").gateCode == "unprotected")
            // Two demands for one request are a mistake of the configuration.
            #expect(try server.get("/twice/a").status == 503)
            // The service knows nothing of a line's demands: without a policy, nobody can tell.
            let checks = try Self.checks(gate)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try server.get("/media/a")
            #expect(late.status == 503 && late.gateCode == "ask_policy_stale", "\(late)")
            #expect(try Self.checks(gate) == checks)
        }
    }

    @Test func `lets pass in shadow mode, and names the code`() async throws {
        let shadow = ["@pparam=options=on": "@pparam=options=on @pparam=mode=shadow"]
        try await Self.edge.withGate(replacing: shadow) { (gate, server) throws in
            for (target, code) in [
                ("/live/seg/1", "media_token_missing"), ("/live/none", "unknown_media"),
                ("/live/seg/1?token=%3Cx", "invalid_envelope"),
                ("/live/seg/1?token=\(try gate.token())", "within_ttl"), ("/live//free", "invalid_path"),
            ] {
                let seen = try server.get(target)
                #expect(seen.status == 200 && seen.gateCode == code, "\(target) \(seen)")
                #expect(seen.body.hasPrefix("GET \(target.prefix { $0 != "?" })\n"), "\(seen)")
                #expect(seen.values("Cache-Control") == ["private, max-age=60"], "\(seen)")
            }
            let token = try gate.token()
            for code in ["verified", "token_already_used"] {
                let seen = try server.get("/live/tnt/a?token=\(token)")
                #expect(seen.status == 200 && seen.gateCode == code, "\(seen)")
            }
            // What could not be read has no path to go on with.
            let many = (0..<17).map { "token=\($0)" }.joined(separator: "&")
            #expect(try server.get("/live/seg/1?\(many)").status == 403)
        }
    }

    @Test func `leaves the origin's header fields if its settings say so`() async throws {
        let shared = ["@pparam=options=on": "@pparam=options=on @pparam=private=off"]
        try await Self.edge.withGate(replacing: shared) { (gate, server) throws in
            let seen = try server.get("/live/seg/hostile?token=\(try gate.token())")
            #expect(seen.values("Cache-Control").joined().contains("public"), "\(seen)")
            #expect(try server.get("/live/seg/hostile").values("Cache-Control") == ["no-store"])
        }
    }

    /// Whatever the cache may answer: a whole, a head, a part, or that nothing has changed.
    @Test func `opens the cache for nobody before the check`() async throws {
        try await Self.edge.withGate { (gate, server) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            let first = try server.get("/live/seg/1", headers: cookie)
            #expect(first.status == 200)
            let fields: [[String: String]] = [
                [:], ["Range": "bytes=0-1"], ["If-Modified-Since": "Sun, 01 Jan 2040 00:00:00 GMT"],
                ["If-None-Match": "*"],
                ["Cache-Control": "only-if-cached"], ["Cache-Control": "no-cache"], ["X-Playgate-Code": "within_ttl"],
                ["Expect": "100-continue"], ["Max-Forwards": "0"],
            ]
            for headers in fields {
                for method in ["GET", "HEAD"] {
                    let closed = try server.connect().request(method, path: "/live/seg/1", headers: headers)
                    #expect(closed.status == 401 && closed.gateCode == "media_token_missing", "\(method) \(headers)")
                    let open = try server.connect().request(
                        method,
                        path: "/live/seg/1",
                        headers: headers.merging(cookie) { $1 }
                    )
                    #expect([200, 206, 304].contains(open.status), "\(method) \(headers) \(open)")
                }
            }
            for method in ["PURGE", "PUSH", "DELETE", "POST", "TRACE"] {
                #expect(
                    try server.connect().request(method, path: "/live/seg/1", headers: cookie).status == 403,
                    "\(method)"
                )
            }
            let tunnel = try server.connect().request(
                "CONNECT",
                path: "127.0.0.1:\(server.origin.port)",
                headers: cookie
            )
            #expect(tunnel.status >= 400, "\(tunnel)")
            // A path has one form for check, cache and origin: Traffic Server drops slashes at its start.
            let requests = server.origin.requests
            #expect(try server.get("//live/seg/1", headers: cookie).body == first.body)
            #expect(try server.get("http://gate/live/seg/1", headers: cookie).body == first.body)
            #expect(try server.get("//live/seg/1").status == 401)
            #expect(try server.get("/live/free//live/seg/1").status == 404)
            #expect(server.origin.requests <= requests + 1)
        }
    }

    @Test func `refuses what could be read in two ways, and survives`() async throws {
        try await Self.edge.withGate { (gate, server) throws in
            let (first, second) = (try gate.token(), try gate.token(GateSample.claims(session: "another")))
            func response(to target: String, fields: [String]) throws -> HTTPConnection.Response? {
                let connection = try server.connect()
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
            let long = String(repeating: "a", count: 40_000)
            for target in [
                "*", "/", "//", "/?", "/live/seg/1?token", "/~cat=", "/~cat=/", "/live/seg/\(long)", "?", "/%", "/%ff",
                ";",
                "/;", "/#", "/;?#", "http://", "http:///live/seg/1", "https://gate/live/seg/1",
            ] {
                for fields in [
                    [], ["X-Media-Token:"], ["Cookie: ;;=;media-token"], ["Cookie: media-token=\"\""], [":"], ["a"],
                    ["Host: other"],
                ] {
                    if let seen = try response(to: target, fields: fields) {
                        #expect(
                            [400, 401, 403, 404, 414].contains(seen.status),
                            "\(target.prefix(40)) \(fields) \(seen)"
                        )
                    }
                }
            }
            #expect(try server.get("/live/seg/1", headers: ["X-Media-Token": first]).gateCode == "within_ttl")
            #expect(server.origin.requests == 1)
        }
    }

    /// Traffic Server accepts requests before it has the threads that send requests to the gate.
    @Test func `holds a request that comes before the threads that ask`() async throws {
        let folder = try TemporaryFolder()
        let hold = try folder.write("clock.hold", contents: "")
        try #require(hold == EdgePage.hold(in: folder))
        try await Self.edge.withGrants(folder: folder) { (gate, server) throws in
            let process = try ManagedTrafficServer(folder)
            let early = try server.connect()
            try early.sendRequest("GET", path: "/live/tnt/a?token=\(try gate.token())")
            #expect(try server.get("/live/free/a").gateCode == "unprotected")
            #expect(try process.threads(named: "[ET_TASK 0]") == 0)
            #expect(try Self.checks(gate) == 0)
            try FileManager.default.removeItem(atPath: hold)
            #expect(try early.response().gateCode == "verified")
            #expect(try process.threads(named: "[ET_TASK 0]") == 1)
        }
    }

    /// Players who leave during a request to the gate, and a gate that never answers.
    @Test func `waits no longer for the gate than it says, and for nobody who has gone`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("silent.sock")
        let silent = try ListeningSocket(path)
        let replacing = [
            "ask=\(folder.file("edge.sock")) @pparam=ask_timeout=10000": "ask=\(path) @pparam=ask_timeout=3000"
        ]
        try await Self.edge.withGate(replacing: replacing, folder: folder) { (gate, server) throws in
            let token = try gate.token()
            for round in 0..<6 {
                // They close before, and while, their requests are asked.
                let connections = try (0..<100).map { _ in try server.connect() }
                for connection in connections {
                    try connection.sendRequest("GET", path: "/live/tnt/\(round)?token=\(token)")
                }
            }
            // If each were asked about, on eight threads, it would be 225 seconds, and this client waits for 30.
            let seen = try server.get("/live/tnt/a?token=\(token)")
            #expect(seen.status == 503 && seen.gateCode == "ask_use", "\(seen)")
            #expect(try server.get("/live/free/a").gateCode == "unprotected")
            #expect(server.origin.requests == 1 && silent.descriptor >= 0)
        }
    }

    /// Faults of the settings, and of the policy, for who starts Traffic Server.
    static let faults: [(printed: String, other: String, message: String)] = [
        (source, "policy=FOLDER/none.json", "the policy cannot be read: No such file or directory"),
        (source, "key=FOLDER/policy.json", "policy=unix:PATH or policy=FILE is missing"),
        (source, "policy=", "policy= is no NAME=VALUE"),
        (source, "\(source) @pparam=policy=b", "policy=b is duplicate"),
        (source, "\(source) @pparam=key=FOLDER/policy.json", "a key is for unix:PATH"),
        (source, "policy=unix:/a @pparam=key=none", "the file of the key cannot be read"),
        (source, "policy=unix:/a @pparam=trust=none", "a service needs no keys to trust"),
        (source, "\(source) @pparam=trust=none", "the keys to trust cannot be read"),
        (source, "\(source) @pparam=trust=FOLDER/policy.json", "no JWK Set of public keys"),
        (source, "\(source) @pparam=media=none", "the policy has no media none"),
        (source, "\(source) @pparam=profile=none", "the policy has no profile none"),
        (source, "\(source) @pparam=cache=3", "cache must be 0, or a number of answers from 64 to 1048576"),
        (source, "\(source) @pparam=surprise=1", "surprise=1 is unknown"),
        (source, "\(source) @pparam=set_cookie=maybe", "set_cookie must be on or off"),
        (source, "\(source) @pparam=private=no", "private must be on or off"),
        (source, "\(source) @pparam=mode=off", "mode must be on or shadow"),
        (source, "\(source) @pparam=scheme=tls", "scheme must be http or https"),
        (source, "\(source) @pparam=admits=once", "admits is for resource=RESOURCE"),
        (source, "\(source) @pparam=resource=TNT", "playgate: "),
        (
            source, "\(source) @pparam=resource=TNT @pparam=requestor=REF30 @pparam=admits=twice",
            "admits must be once, ttl or grant"
        ),
        (source, "\(source) @pparam=grant=package=a @pparam=grant=package=b", "names two packages"),
        ("ask_timeout=10000", "ask_timeout=1s", "ask_timeout must be a number of milliseconds from 1 to 60000"),
        ("token=query=token", "token=where=token", "token=where=token names no source of tokens"),
        ("token=query=token", "token=package=token", "which is for grants"),
        ("options=on", "options=yes", "options must be on or off"),
    ]
    private static let source = "policy=FOLDER/policy.json"

    @Test func `a start names a fault`() async throws {
        let folder = try TemporaryFolder()
        let policy = [TrafficServerModule.policy: "policy=policy.json"]
        try await Self.edge.withGate(isOnPort: true, replacing: policy, folder: folder) { (_, server) throws in
            let port = server.address.split(separator: ":").last.map(String.init) ?? ""
            let etc = "trafficserver-\(port)/etc"
            let good = try folder.text("\(etc)/remap.config")
            server.stop()
            let program = try #require(EdgeProxy.trafficserver.executable)
            func start(_ text: String) throws -> String {
                try folder.write("\(etc)/remap.config", contents: text)
                let root = "trafficserver-\(port)"
                var said = ""
                // Traffic Server 9.2 ends now and then by a signal of its own, before it reads remap.config and so before it loads
                // the plugin.
                for _ in 0..<3 where !said.contains("remap.config loading") {
                    try? FileManager.default.removeItem(atPath: folder.file("\(root)/log/diags.log"))
                    let run = try CommandRun(program, arguments: ["--run-root=\(folder.file(root))/runroot.yaml"])
                    said = "\(run.status) \(try folder.text("\(root)/log/diags.log"))"
                }
                return said
            }
            for fault in Self.faults {
                let printed = fault.printed.replacing("FOLDER", with: folder.path)
                try #require(good.contains(printed), "the page prints something else than \(printed)")
                let said = try start(good.replacing(printed, with: fault.other.replacing("FOLDER", with: folder.path)))
                #expect(!said.hasPrefix("0 ") && said.contains(fault.message), "\(fault.other): \(said)")
                #expect(said.contains("remap.config line "), "\(said)")
            }
            try folder.write("policy.json", contents: "{\n  \"surprise\": 1\n}")
            let said = try start(good)
            #expect(!said.hasPrefix("0 ") && said.contains("policy.json line "), "\(said)")
        }
    }

    @Test func `reloads under load without losing a request or a thread`() async throws {
        let folder = try TemporaryFolder()
        try await Self.edge.withGate(isManaged: true, folder: folder) { (gate, server) throws in
            let managed = try ManagedTrafficServer(folder)
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            // The manager listens before the server that it starts.
            #expect(try server.get("/live/seg/0", headers: cookie).status == 200)
            let (record, address, process) = (LoadRecord(), server.address, try managed.process())
            #expect(try managed.followers() == 1)
            _ = try concurrently(3) { part in
                guard part == 0 else {
                    let connection = try HTTPConnection(address)
                    while !record.isOver {
                        record.add(try connection.request("GET", path: "/live/seg/\(part)", headers: cookie).status)
                    }
                    return
                }
                defer { record.end() }
                for reload in 0..<3 { try managed.reload(reload) }
                // Settings that make no sense change nothing.
                try managed.reload(3, expecting: "failed to load", replacing: ("options=on", "options=yes"))
            }
            #expect(record.statuses == [200] && record.count(200) > 100)
            #expect(try managed.process() == process && managed.followers() == 1)
            // Other settings of the memory make another policy, and the last line with the old one ends that.
            try managed.reload(4, replacing: ("options=on", "options=on @pparam=cache=64"))
            #expect(eventually { (try? managed.followers()) == 1 })
            #expect(try server.get("/live/seg/0", headers: cookie).status == 200)
        }
    }
}
