// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The Helm chart, rendered by Helm itself and validated by the schemas of Kubernetes.
@Suite struct `The Helm chart` {
    private static let chart = repository + "/packaging/helm/playgate"
    private static let programs = repository + "/.build-oracles/bin"

    /// True if Helm is installed. Otherwise tests report a skip; in continuous integration they fail.
    private static var isInstalled: Bool {
        let isThere = FileManager.default.isExecutableFile(atPath: "\(programs)/helm")
        if isThere || ProcessInfo.processInfo.environment["CI"] != nil { return true }
        FileHandle.standardError.write(Data("SKIPPED: helm is not installed; run scripts/setup test\n".utf8))
        return false
    }

    /// A caller, without which no gate starts.
    private static let caller = """
        config.api.keys=[{"name":"backend","sha256":"\(String(repeating: "ab", count: 32))","scopes":["playback"]}]
        """

    private static func render(_ settings: [String], json: [String] = [caller]) throws -> CommandRun {
        let options = settings.flatMap { ["--set", $0] } + json.flatMap { ["--set-json", $0] }
        return try CommandRun("\(programs)/helm", ["template", "film", chart, "--namespace", "tv"] + options)
    }

    /// The objects of a rendered chart, by kind.
    private static func objects(_ text: String) throws -> [String: [String: Any]] {
        let folder = try TemporaryFolder()
        let file = try folder.write("all.yaml", text)
        let script =
            "import json,sys,yaml; print(json.dumps({o['kind']: o for o in yaml.safe_load_all(open(sys.argv[1])) if o}))"
        let run = try CommandRun("\(programs)/python", ["-c", script, file])
        return try #require(
            JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: [String: Any]],
            "\(run.error)"
        )
    }

    /// Expects that the gate takes the configuration of a rendered chart, and returns it.
    private static func expectConfiguration(of objects: [String: [String: Any]]) throws -> String {
        let gate = try #require((objects["ConfigMap"]?["data"] as? [String: String])?["gate.yaml"])
        let folder = try TemporaryFolder()
        try folder.write("keys/signer.pem", try GateSample.current.get().keys.signerCertificate)
        let file = try folder.write("gate.yaml", gate)
        let check = try CommandRun("/usr/bin/env", ["REDIS_PASSWORD=x", Program.built("playgate"), "check", file])
        #expect(check.status == 0, "\(check.error)\n\(gate)")
        return gate
    }

    @Test(arguments: [
        [], ["autoscaling.enabled=true"], ["replicas=1", "config.use.store=memory"],
        [
            "config.edge.listen=0.0.0.0:8081", "config.edge.trustedPeers={10.0.0.0/8}",
            "config.edge.tokens[0].query=token",
            "networkPolicy.monitors[0].namespaceSelector.matchLabels.name=monitoring",
        ],
        [
            "image.digest=sha256:\(String(repeating: "0", count: 64))", "secretEnvironment[0].name=REDIS_PASSWORD",
            "secretEnvironment[0].secret=redis", "secretEnvironment[0].key=password",
            "config.use.redis.password.env=REDIS_PASSWORD",
        ],
        ["config.admin.listen=127.0.0.1:9090", "podDisruptionBudget.enabled=false", "serviceAccount.create=false"],
    ])
    func `is what Kubernetes and the gate take`(settings: [String]) throws {
        guard Self.isInstalled else { return }
        let rendered = try Self.render(settings)
        try #require(rendered.status == 0, "\(rendered.error)")
        let folder = try TemporaryFolder()
        let file = try folder.write("all.yaml", rendered.output)
        for version in ["1.25", "1.34"] {
            let valid = try CommandRun(
                "\(Self.programs)/kubernetes-validate",
                ["--strict", "--kubernetes-version", version, file]
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

    @Test func `takes the values that docs/install.md prints`() throws {
        guard Self.isInstalled else { return }
        let page = try String(contentsOfFile: "\(repository)/docs/install.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let values = try #require(blocks.first { $0.hasPrefix("image:") })
            .replacing("64 hexadecimal digits", with: String(repeating: "ab", count: 32))
        let folder = try TemporaryFolder()
        let file = try folder.write("values.yaml", values)
        let rendered = try CommandRun("\(Self.programs)/helm", ["template", "gate", Self.chart, "--values", file])
        try #require(rendered.status == 0, "\(rendered.error)")
        let objects = try Self.objects(rendered.output)
        _ = try Self.expectConfiguration(of: objects)
        #expect(rendered.output.contains("secretKeyRef: { name: \"redis\", key: \"password\" }"))
        #expect(rendered.output.contains("kubernetes.io/metadata.name: monitoring"))
    }

    @Test(arguments: [
        (["config.use.store=memory"], "several gates need one store"),
        (["replicas=1", "autoscaling.enabled=true", "config.use.store=sqlite"], "several gates need one store"),
        (["replicas=0"], "Must be greater than or equal to 1"),
        (["replica=2"], "Additional property replica is not allowed"),
        (["secretFiles[0].secret=a", "secretFiles[0].path=../b"], "Does not match pattern"),
        (["image.digest=abc"], "Does not match pattern"),
    ])
    func `refuses values that make no sense`(settings: [String], message: String) throws {
        guard Self.isInstalled else { return }
        let run = try Self.render(settings)
        #expect(run.status != 0 && run.error.contains(message), "\(run.error)")
    }

    @Test func `is clean, and of the version of the release`() throws {
        guard Self.isInstalled else { return }
        let lint = try CommandRun("\(Self.programs)/helm", ["lint", "--strict", Self.chart])
        #expect(lint.status == 0, "\(lint.output)")
        let version = try CommandRun(Program.built("playgate"), ["version"]).output.filter { !$0.isNewline }
            .replacing("playgate ", with: "")
        let chart = try String(contentsOfFile: "\(Self.chart)/Chart.yaml", encoding: .utf8)
        #expect(chart.contains("\nversion: \(version)\n") && chart.contains("\nappVersion: \(version)\n"))
        let compose = try String(contentsOfFile: "\(repository)/examples/compose/compose.yaml", encoding: .utf8)
        #expect(compose.contains("playgate:${PLAYGATE_VERSION:-\(version)}"))
    }
}

/// The files of examples/compose, with the programs of this machine in place of containers.
@Suite struct `The example for compose` {
    private static let folder = repository + "/examples/compose"

    @Test func `plays through nginx with Redis, once`() throws {
        guard let nginx = Program.installed("nginx"), RedisServer.isInstalled else { return }
        let folder = try TemporaryFolder()
        let redis = try RedisServer()
        let database = try redis.start()
        defer { database.signal(SIGTERM) }
        let (front, origin) = (try freePort(), try freePort())
        try folder.write("keys/signer.pem", try GateSample.current.get().keys.signerCertificate)
        try folder.write("media/live/tnt/a.m3u8", "#EXTM3U\n")
        let sockets = ["/run/playgate/edge.sock": folder.file("edge.sock")]
        func copy(_ name: String, _ changes: [String: String]) throws -> String {
            var text = try String(contentsOfFile: "\(Self.folder)/\(name)", encoding: .utf8)
            for (printed, other) in changes.merging(sockets, uniquingKeysWith: { $1 }) {
                text = text.replacing(printed, with: other)
            }
            return try folder.write(name, text)
        }
        let gateFile = try copy(
            "gate.yaml",
            [
                "\"redis:6379\"": "\"unix:\(redis.socket)\"", "127.0.0.1:8080": "unix:\(folder.file("api.sock"))",
                "127.0.0.1:9090": "unix:\(folder.file("admin.sock"))",
            ]
        )
        let originFile = try copy(
            "origin.conf",
            ["listen 8089": "listen 127.0.0.1:\(origin)", "/srv": folder.file("media")]
        )
        let nginxFile = try copy(
            "nginx.conf",
            [
                "listen 8088": "listen 127.0.0.1:\(front)", "http://origin:8089": "http://127.0.0.1:\(origin)",
                "/tmp/nginx.pid": folder.file("nginx.pid"), "/dev/stdout": folder.file("access.log"),
                "/dev/stderr": folder.file("error.log"),
                "http {": "http {\n    include \(originFile);\n    client_body_temp_path \(folder.path)/body;",
            ]
        )
        let gate = try Program(
            Program.built("playgate"),
            ["serve", "--config", gateFile],
            log: folder.file("gate.log")
        )
        defer { gate.signal(SIGTERM) }
        try #require(
            eventually(within: 60) {
                (try? CommandRun(Program.built("playgate"), ["health", "--config", gateFile]).status) == 0
            },
            "\(gate.output)"
        )
        let options = [
            "-p", folder.path, "-c", nginxFile, "-e", folder.file("error.log"), "-g", "daemon off; user root;",
        ]
        let server = try Program(nginx, options, log: folder.file("nginx.log"))
        defer { server.signal(SIGTERM) }
        func get(_ path: String, _ headers: [String: String] = [:]) throws -> HTTPConnection.Response {
            try HTTPConnection("127.0.0.1:\(front)").request("GET", path, headers: headers)
        }
        try #require(eventually(within: 60) { (try? get("/")) != nil }, "\(server.output)")
        let token = try GateSample.current.get().issuer.issue(GateSample.claims(), at: .now()).serialized
        let first = try get("/live/tnt/a.m3u8?token=\(token.percentEncoded)")
        #expect(first.status == 200 && first.body == "#EXTM3U\n", "\(first) \(gate.output)")
        #expect(first.headers["cache-control"] == "private, no-cache" && first.headers["x-playgate-code"] == "verified")
        let again = try get("/live/tnt/a.m3u8", ["Cookie": "media-token=\(token)"])
        #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used", "\(again)")
        #expect(try get("/live/tnt/a.m3u8").status == 401)
        #expect(try get("/other").status == 404)
        gate.signal(SIGTERM)
        _ = try? gate.waitUntilExit()
        #expect(try get("/live/tnt/a.m3u8").status == 503)
        server.signal(SIGTERM)
        _ = try? server.waitUntilExit()
        let log = try folder.text("access.log")
        #expect(
            log.contains("\"GET /live/tnt/a.m3u8\" 200") && !log.contains("token=") && !log.contains(token.prefix(20))
        )
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
