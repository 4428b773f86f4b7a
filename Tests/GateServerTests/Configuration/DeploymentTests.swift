// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The Helm chart, rendered by Helm itself and validated by the schemas of Kubernetes.
@Suite(.enabled(if: Requirement.hasFile(".build-oracles/bin/helm"), "helm is not installed: run scripts/setup test"))
struct `The Helm chart` {
    private static let chart = repository + "/packaging/helm/playgate"
    private static let programs = repository + "/.build-oracles/bin"

    /// A caller, without which no gate starts.
    private static let caller = """
        config.api.keys=[{"name":"backend","sha256":"\(String(repeating: "ab", count: 32))","scopes":["playback"]}]
        """

    /// A stream, without which nothing can be played.
    private static let stream = """
        config.streams=[{"folder":"/live/tnt/","resource":"TNT","manifest":"master.m3u8","media":"tnt-live"}]
        """

    private static func render(_ settings: [String], json: [String] = [caller, stream]) throws -> CommandRun {
        let options = settings.flatMap { ["--set", $0] } + json.flatMap { ["--set-json", $0] }
        return try CommandRun(
            "\(programs)/helm",
            arguments: ["template", "film", chart, "--namespace", "tv"] + options
        )
    }

    /// The objects of a rendered chart, by kind.
    private static func objects(_ text: String) throws -> [String: [String: Any]] {
        let folder = try TemporaryFolder()
        let file = try folder.write("all.yaml", contents: text)
        let script =
            "import json,sys,yaml; print(json.dumps({o['kind']: o for o in yaml.safe_load_all(open(sys.argv[1])) if o}))"
        let run = try CommandRun("\(programs)/python", arguments: ["-c", script, file])
        return try #require(
            JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: [String: Any]],
            "\(run.error)"
        )
    }

    /// Expects that the gate accepts the configuration of a rendered chart, and returns it.
    private static func expectConfiguration(of objects: [String: [String: Any]]) throws -> String {
        let gate = try #require((objects["ConfigMap"]?["data"] as? [String: String])?["gate.yaml"])
        let folder = try TemporaryFolder()
        try folder.write("keys/signer.pem", contents: try GateSample.current.get().keys.signerCertificate)
        let file = try folder.write("gate.yaml", contents: gate)
        let check = try CommandRun(
            "/usr/bin/env",
            arguments: ["REDIS_PASSWORD=x", Program.built("playgate"), "check", file]
        )
        #expect(check.status == 0, "\(check.error)\n\(gate)")
        return gate
    }

    @Test(arguments: [
        [], ["autoscaling.enabled=true"], ["replicas=1", "config.replayStore.redis=null"],
        [
            "config.edge.listen=0.0.0.0:8081", "config.edge.peers={10.0.0.0/8}",
            "config.edge.tokens[0].query=token",
            "networkPolicy.monitors[0].namespaceSelector.matchLabels.name=monitoring",
        ],
        [
            "image.digest=sha256:\(String(repeating: "0", count: 64))", "secretEnvironment[0].name=REDIS_PASSWORD",
            "secretEnvironment[0].secret=redis", "secretEnvironment[0].key=password",
            "config.replayStore.redis.password.env=REDIS_PASSWORD",
        ],
        ["config.admin.listen=127.0.0.1:9090", "podDisruptionBudget.enabled=false", "serviceAccount.create=false"],
    ])
    func `is what Kubernetes and the gate accept`(settings: [String]) throws {
        let rendered = try Self.render(settings)
        try #require(rendered.status == 0, "\(rendered.error)")
        let folder = try TemporaryFolder()
        let file = try folder.write("all.yaml", contents: rendered.output)
        for version in ["1.25", "1.34"] {
            let valid = try CommandRun(
                "\(Self.programs)/kubernetes-validate",
                arguments: ["--strict", "--kubernetes-version", version, file]
            )
            #expect(valid.status == 0, "\(valid.output) \(valid.error)")
        }
        let objects = try Self.objects(rendered.output)
        let gate = try Self.expectConfiguration(of: objects)
        let isScaled = settings.contains("autoscaling.enabled=true")
        let deployment = try #require(objects["Deployment"]?["spec"] as? [String: Any])
        #expect((deployment["replicas"] == nil) == isScaled && (objects["HorizontalPodAutoscaler"] != nil) == isScaled)
        let hasEdge = gate.contains("8081")
        #expect(rendered.output.contains("name: edge, containerPort: 8081") == hasEdge)
        // The admin listener is in no service.
        let ports = ((objects["Service"]?["spec"] as? [String: Any])?["ports"] as? [[String: Any]] ?? []).map {
            $0["name"] as? String
        }
        #expect(ports == (hasEdge ? ["api", "edge"] : ["api"]))
    }

    @Test func `accepts the values that docs/start/install.md prints`() throws {
        let page = try String(contentsOfFile: "\(repository)/docs/start/install.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let values = try #require(blocks.first { $0.hasPrefix("image:") })
            .replacing("64 hexadecimal digits", with: String(repeating: "ab", count: 32))
        let folder = try TemporaryFolder()
        let file = try folder.write("values.yaml", contents: values)
        let rendered = try CommandRun(
            "\(Self.programs)/helm",
            arguments: ["template", "gate", Self.chart, "--values", file]
        )
        try #require(rendered.status == 0, "\(rendered.error)")
        let objects = try Self.objects(rendered.output)
        _ = try Self.expectConfiguration(of: objects)
        #expect(rendered.output.contains("secretKeyRef: { name: \"redis\", key: \"password\" }"))
        #expect(rendered.output.contains("kubernetes.io/metadata.name: monitoring"))
    }

    @Test(arguments: [
        (["config.replayStore.redis=null"], "several gates need one store"),
        (
            [
                "replicas=1", "autoscaling.enabled=true", "config.replayStore.redis=null",
                "config.replayStore.sqlite=uses.sqlite",
            ],
            "several gates need one store"
        ),
        (["replicas=0"], "Must be greater than or equal to 1"),
        (["replica=2"], "Additional property replica is not allowed"),
        (["secretFiles[0].secret=a", "secretFiles[0].path=../b"], "Does not match pattern"),
        (["image.digest=abc"], "Does not match pattern"),
    ])
    func `refuses values that make no sense`(settings: [String], message: String) throws {
        let run = try Self.render(settings)
        #expect(run.status != 0 && run.error.contains(message), "\(run.error)")
    }

    @Test func `is clean, and of the version of the release`() throws {
        let lint = try CommandRun("\(Self.programs)/helm", arguments: ["lint", "--strict", Self.chart])
        #expect(lint.status == 0, "\(lint.output)")
        let version = try CommandRun(Program.built("playgate"), arguments: ["version"]).output.filter { !$0.isNewline }
            .replacing("playgate ", with: "")
        let chart = try String(contentsOfFile: "\(Self.chart)/Chart.yaml", encoding: .utf8)
        #expect(chart.contains("\nversion: \(version)\n") && chart.contains("\nappVersion: \(version)\n"))
        let compose = try String(contentsOfFile: "\(repository)/examples/compose/compose.yaml", encoding: .utf8)
        #expect(compose.contains("playgate:${PLAYGATE_VERSION:-\(version)}"))
    }
}

