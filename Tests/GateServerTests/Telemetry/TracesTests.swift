// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import NIOHTTP1
import Platform
import Synchronization
import Testing

@testable import GateConfiguration
@testable import GateServer
@testable import Telemetry

/// OpenTelemetry's own messages in Python, which `scripts/setup test` installs.
enum OpenTelemetryMessages {
    /// The path of the messages of traces; `nil` if they are not installed.
    static let path = Program.oracle("opentelemetry/proto/trace/v1/trace_pb2.py")
}

extension Trait where Self == ConditionTrait {
    /// The test needs OpenTelemetry's messages. It is skipped without them; in continuous integration it fails.
    static var needsOpenTelemetry: Self {
        .enabled(
            if: Requirement.isMet(OpenTelemetryMessages.path != nil),
            "opentelemetry-proto is not installed: run scripts/setup test"
        )
    }
}

/// The spans of `docs/reference/traces.md`, as OpenTelemetry's own messages read them.
@Suite struct `Traces` {
    /// A span.
    private struct Span: Decodable {
        let trace, span, parent, name, kind, status, message, scope: String
        let flags: Int
        let start: Int64
        let attributes, resource: [String: Value]

        /// The value of an attribute, as text.
        struct Value: Decodable {
            let text: String

            init(from decoder: any Decoder) throws {
                let value = try decoder.singleValueContainer()
                text = try (try? value.decode(String.self)) ?? "\(value.decode(Int.self))"
            }
        }

        subscript(_ name: String) -> String? { attributes[name]?.text }
    }

    /// Returns the spans of requests to a collector.
    private static func spans(_ bodies: [String]) throws -> [Span] {
        let messages = try #require(OpenTelemetryMessages.path, "run scripts/setup test")
        let python = try #require(Program.installed("python3"))
        let packages = messages.replacing("/opentelemetry/proto/trace/v1/trace_pb2.py", with: "")
        let run = try CommandRun(
            try #require(Program.installed("env")),
            arguments: ["PYTHONPATH=\(packages)", python, "\(repository)/Tests/GateServerTests/Oracles/otlp.py"],
            input: [UInt8](bodies.joined(separator: "\n").utf8)
        )
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { try JSONDecoder().decode(Span.self, from: Data($0.utf8)) }
    }

    /// The page's section, with another address, and further settings.
    private static func section(
        _ collector: ScriptedOrigin,
        sample: String = "100%",
        more: String = ""
    ) throws -> String {
        let page = try EdgeProxy.file("docs/reference/traces.md")
        let start = try #require(page.range(of: "```yaml\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        let printed = String(page[start..<end])
        try #require(printed.contains("http://127.0.0.1:4318/") && printed.contains("sample: 1%"))
        return printed.replacing("http://127.0.0.1:4318", with: collector.url)
            .replacing("sample: 1%", with: "sample: \(sample)") + more
    }

    private static func configuration(
        _ collector: ScriptedOrigin,
        sample: String = "100%",
        more: String = "",
        use: String = "{ advanced: { capacity: 1000 } }"
    ) throws -> String {
        RunningGate.configuration(
            """
            replayStore: \(use)
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            \(try section(collector, sample: sample, more: more))
            """,
            catalogue: EdgeProxy.catalogue
        )
    }

    /// The spans with a result, as the gate counts them.
    private static func count(by gate: RunningGate, result: String) throws -> Int {
        Int(try gate.metric("playgate_spans_total{result=\"\(result)\"}") ?? -1)
    }

    private static func check(by gate: RunningGate, target: String, parent: String) throws -> Int {
        let headers = ["X-Original-URI": target, "X-Original-Method": "GET", "traceparent": parent]
        return try HTTPConnection(gate.edge).request("GET", path: "/v1/check/nginx", headers: headers).status
    }

    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "00-\(trace)-b7ad6b7169203331-01"
    private static let accepting: @Sendable (HTTPRequestHead) -> ScriptedOrigin.Script = { _ in
        ScriptedOrigin.Script("{\"partialSuccess\":{}}", type: "application/json")
    }

