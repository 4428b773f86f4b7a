// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Keys
import MediaTokens
import NIOCore
import NIOPosix
import Platform
import PlaybackGate
import Testing

@testable import EdgeChecks

/// The parts of `docs/how-to/edges/nginx-module.md` that apply to nginx's module only. What all edges do is in the suites of all edges.
@Suite(.needs(.nginxModule), .serialized) struct `Inside nginx` {
    /// The page's lines that a test replaces.
    private static let (on, ask) = ("playgate on;", "playgate_ask /_gate;")
    private static let segments = "        location = /_gate {\n"

    private static func checks(_ gate: RunningGate) throws -> Double {
        try [200, 401, 403].reduce(0) {
            $0 + (try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"\($1)\"}") ?? 0)
        }
    }

    private static func status(of nginx: RunningEdge, name: String) throws -> Int? {
        try nginx.get("/playgate-status").body.split(separator: "\n").first { $0.hasPrefix("playgate_nginx_\(name) ") }
            .flatMap { $0.split(separator: " ").last }.flatMap { Int($0) }
    }

    @Test func `decides without the gate, and remembers what it has decided`() async throws {
        try await EdgeProxy.nginxModule.withGrants { (gate, nginx) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for number in 0..<20 {
                #expect(try nginx.get("/live/seg/\(number)", headers: cookie).gateCode == "within_ttl")
            }
            #expect(try nginx.get("/live/free/a").gateCode == "unprotected")
            #expect(try nginx.get("/live/seg/1").status == 401)
            #expect(try Self.checks(gate) == 0)
            #expect(try Self.status(of: nginx, name: "answers_total{code=\"within_ttl\"}") == 20)
            #expect(try Self.status(of: nginx, name: "cache_lookups_total{result=\"hit\"}") ?? 0 > 10)
            #expect(try nginx.get("/live/tnt/a?token=\(try gate.token())").gateCode == "verified")
            #expect(try Self.checks(gate) == 1)
            #expect(try Self.status(of: nginx, name: "asks_total{result=\"allow\"}") == 1)
        }
    }

    /// Two workers, and a token that starts one playback.
    @Test func `26: lets one of fifty parallel requests use a token up`() async throws {
        let workers = ["worker_processes auto;": "worker_processes 2; daemon off;"]
        try await EdgeProxy.nginxModule.withGate(replacing: workers) { (gate, nginx) throws in
            try nginx.expectOneUse(at: gate)
        }
    }

    /// From the gate's socket, and from a file that another program writes.
    @Test(arguments: [true, false]) func `hears of a revocation`(isFile: Bool) async throws {
        let folder = try TemporaryFolder()
        let replacing = isFile ? [NginxModule.policy: "policy.json"] : [:]
        try await EdgeProxy.nginxModule.withGate(replacing: replacing, folder: folder) { (gate, nginx) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            let other = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s2")))"]
            for viewer in [cookie, other] {
                #expect(try nginx.get("/live/seg/1", headers: viewer).gateCode == "within_ttl")
            }
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            if isFile { try NginxModule.write(policyOf: gate, to: folder) }
            #expect(try eventually { try nginx.get("/live/seg/1", headers: cookie).gateCode == "session_revoked" })
            #expect(try nginx.get("/live/seg/1", headers: other).gateCode == "within_ttl")
            guard isFile else { return }
            // A file that is no policy changes nothing, and is logged once.
            try folder.write("policy.json", contents: "{")
            #expect(eventually { (try? nginx.logs().contains("stays as it was")) ?? false })
            #expect(try nginx.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
            #expect(try nginx.get("/live/seg/1", headers: other).gateCode == "within_ttl")
        }
    }

    @Test func `accepts a policy that is signed by keys to trust, and no other`() async throws {
        let signed = [NginxModule.policy: "policy.jws trust=signer.jwk"]
        try await EdgeProxy.nginxModule.expectSignedPolicies(replacing: signed)
    }

    @Test(arguments: [true, false]) func `14: trusts a policy up to its limit`(asks: Bool) async throws {
        let replacing = asks ? [:] : [Self.ask: ""]
        try await EdgeProxy.nginxModule.withGate(replacing: replacing) { (gate, nginx) throws in
            #expect(try nginx.get("/live/free/a").status == 200)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try nginx.get("/live/free/a")
            #expect(late.status == (asks ? 200 : 503), "\(late)")
            #expect(late.gateCode == (asks ? "unprotected" : "ask_policy_stale"))
            // A request that nobody can decide is refused.
            let token = try gate.token()
            let start = try nginx.get("/live/tnt/a?token=\(token)")
            #expect(start.status == (asks ? 200 : 503), "\(start)")
        }
    }

    @Test func `starts though the service of its policy sends a byte at a time, and refuses until there is one`()
        async throws
    {
        let folder = try TemporaryFolder()
        let service = try DrippingService(folder.file("drips.sock"))
        let replacing = [NginxModule.policy: "unix:\(folder.file("drips.sock"))", Self.ask: ""]
        try await EdgeProxy.nginxModule.withGate(replacing: replacing, folder: folder) { (_, nginx) throws in
            // An answer at all: a worker that waits for the service's gives none.
            #expect(try nginx.get("/live/seg/1?token=x").status == 503)
            #expect(nginx.origin.requests == 0)
        }
        try await service.stop()
    }

    @Test func `shadow: logs what it would refuse, and lets it pass`() async throws {
        let replacing = [Self.on: "playgate shadow;", "nginx/error.log;\n\nevents": "nginx/error.log warn;\n\nevents"]
        try await EdgeProxy.nginxModule.withGate(replacing: replacing) { (gate, nginx) throws in
            let seen = try nginx.get("/live/seg/1")
            #expect(seen.status == 200 && seen.gateCode == "media_token_missing", "\(seen)")
            #expect(try nginx.get("/live/none?token=x").gateCode == "unknown_media")
            #expect(try Self.status(of: nginx, name: "shadowed_total") == 2)
            // Nobody knows what the origin would read, so that this is closed, and the origin sees no token.
            let many = (0..<17).map { "token=secret\($0)" }.joined(separator: "&")
            let closed = try nginx.get("/live/seg/1?\(many)", headers: ["X-Playgate-MVPD": "mine"])
            #expect(closed.status == 403 && closed.gateCode == "edge_request_invalid", "\(closed)")
            #expect(nginx.origin.requests == 2)
            let logs = try nginx.logs()
            #expect(!logs.contains("secret"), "\(logs)")
            #expect(logs.contains("would be refused by media_token_missing") && !logs.contains("token=x"), "\(logs)")
        }
    }

    /// nginx has no access phase for sub-requests.
    @Test func `checks the sub-requests of pages by their own paths`() async throws {
        let page = """
                    location /page/ {
                        ssi on;
                        ssi_types *;
                        proxy_pass http://127.0.0.1:8089;
                    }

            """
        try await EdgeProxy.nginxModule.withGate(replacing: [Self.segments: page + Self.segments]) {
            (gate, nginx) throws in
            let include = { (path: String) in "<!--#include virtual=\"\(path)\" -->" }
            let files = [
                "/page/a.html":
                    "(\(include("/live/seg/1.ts")))(\(include("/live/free/1.ts")))(\(include("/live/tnt/1.ts")))",
                "/live/seg/1.ts": "segment", "/live/free/1.ts": "free", "/live/tnt/1.ts": "start",
            ]
            nginx.origin.serve(files.mapValues { [UInt8]($0.utf8) })
            // Pages that nginx puts together have no length.
            let curl = try #require(Program.installed("curl"))
            let path = String(nginx.address.dropFirst("unix:".count))
            let read = { (cookie: String) in
                let arguments = ["-s", "--unix-socket", path, "-H", "Cookie: \(cookie)", "http://gate/page/a.html"]
                return try CommandRun(curl, arguments: arguments).output
            }
            let closed = try read("a=b")
            #expect(closed.contains("(free)") && !closed.contains("segment") && !closed.contains("start"), "\(closed)")
            let cookie = "media-token=\(try gate.token())"
            let open = try read(cookie)
            #expect(open.contains("(segment)(free)(start)"), "\(open)")
            // The token was used up by the part that starts a playback, and by nothing else.
            let again = try read(cookie)
            #expect(again.contains("(segment)(free)") && !again.contains("start"), "\(again)")
        }
    }

    @Test func `asks once for the parts of a slice`() async throws {
        let sliced = [
            "            proxy_cache content;\n":
                "            slice 10; proxy_set_header Range $slice_range;\n            proxy_cache content;\n"
        ]
        try await EdgeProxy.nginxModule.withGate(replacing: sliced) { (gate, nginx) throws in
            let token = try gate.token()
            #expect(try nginx.get("/live/tnt/a?token=\(token)").status == 200)
            #expect(try Self.checks(gate) == 1)
            #expect(try nginx.get("/live/tnt/a?token=\(token)").status == 403)
        }
    }

    @Test func `uses the resource of a location instead of the path's`() async throws {
        let locations = """
                    location /own/ {
                        playgate on;
                        playgate_resource TBS requestor=REF30 admits=ttl;
                        add_header X-Playgate-Code $playgate_code always;
                        add_header X-Seen "$playgate_mvpd $playgate_resource $playgate_expires" always;
                        proxy_pass http://127.0.0.1:8089;
                    }
                    location /media/ {
                        playgate on;
                        playgate_ask /_gate;
                        playgate_resource media=trailer;
                        add_header X-Playgate-Code $playgate_code always;
                        proxy_pass http://127.0.0.1:8089;
                    }

            """
        try await EdgeProxy.nginxModule.withGrants(replacing: [Self.segments: locations + Self.segments]) {
            (gate, nginx) throws in
            let tbs = try gate.token(GateSample.claims(resource: "TBS"))
            let seen = try nginx.get("/own/a?token=\(tbs)&x=1")
            #expect(seen.gateCode == "within_ttl" && seen.body.hasPrefix("GET /own/a?x=1\n"), "\(seen)")
            #expect(seen.values("X-Seen").first?.hasPrefix("SandboxMVPD TBS 1925") == true, "\(seen.fields)")
            #expect(try nginx.get("/own/a?token=\(try gate.token())").gateCode == "resource_mismatch")
            #expect(try nginx.get("/own/a").status == 401)
            #expect(try nginx.get("/media/a").gateCode == "unprotected")
            // The service knows nothing of a location's demands: without a policy, nobody can tell.
            let checks = try Self.checks(gate)
            gate.now = gate.now.adding(seconds: 31 * 86_400)
            let late = try nginx.get("/media/a")
            #expect(late.status == 503 && late.gateCode == "ask_policy_stale", "\(late)")
            #expect(try Self.checks(gate) == checks)
        }
    }

    /// Locations under a path that needs no token, each of which serves a file that needs one.
    static let servingOthers: [(name: String, location: String)] = [
        ("rewrite with break", "rewrite ^ /live/seg/a break; proxy_pass http://127.0.0.1:8089;"),
        ("rewrite with last", "playgate off; rewrite ^ /live/seg/a last;"),
        ("try_files", "try_files /none /live/seg/a;"),
        ("error_page", "root /none; error_page 404 = /live/seg/a;"),
        ("index", "root /none; index /live/seg/a;"),
    ]

    @Test func `opens no path that it serves instead of the client's without checking that too`() async throws {
        let locations = Self.servingOthers.enumerated().map { number, other in
            let mode = other.location.hasPrefix("playgate") ? "" : "playgate on;"
            return """
                        location /live/free/\(number)/ {
                            \(mode)
                            add_header X-Playgate-Code $playgate_code always;
                            \(other.location)
                        }

                """
        }
        .joined()
        let carried = """
                    location /~cat= {
                        playgate on;
                        rewrite ^/(.*)$ /live/free/$1 break;
                        proxy_pass http://127.0.0.1:8089;
                    }
                    location /shadow/ {
                        playgate shadow;
                        rewrite ^/shadow/(.*)$ /live/free/$1 break;
                        proxy_pass http://127.0.0.1:8089;
                    }
                    location /named/ {
                        playgate on;
                        playgate_resource media=trailer;
                        rewrite ^/named/(.*)$ /live/free/$1 break;
                        proxy_pass http://127.0.0.1:8089;
                    }
                    location /live/seg/open/ {
                        playgate on;
                        rewrite ^/live/seg/open/(.*)$ /live/free/$1 break;
                        proxy_pass http://127.0.0.1:8089;
                    }

            """
        let replacing = [Self.segments: locations + carried + Self.segments]
        try await EdgeProxy.nginxModule.withGrants(replacing: replacing) { (gate, nginx) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for (number, other) in Self.servingOthers.enumerated() {
                let closed = try nginx.get("/live/free/\(number)/")
                #expect(closed.status == 401 && closed.gateCode == "media_token_missing", "\(other.name): \(closed)")
                #expect(closed.values("WWW-Authenticate") == ["MediaToken"], "\(other.name)")
                let open = try nginx.get("/live/free/\(number)/", headers: cookie)
                #expect(open.status == 200 && open.body.contains("/live/seg/a"), "\(other.name): \(open)")
            }
            // The client's own path counts too.
            #expect(try nginx.get("/live/seg/open/a").status == 401)
            #expect(try nginx.get("/live/seg/open/a", headers: cookie).body.hasPrefix("GET /live/free/a\n"))
            // A token that a rewrite carries along goes no further, whatever is decided about it.
            for prefix in ["", "/shadow", "/named"] {
                let seen = try nginx.get("\(prefix)/~cat=SECRET/live/free/b")
                #expect(seen.status == 200 && seen.body.hasPrefix("GET /live/free/live/free/b\n"), "\(prefix): \(seen)")
                #expect(!seen.body.contains("SECRET"), "\(prefix): \(seen)")
            }
            nginx.stop()
            #expect(try !nginx.logs().contains("SECRET"))
        }
    }

    /// nginx looks for a page of its own, and so begins the phases in their middle.
    @Test func `shows no token in logs of requests that are refused before their first phase`() async throws {
        let pages = ["        location /": "        error_page 400 414 494 /live/free/error;\n        location /"]
        try await EdgeProxy.nginxModule.withGrants(replacing: pages) { (_, nginx) throws in
            let (large, long) = (String(repeating: "a", count: 20_000), String(repeating: "a", count: 9000))
            for head in [
                "GET /live/seg/a?token=SECRET HTTP/1.1\r\nHost: gate\r\nX: \(large)\r\n\r\n",
                "GET /live/seg/a?token=SECRET&a=\(long) HTTP/1.1\r\nHost: gate\r\n\r\n",
                "GET /live/seg/a?token=SECRET HTTP/1.1\r\nHost: gate\r\nContent-Length: x\r\n\r\n",
                "GET /~cat=SECRET/live/seg/a HTTP/1.1\r\nHost: a/b\r\n\r\n",
            ] {
                let connection = try nginx.connect()
                try connection.send(head)
                #expect(try connection.response().status >= 400)
            }
            nginx.stop()
            let logs = try nginx.logs()
            #expect(logs.contains("GET /live/seg/a") && !logs.contains("SECRET"), "\(logs)")
        }
    }

    /// The master has read a policy days ago, and a worker has died since.
    @Test func `a new worker decides its first request by the present policy`() async throws {
        let folder = try TemporaryFolder()
        let replacing = [
            NginxModule.policy: "policy.json", "worker_processes auto;": "worker_processes 1; daemon off;",
        ]
        try await EdgeProxy.nginxModule.withGrants(replacing: replacing, folder: folder) { (gate, nginx) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            #expect(try nginx.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            let old = try #require(try Self.workers(of: nginx.process).first.flatMap { Int32($0) })
            try NginxModule.write(policyOf: gate, to: folder)
            kill(old, SIGKILL)
            #expect(try eventually { try Self.workers(of: nginx.process).contains { $0 != "\(old)" } })
            #expect(try nginx.get("/live/seg/1", headers: cookie).gateCode == "session_revoked")
        }
    }

    /// nginx waits for no sub-request of one in the background.
    @Test func `asks nothing for a request in the background`() async throws {
        let copied = """
                    location /copied/ {
                        mirror /live/tnt/copy;
                        proxy_pass http://127.0.0.1:8089;
                    }

            """
        try await EdgeProxy.nginxModule.withGate(replacing: [Self.segments: copied + Self.segments]) {
            (gate, nginx) throws in
            let token = try gate.token()
            #expect(try nginx.get("/copied/a", headers: ["Cookie": "media-token=\(token)"]).status == 200)
            #expect(try nginx.get("/live/free/a").status == 200)
            #expect(try Self.checks(gate) == 0)
            #expect(nginx.origin.requests == 2)
            #expect(try nginx.get("/live/tnt/a?token=\(token)").gateCode == "verified")
        }
    }

    /// Faults of the configuration, and of the policy, at `nginx -t`.
    static let faults: [(printed: String, other: String, message: String)] = [
        ("playgate_policy policy.json;", "", "\"playgate\" has no playgate_policy"),
        (
            "playgate_policy policy.json;", "playgate_policy none.json;",
            "the policy cannot be read: No such file or directory"
        ),
        (
            "playgate_policy policy.json;", "playgate_policy policy.json key=policy.json;",
            "must be unix:PATH, with or without key=FILE, or a path, with or without trust=FILE"
        ),
        (
            "playgate_policy policy.json;", "playgate_policy unix:/a key=none;",
            "the file of the key cannot be read"
        ),
        (
            "playgate_policy policy.json;", "playgate_policy unix:/a trust=policy.json;",
            "must be unix:PATH, with or without key=FILE"
        ),
        (
            "playgate_policy policy.json;", "playgate_policy policy.json other=a;",
            "or a path, with or without trust=FILE"
        ),
        (
            "playgate_policy policy.json;", "playgate_policy policy.json trust=none;",
            "the file of the keys to trust cannot be read"
        ),
        ("playgate_policy policy.json;", "playgate_policy policy.json trust=policy.json;", "no JWK Set of public keys"),
        (
            "playgate_policy policy.json;", "playgate_policy policy.json trust=signer.jwk;",
            "policy.json\" is invalid: this policy is not signed: write it by playgate export --sign"
        ),
        ("playgate_policy policy.json;", "playgate_policy signed.jws;", "jws\" is invalid: this policy is signed"),
        (on, "playgate on; playgate_policy policy.json trust=signer.jwk;", "names the policy with other keys to trust"),
        (
            "playgate_policy policy.json;",
            "playgate_policy unix:/a; server { listen unix:b; playgate on; playgate_policy unix:/a key=signer.jwk; }",
            "names the policy with another key"
        ),
        (on, "playgate on; satisfy any;", "\"satisfy any\" in location \"/\" would open what \"playgate\" protects"),
        (on, "playgate perhaps;", "\"playgate\" directive must be on, off or shadow"),
        (on, "playgate on; playgate_profile none;", "\"playgate_profile\" names no profile of the policy"),
        (on, "playgate on; playgate_resource media=none;", "\"playgate_resource\" names no media of the policy"),
        (on, "playgate on; playgate_resource TNT;", "needs requestor=ID"),
        (on, "playgate on; playgate_resource TNT requestor=A admits=twice;", "may be followed by requestor=ID"),
        (ask, "playgate_ask @gate;", "must be a location such as /_gate, or off"),
        ("playgate_token query=token", "playgate_token where=token", "names no source of tokens"),
        ("playgate_token query=token", "playgate_token package=token", "which is for grants"),
        ("http {\n", "http {\n    playgate_cache 3;\n", "must be off, or a number of answers from 64 to 1048576"),
        ("http {\n", "http {\n    playgate_cache 64 entry=1;\n", "may be followed by entry=BYTES"),
    ]

    @Test func `nginx -t names file and line`() async throws {
        let folder = try TemporaryFolder()
        let policy = [NginxModule.policy: "policy.json"]
        try await EdgeProxy.nginxModule.withGate(replacing: policy, folder: folder) { (_, nginx) throws in
            let good = try folder.text("nginx.conf")
            let key = try TokenKey.generate(.es256, id: KeyID("k"), binding: KeyBinding(issuer: "", format: .cat)).key
            try folder.write("signer.jwk", contents: try KeySet([key]).publishedJWKSet)
            try folder.write("signed.jws", contents: try EdgeBundle.signed([UInt8]("{}".utf8), by: key))
            func test(_ text: String) throws -> String {
                let file = try folder.write("test.conf", contents: text)
                let program = try #require(EdgeProxy.nginx.executable)
                let arguments = ["-t", "-c", file, "-p", folder.path, "-e", folder.file("test.log")]
                let clock = try PreloadedClock.environment(folder)
                let run = try CommandRun(
                    try #require(Program.installed("env")),
                    arguments: clock + [program] + arguments
                )
                return "\(run.status) \(run.error)"
            }
            #expect(try test(good).hasPrefix("0 "))
            for fault in Self.faults {
                try #require(good.contains(fault.printed), "the page prints something else than \(fault.printed)")
                let said = try test(good.replacing(fault.printed, with: fault.other))
                #expect(said.hasPrefix("1 ") && said.contains(fault.message), "\(said)")
                #expect(said.contains("in \(folder.file("test.conf")):"), "\(said)")
            }
            try folder.write("policy.json", contents: "{\n  \"surprise\": 1\n}")
            let said = try test(good)
            #expect(
                said.hasPrefix("1 ") && said.contains("policy.json\" is invalid") && said.contains("in line "),
                "\(said)"
            )
        }
    }

    @Test func `reloads a hundred times under load without losing a request, or memory`() async throws {
        let folder = try TemporaryFolder()
        let workers = ["worker_processes auto;": "worker_processes 2; daemon off;"]
        try await EdgeProxy.nginxModule.withGate(replacing: workers, folder: folder) { (gate, nginx) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            // Not from its file: nginx writes that after it takes connections.
            let master = nginx.process
            func memory() throws -> Int {
                let text = try String(contentsOfFile: "/proc/\(master)/status", encoding: .utf8)
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
                return try #require(Int(line.split(separator: " ").dropFirst().first ?? ""))
            }
            var (start, answered) = (0, 0)
            for reload in 0..<100 {
                nginx.reload()
                // Each is asked for on a connection of its own, which old and new workers take.
                for number in 0..<5 {
                    let answer = try nginx.get("/live/seg/\(number)", headers: cookie)
                    #expect(answer.status == 200, "\(reload): \(answer)")
                    answered += 1
                }
                #expect(eventually { (try? Self.workers(of: master).count) ?? 9 <= 4 })
                if reload == 20 { start = try memory() }
            }
            #expect(answered == 500)
            let end = try memory()
            #expect(end < start + start / 10 + 1024, "\(start) KB after 20 reloads, \(end) KB after 100")
            // Counters stay.
            #expect(try Self.status(of: nginx, name: "answers_total{code=\"within_ttl\"}") == 500)
        }
    }

    /// The processes whose parent is `master`.
    private static func workers(of master: Int32) throws -> [String] {
        try String(contentsOfFile: "/proc/\(master)/task/\(master)/children", encoding: .utf8).split(separator: " ")
            .map(String.init)
    }
}

/// A service whose answer comes a byte at a time, and never ends.
private final class DrippingService: Sendable {
    private let channel: any Channel

    init(_ path: String) throws {
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let drip: @Sendable (RepeatedTask) -> Void = { task in
                    guard channel.isActive else { return task.cancel() }
                    channel.writeAndFlush(ByteBuffer(string: "H"), promise: nil)
                }
                channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20), drip)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(unixDomainSocketPath: path).wait()
    }

    func stop() async throws { try await channel.close() }
}