/// The files of examples/compose, with the programs of this machine instead of containers.
@Suite struct `The example for compose` {
    private static let folder = repository + "/examples/compose"

    /// The example as it runs here.
    private struct Stage {
        let folder: TemporaryFolder
        let gate: Program
        let nginx: Program
        /// The address for players.
        let front: String

        func get(
            _ path: String,
            headers: [String: String] = [:],
            host: String = "gate"
        ) throws -> HTTPConnection.Response {
            try HTTPConnection(front).request("GET", path: path, headers: headers, host: host)
        }
    }

    /// Runs `body` with the example: its three configurations, with other paths and addresses.
    ///
    /// - Parameters:
    ///   - recorder: An origin instead of the example's.
    ///   - changes: More replacements in the gate's configuration.
    ///   - files: The media, by their paths.
    private static func withStage(
        origin recorder: RecordingOrigin? = nil,
        gate changes: [String: String] = [:],
        files: [String: [UInt8]] = [:],
        _ body: (Stage) throws -> Void
    ) throws {
        let folder = try TemporaryFolder()
        let redis = try RedisServer()
        let database = try redis.start()
        defer { database.signal(SIGTERM) }
        let (front, origin) = (try freePort(), try recorder?.port ?? freePort())
        try folder.write("keys/signer.pem", contents: try GateSample.current.get().keys.signerCertificate)
        for (path, bytes) in files.merging(
            ["/live/tnt/master.m3u8": [UInt8]("#EXTM3U\n".utf8)],
            uniquingKeysWith: { own, _ in own }
        ) {
            try folder.write("media\(path)", contents: bytes)
        }
        func copy(_ name: String, changes: [String: String]) throws -> String {
            var text = try String(contentsOfFile: "\(Self.folder)/\(name)", encoding: .utf8)
            for (printed, other) in changes {
                try #require(text.contains(printed), "\(name) has no \(printed)")
                text = text.replacing(printed, with: other)
            }
            return try folder.write(name, contents: text)
        }
        let socket = ["/run/playgate/edge.sock": folder.file("edge.sock")]
        let endpoints = [
            "redis://redis:6379": "\"unix:\(redis.socket)\"", "/run/playgate-api/api.sock": folder.file("api.sock"),
            "/var/lib/playgate": folder.file("state"), "127.0.0.1:9090": "unix:\(folder.file("admin.sock"))",
        ]
        let gateFile = try copy("gate.yaml", changes: socket.merging(endpoints) { $1 }.merging(changes) { $1 })
        let originFile = try copy(
            "origin.conf",
            changes: ["listen 8089": "listen 127.0.0.1:\(try freePort())", "/srv": folder.file("media")]
                .merging(recorder == nil ? ["listen 8089": "listen 127.0.0.1:\(origin)"] : [:]) { $1 }
        )
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "    \($0)_temp_path \(folder.file($0));\n" }.joined()
        let addresses = [
            "listen 8088": "listen 127.0.0.1:\(front)", "server origin:8089": "server 127.0.0.1:\(origin)",
            "/tmp/nginx.pid": folder.file("nginx.pid"), "/dev/stdout": folder.file("access.log"),
            "/dev/stderr": folder.file("error.log"),
            "http {": "http {\n    include \(originFile);\n" + temporary,
        ]
        let nginxFile = try copy("nginx.conf", changes: socket.merging(addresses) { $1 })
        let gate = try Program(
            Program.built("playgate"),
            arguments: ["serve", "--config", gateFile],
            log: folder.file("gate.log")
        )
        defer { gate.signal(SIGTERM) }
        let isHealthy = {
            (try? CommandRun(Program.built("playgate"), arguments: ["health", "--config", gateFile]).status) == 0
        }
        try #require(eventually(isHealthy), "\(gate.output)")
        let options = [
            "-p", folder.path, "-c", nginxFile, "-e", folder.file("error.log"), "-g", "daemon off; user root;",
        ]
        let nginx = try Program(
            try #require(Program.installed("nginx"), "nginx is not installed: run scripts/setup test"),
            arguments: options,
            log: folder.file("nginx.log")
        )
        defer { nginx.signal(SIGTERM) }
        let stage = Stage(folder: folder, gate: gate, nginx: nginx, front: "127.0.0.1:\(front)")
        try #require(eventually { (try? stage.get("/")) != nil }, "\(nginx.output)")
        try body(stage)
    }

    private static func token(_ claims: TokenClaims = GateSample.claims()) throws -> String {
        try GateSample.current.get().issuer.issue(claims, at: .now()).serialized
    }

    @Test(.needs(.nginx), .needsRedis) func `plays through nginx with Redis, once`() throws {
        try Self.withStage { stage in
            let token = try Self.token()
            let first = try stage.get("/live/tnt/master.m3u8?token=\(token.percentEncoded)")
            #expect(first.status == 200 && first.body == "#EXTM3U\n", "\(first) \(stage.gate.output)")
            let fields = (first.headers["cache-control"], first.headers["x-playgate-code"])
            #expect(fields == ("private, no-cache", "verified"))
            let cookie = try #require(first.values("Set-Cookie").first).prefix { $0 != ";" }
            #expect(try stage.get("/live/tnt/seg.ts", headers: ["Cookie": String(cookie)]).status == 404)
            #expect(try stage.get("/live/tnt/seg.ts").status == 401)
            let again = try stage.get("/live/tnt/master.m3u8", headers: ["Cookie": "media-token=\(token)"])
            #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used", "\(again)")
            #expect(try stage.get("/other").status == 404)
            stage.gate.signal(SIGTERM)
            _ = try? stage.gate.waitUntilExit()
            #expect(try stage.get("/live/tnt/master.m3u8").status == 503)
            stage.nginx.signal(SIGTERM)
            _ = try? stage.nginx.waitUntilExit()
            let log = try stage.folder.text("access.log")
            #expect(log.contains("\"GET /live/tnt/master.m3u8\" 200"))
            #expect(!log.contains("token=") && !log.contains(token.prefix(20)))
        }
    }

    @Test(.needs(.nginx), .needsRedis, .needsFFmpeg) func `plays a whole film`() throws {
        let film = try FilmStream(.hls, segments: 6, seconds: 1, in: "/live/tnt")
        try Self.withStage(files: film.files) { stage in
            let url = "http://\(stage.front)\(film.start)?token=\(try Self.token().percentEncoded)"
            let seen = try film.play(url)
            #expect(seen.isWhole, "\(seen) \(stage.gate.output)")
            #expect(try film.play(url).frames == 0, "the token is used up")
        }
    }

    /// The rules that every page of an edge follows.
    @Test(.needs(.nginx), .needsRedis)
    func `sends paths as they came, answers every host, and passes on the largest heads`() throws {
        let origin = try RecordingOrigin()
        let resource =
            "<rss version='2.0'><channel><title>TNT</title><item><title>\(String(repeating: "a", count: 900))</title></item></channel></rss>"
        let changes = [
            "- { folder: /live/tnt/, resource: TNT, manifest: master.m3u8, media: tnt-live }":
                "- { folder: /live/tnt/, resource: \"\(resource)\", manifest: \"*\" }\n"
                + "catalogue: { entries: [{ path: /live/free/, protected: false }] }"
        ]
        try Self.withStage(origin: origin, gate: changes) { stage in
            for name in EdgePageRules.names {
                let seen = try stage.get("/live/free/\(name)?token=x")
                #expect(seen.status == 200 && seen.body.hasPrefix("GET /live/free/\(name)\n"), "\(seen)")
            }
            let requests = origin.requests
            for path in EdgePageRules.escapes {
                #expect(try stage.get("/live/free/\(path)").status != 200, "\(path)")
            }
            #expect(origin.requests == requests)
            for host in EdgePageRules.hosts {
                let missing = try stage.get("/live/tnt/a", host: host)
                #expect(missing.status == 401 && missing.values("WWW-Authenticate") == ["MediaToken"], "\(missing)")
            }
            let file = String(repeating: "a", count: 3300)
            let token = try Self.token(GateSample.claims(resource: resource))
            let played = try stage.get("/live/tnt/\(file)", headers: ["Cookie": "media-token=\(token)"])
            #expect(played.status == 200 && played.headers["x-playgate-code"] == "verified", "\(played)")
            let refused = try stage.get("/live/none/\(file)")
            #expect(refused.status == 404 && refused.headers["x-playgate-code"] == "unknown_media", "\(refused)")
        }
    }

    @Test func `names files and images that are there`() throws {
        let text = try String(contentsOfFile: "\(Self.folder)/compose.yaml", encoding: .utf8)
        for file in text.matches(of: /- \.\/([a-z.]+):/).map({ String($0.1) }) where !["keys", "media"].contains(file) {
            #expect(FileManager.default.fileExists(atPath: "\(Self.folder)/\(file)"), "\(file)")
        }
        // Every service that has a health check is waited for by it.
        #expect(text.contains("gate: { condition: service_healthy }") && text.contains("test: [CMD, playgate, health]"))
    }
}