    @Test(.needsOpenTelemetry) func `have the facts of a decision, in the trace of its caller`() async throws {
        let collector = try ScriptedOrigin(Self.accepting)
        let secret = "Bearer s3cr3t-of-the-collector"
        let more = "  headers: { Authorization: { file: collector } }\n  advanced: { service: gate-eu }\n"
        let configuration = try Self.configuration(collector, more: more)
        try await RunningGate.with(configuration, files: ["collector": secret]) { (gate) throws in
            let token = try gate.token()
            #expect(try gate.play(token: token, headers: ["traceparent": Self.parent]).status == 200)
            #expect(try gate.play(token: token).status == 403)
            #expect(
                try Self.check(by: gate, target: "/live/seg/1?token=\(token)&user=alice", parent: Self.parent) == 200
            )
            #expect(try Self.check(by: gate, target: "", parent: Self.parent) == 403)
            try #require(try eventually { try Self.count(by: gate, result: "sent") == 4 })
            let requests = collector.heads
            #expect(requests.allSatisfy { $0.method == .POST && $0.uri == "/v1/traces" })
            #expect(requests.allSatisfy { $0.headers["content-type"] == ["application/json"] })
            #expect(requests.allSatisfy { $0.headers["authorization"] == [secret] })
            let (bodies, log) = (collector.bodies, try gate.folder.text("log"))
            for text in bodies + [log, try gate.admin("GET", path: "/config").body] {
                #expect(!text.contains("s3cr3t") && !text.contains(token.prefix(40)) && !text.contains("alice"))
                #expect(!text.contains(GateSample.claims().userSessionGUID))
            }
            let spans = try Self.spans(bodies)
            try #require(spans.count == 4)
            #expect(Set(spans.map(\.span)).count == 4)
            #expect(spans.allSatisfy { $0.kind == "SPAN_KIND_SERVER" })
            #expect(spans.allSatisfy { $0.resource["service.name"]?.text == "gate-eu" })
            #expect(spans.allSatisfy { $0.start == gate.now.millisecondsSince1970 * 1_000_000 })
            for index in [0, 2, 3] {
                #expect(spans[index].trace == Self.trace && spans[index].parent == "b7ad6b7169203331")
                #expect(spans[index].flags == 0x301)
            }
            #expect(spans[1].parent.isEmpty && spans[1].flags == 0x101 && log.contains(spans[1].trace))
            #expect(spans.map(\.name) == ["playback", "playback", "check", "check"])
            let codes = ["verified", "token_already_used", "within_ttl", "edge_request_invalid"]
            #expect(spans.map { $0["playgate.code"] } == codes)
            #expect(spans.map(\.status) == Array(repeating: "STATUS_CODE_UNSET", count: 3) + ["STATUS_CODE_ERROR"])
            #expect(spans.map { $0["error.type"] } == [nil, nil, nil, "edge_request_invalid"])
            #expect(spans[0]["playgate.media"] == "tnt" && spans[0]["playgate.mvpd"] == "SandboxMVPD")
            #expect(spans[2]["url.path"] == "/live/seg/1" && spans[2]["playgate.edge"] == "nginx")
        }
    }

    @Test(.needsOpenTelemetry)
    func `are made as the caller's flag says, and otherwise for a share`() async throws {
        let collector = try ScriptedOrigin(Self.accepting)
        try await RunningGate.with(try Self.configuration(collector, sample: "0%")) { (gate) throws in
            let (unsampled, other) = (Self.parent.dropLast(2) + "00", Self.parent.dropLast(2) + "fe")
            for parent in [unsampled, other, "", "00-\(Self.trace)-0000000000000000-01"] {
                #expect(try gate.play("trailer", headers: ["traceparent": String(parent)]).status == 200)
            }
            #expect(try gate.play("trailer", headers: ["traceparent": Self.parent]).status == 200)
            try #require(try eventually { try Self.count(by: gate, result: "sent") == 1 })
            #expect(try Self.spans(collector.bodies).map(\.trace) == [Self.trace])
        }
    }

    @Test(arguments: [
        ("0%", 0.0), ("0.0001%", 0.000_001), ("1%", 0.01), ("12.5%", 0.125), ("100%", 1), ("100.0000%", 1),
    ])
    func `are made for a share of the traces`(text: String, share: Double) throws {
        let sample = try SampleShare(text)
        let steps: UInt64 = 1 << 22
        let chosen = (0..<steps).count { sample.contains(randomness: 0xAB << 56 | $0 << 34) }
        #expect(abs(Double(chosen) / Double(steps) - share) < 2 / Double(steps))
    }

    @Test(arguments: ["", "%", "1", "-1%", "101%", "100.0001%", "1.%", ".5%", "1.23456%", "1.2.3%", "1 %", "１%"])
    func `are refused for what is no share`(text: String) { #expect(throws: ParseFault.self) { try SampleShare(text) } }

    @Test func `are as many in a second as the limit permits`() async throws {
        let collector = try ScriptedOrigin(Self.accepting)
        try await RunningGate.with(try Self.configuration(collector, more: "  advanced: { limit: 3 }\n")) {
            (gate) throws in
            for _ in 0..<10 { #expect(try gate.play("trailer").status == 200) }
            gate.now = gate.now.adding(seconds: 1)
            for _ in 0..<10 { #expect(try gate.play("trailer").status == 200) }
            try #require(try eventually { try Self.count(by: gate, result: "sent") == 6 })
            #expect(try Self.count(by: gate, result: "dropped") == 14)
        }
    }

    /// The answers of a collector to the first request and later ones, and the spans that are then counted.
    @Test(arguments: [
        (ScriptedOrigin.Script(status: .serviceUnavailable), 1, 0, 2),
        (.init(status: .tooManyRequests, [("Retry-After", "1")]), 1, 0, 2), (.init(status: .badRequest), 0, 1, 1),
        (.init(status: .movedPermanently, [("Location", "/other")]), 0, 1, 1), (.init(status: .unauthorized), 0, 1, 1),
        (.init("{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\"}}", type: nil), 0, 1, 1),
        (.init("{\"partialSuccess\":{\"rejectedSpans\":-5}}", type: nil), 1, 0, 1),
        (.init("no JSON", type: nil), 1, 0, 1), (.init(""), 1, 0, 1),
    ])
    func `are sent again if the collector cannot accept them`(
        first: ScriptedOrigin.Script,
        sent: Int,
        refused: Int,
        requests: Int
    ) async throws {
        let answers = Mutex(0)
        let collector = try ScriptedOrigin { head in
            let number = answers.withLock { number in
                number += 1
                return number
            }
            return number == 1 ? first : Self.accepting(head)
        }
        try await RunningGate.with(try Self.configuration(collector)) { (gate) throws in
            #expect(try gate.play("trailer").status == 200)
            try #require(
                try eventually {
                    try Self.count(by: gate, result: "sent") + Self.count(by: gate, result: "refused") == 1
                }
            )
            #expect(
                try Self.count(by: gate, result: "sent") == sent && Self.count(by: gate, result: "refused") == refused
            )
            #expect(collector.bodies.count == requests && Set(collector.bodies).count == 1)
            // One more, whose answer is good.
            #expect(try gate.play("trailer").status == 200)
            try #require(try eventually { try Self.count(by: gate, result: "sent") == sent + 1 })
            let lines = refused + requests > 1 ? 1 : 0
            #expect(try gate.log("spans are not taken", count: lines).count == lines)
            #expect(try gate.log("spans are taken again", count: lines).count == lines)
        }
    }

    @Test func `wait, while there is no collector, and no decision waits`() async throws {
        let collector = try ScriptedOrigin { _ in
            var script = ScriptedOrigin.Script()
            script.pause = .request
            return script
        }
        try await RunningGate.with(try Self.configuration(collector, more: "  advanced: { limit: 5000 }\n")) {
            (gate) throws in
            let connection = try gate.connect()
            for number in 0..<DecisionTracer.capacity + 1500 {
                if number % 4000 == 0 { gate.now = gate.now.adding(seconds: 1) }
                #expect(
                    try connection.request("POST", path: "/v1/playback", body: "{\"media\":\"trailer\"}").status == 200
                )
            }
            // A batch is on its way; the others fill the buffer.
            let dropped = try Self.count(by: gate, result: "dropped")
            #expect(988...1500 ~= dropped, "\(dropped)")
        }
    }

    @Test(.needsOpenTelemetry) func `are sent when the gate ends`() async throws {
        let collector = try ScriptedOrigin(Self.accepting)
        let folder = try TemporaryFolder()
        let gate = try ServedGate(
            in: folder,
            configuration: ServedGate.configuration("{}", more: try Self.section(collector))
        )
        let token = try GateSample.current.get().issuer.issue(GateSample.claims(), at: .now()).serialized
        #expect(try ServedGate.play(token, on: HTTPConnection(gate.api)).status == 200)
        gate.program.signal(SIGTERM)
        #expect(try gate.program.waitUntilExit() == 0)
        #expect(try Self.spans(collector.bodies).count == 1)
        #expect(!collector.bodies.isEmpty)
    }

    @Test(.needs(.nginx), .needsOpenTelemetry)
    func `have no parent of a viewer if nginx removes the field`() async throws {
        let line = "proxy_set_header Traceparent $http_traceparent;"
        try #require(try EdgeProxy.file("docs/reference/traces.md").contains("`\(line)`"))
        let collector = try ScriptedOrigin(Self.accepting)
        try await EdgeProxy.nginx.withGate(
            more: try Self.section(collector),
            replacing: [line: ""]
        ) { (gate, proxy) throws in
            let token = try gate.token()
            #expect(try proxy.get("/live/seg/1?token=\(token)", headers: ["traceparent": Self.parent]).status == 200)
            try #require(try eventually { try Self.count(by: gate, result: "sent") == 1 })
            let spans = try Self.spans(collector.bodies)
            #expect(spans.map(\.parent) == [""] && spans[0].trace != Self.trace)
        }
    }

    @Test(arguments: [
        ("{ sample: 1% }", "traces.endpoint: endpoint is missing"),
        ("{ endpoint: \"127.0.0.1:4318\" }", "traces.endpoint: must be an http or https URL with a path"),
        ("{ endpoint: \"http://127.0.0.1:4318\" }", "traces.endpoint: must be an http or https URL with a path"),
        ("{ endpoint: \"grpc://127.0.0.1:4317/v1/traces\" }", "traces.endpoint: must be an http or https URL"),
        ("{ endpoint: \"http://u:p@collector/v1/traces\" }", "traces.endpoint: must be an http or https URL"),
        ("{ endpoint: \"http://collector/v1/traces?key=1\" }", "traces.endpoint: must be an http or https URL"),
        ("{ endpoint: \"http://collector/v1/traces\", sample: \"1\" }", "traces.sample: must be a percentage"),
        ("{ endpoint: \"http://collector/v1/traces\", advanced: { limit: 0 } }", "traces.advanced.limit: "),
        (
            "{ endpoint: \"http://collector/v1/traces\", advanced: { service: \"\" } }",
            "traces.advanced.service: must have 1 to 255 bytes"
        ),
        ("{ endpoint: \"http://collector/v1/traces\", headers: { key: x } }", "traces.headers: would be sent in clear"),
        ("{ endpoint: \"https://collector/v1/traces\", headers: { \"a b\": x } }", "traces.headers: a b: must be"),
        ("{ endpoint: \"https://collector/v1/traces\", headers: { Host: x } }", "traces.headers: Host: must be"),
        ("{ endpoint: \"https://collector/v1/traces\", headers: { key: \"x\\r\\ny: z\" } }", "traces.headers: key: m"),
        ("{ endpoint: \"https://collector/v1/traces\", headers: { key: { file: none } } }", "traces.headers.key.file"),
        ("{ endpoint: \"https://collector/v1/traces\", sampel: 1% }", "sampel"),
    ])
    func `have settings whose faults are named`(section: String, expected: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let file = try folder.write("gate.yaml", contents: RunningGate.configuration("traces: \(section)"))
        let error = #expect(throws: (any Error).self) {
            _ = try GateServer(configurationFile: file, at: GateSample.time)
        }
        let message = error.map { "\($0)" } ?? ""
        #expect(message.contains("gate.yaml:") && message.contains(expected), "\(message)")
    }
}
