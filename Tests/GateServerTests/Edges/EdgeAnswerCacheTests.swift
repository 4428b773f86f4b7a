// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import NIOCore
import Platform
import SPOPServer
import Testing

/// Answers that the edge listener repeats for other files of a folder, beside a gate that decides each check again.
@Suite struct `A repeated answer of the edge listener` {
    private static let secret = String(repeating: "A", count: 44)

    private static func configuration(remembers: Bool = true, tokens: String = "", ceiling: String = "5s") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(secret) }, k2: { secret: \(secret) } }
            grants:
              subjectKey: \(secret)
              profiles: { live: { issuer: playgate, key: k1, host: cdn.example }, accepted: { issuer: partner } }
              issuers: [{ issuer: partner, keys: [k2] }]
            edge:
              listen: ["127.0.0.1:0", "spoe:127.0.0.1:0"]
              advanced: { maxCacheAge: \(ceiling), dialects: [forward, nginx] }
              tokens: [{ query: token }, { cookie: media-token }, { segment: t- }\(tokens)]
            advanced: { cache: \(remembers ? 16384 : 0) }
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: live }
                    - { path: /film/, resource: TNT, admits: grant, grant: live }
                    - { path: /film/named/, resource: TNT, admits: grant, grant: live }
                    - { path: /film/named/once.ts, resource: TBS }
                    - { path: /film/shadow/, resource: TNT, admits: grant, grant: live, shadow: true }
                    - { path: /live/, resource: TNT, admits: ttl }
                    - { path: /live/once/, resource: TNT }
                    - { path: /live/accepting/, resource: TNT, admits: ttl, grant: accepted }
                    - { path: /live/started/, resource: TNT, admits: ttl, grant: live }
                """
        )
    }

    /// A check.
    private struct Check {
        var dialect = "forward"
        var target = "/film/low/seg1.ts"
        var method = "GET"
        var host = "cdn.example"
        var scheme = "https"
        var cookie: String?
        var more: [(String, String)] = []

        func head() -> String {
            var fields: [(String, String)] =
                dialect == "forward"
                ? [
                    ("X-Forwarded-Method", method), ("X-Forwarded-Uri", target), ("X-Forwarded-Host", host),
                    ("X-Forwarded-Proto", scheme),
                ]
                : [
                    ("X-Original-Method", method), ("X-Original-URI", target), ("X-Original-Host", host),
                    ("X-Original-Scheme", scheme),
                ]
            if let cookie { fields.append(("Cookie", cookie)) }
            let lines = (fields + more).map { "\($0): \($1)\r\n" }.joined()
            return "GET /v1/check/\(dialect) HTTP/1.1\r\nHost: gate\r\n\(lines)\r\n"
        }

        /// The arguments of a message of HAProxy's offload.
        func arguments() -> [(String, SPOPValue)] {
            var fields = [("host", host)]
            if let cookie { fields.append(("cookie", cookie)) }
            let text = { (text: String) in SPOPValue.string(ByteBuffer(string: text)) }
            return [
                ("target", text(target)), ("method", text(method)), ("scheme", text(scheme)),
                ("headers", OffloadExchange.headers(fields + more)),
            ]
        }
    }

    private static func ask(on connection: HTTPConnection, check: Check) throws -> HTTPConnection.Response {
        try connection.send(check.head())
        return try connection.response()
    }

    private static func repeated(_ gate: RunningGate) throws -> Int {
        Int(try gate.metric("playgate_edge_repeated_answers_total") ?? -1)
    }

    /// The cookie of a grant for a playback that begins now.
    private static func cookie(_ gate: RunningGate, session: String = "s1") throws -> String {
        let token = try gate.token(GateSample.claims(session: session))
        let answer = try gate.play(path: "/film/master.m3u8", token: token, playbackID: session)
        let grant = answer.json["grant"] as? [String: Any] ?? [:]
        return "CTA-Common-Access-Token=\(try #require(grant["token"] as? String, "\(answer)"))"
    }

    private static func with(
        _ configuration: String = configuration(),
        body: @escaping @Sendable (RunningGate, HTTPConnection, Check) throws -> Void
    ) async throws {
        try await RunningGate.with(configuration) { (gate) throws in
            #expect(try eventually { try gate.areRevocationsRead })
            let check = Check(cookie: try cookie(gate))
            try body(gate, try HTTPConnection(gate.edge), check)
        }
    }

    // MARK: Repeating

    @Test(arguments: ["forward", "nginx"]) func `is that of the folder's other files`(dialect: String) async throws {
        try await Self.with { (gate, connection, check) throws in
            var check = check
            check.dialect = dialect
            let first = try Self.ask(on: connection, check: check)
            #expect(first.status == 200 && first.headers["x-playgate-code"] == "granted")
            let ids = try (2...9).map { number in
                check.target = "/film/low/seg\(number).ts"
                let answer = try Self.ask(on: connection, check: check)
                let lines = { (answer: HTTPConnection.Response) in
                    answer.fields.filter { !$0.hasPrefix("X-Playgate-Trace") && !$0.hasPrefix("Date") }
                }
                #expect(lines(answer) == lines(first))
                return answer.headers["x-playgate-trace"]
            }
            #expect(try Self.repeated(gate) == 8 && Set(ids).count == 8)
            #expect(try gate.metric("playgate_decisions_total{decision=\"allow\",code=\"granted\"}") == 9)
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"\(dialect)\",status=\"200\"}") == 9)
        }
    }

    @Test func `adopts the trace of each check`() async throws {
        try await Self.with { (gate, connection, check) throws in
            for number in 1...3 {
                var check = check
                let id = "0af7651916cd43dd8448eb211c80319\(number)"
                check.more = [("traceparent", "00-\(id)-b7ad6b7169203331-01")]
                #expect(try Self.ask(on: connection, check: check).headers["x-playgate-trace"] == id)
            }
            #expect(try Self.repeated(gate) == 2)
        }
    }

    /// Changes after which an answer is not that of `/film/low/seg1.ts`.
    private static let changes: [(String, @Sendable (inout Check) -> Void)] = [
        ("folder", { $0.target = "/film/a/seg1.ts" }), ("query", { $0.target = "/film/low/seg1.ts?a=b" }),
        ("spelling", { $0.target = "/film/low//seg1.ts" }), ("escape", { $0.target = "/film/low/seg%31.ts" }),
        ("dot", { $0.target = "/film/low/.seg1.ts" }), ("parameter", { $0.target = "/film/low/seg1.ts;a=b" }),
        ("folder itself", { $0.target = "/film/low/" }), ("method", { $0.method = "HEAD" }),
        ("host", { $0.host = "cdn.example:443" }), ("scheme", { $0.scheme = "http" }),
        ("cookie", { $0.cookie = "a=b; \($0.cookie ?? "")" }), ("header", { $0.more = [("User-Agent", "tv")] }),
        ("range", { $0.more = [("Range", "bytes=0-5")] }), ("token", { $0.target = "/film/low/t-abc" }),
        ("entry", { $0.target = "/film/named/seg1.ts" }),
    ]

    @Test(arguments: changes.map(\.0)) func `is not given if anything else differs`(name: String) async throws {
        let change = try #require(Self.changes.first { $0.0 == name }).1
        try await Self.with { (gate, connection, check) throws in
            #expect(try Self.ask(on: connection, check: check).status == 200)
            var other = check
            change(&other)
            _ = try Self.ask(on: connection, check: other)
            #expect(try Self.repeated(gate) == 0)
            #expect(try Self.ask(on: connection, check: check).status == 200)
            #expect(try Self.repeated(gate) == 1)
        }
    }

    @Test func `is not kept for a folder with an entry of its own for a file`() async throws {
        try await Self.with { (gate, connection, check) throws in
            var check = check
            for _ in 0..<3 {
                check.target = "/film/named/seg1.ts"
                #expect(try Self.ask(on: connection, check: check).headers["x-playgate-code"] == "granted")
                check.target = "/film/named/once.ts"
                #expect(try Self.ask(on: connection, check: check).status == 401)
            }
            #expect(try Self.repeated(gate) == 0)
        }
    }

    @Test func `does not hide a token in a field that would name a trace`() async throws {
        let configuration = Self.configuration(tokens: ", { header: Traceparent }")
        try await Self.with(configuration) { (gate, connection, check) throws in
            for _ in 0..<3 { #expect(try Self.ask(on: connection, check: check).status == 200) }
            #expect(try Self.repeated(gate) == 0)
        }
    }

    @Test func `is not given by a key of nginx's for another target`() async throws {
        try await Self.with { (gate, connection, check) throws in
            var check = check
            check.dialect = "nginx"
            let key = { (target: String) in [("X-Playgate-Cache-Key", "GET cdn.example\(target)")] }
            check.more = key("/film/low/seg1.ts")
            #expect(try Self.ask(on: connection, check: check).headers["cache-control"] == "max-age=5, must-revalidate")
            check.more = key("/film/low/seg2.ts")
            #expect(try Self.ask(on: connection, check: check).headers["cache-control"] == "no-store")
            #expect(try Self.repeated(gate) == 0)
            check.target = "/film/low/seg2.ts"
            #expect(try Self.ask(on: connection, check: check).headers["cache-control"] == "max-age=5, must-revalidate")
            #expect(try Self.repeated(gate) == 1)
        }
    }

    // MARK: Ending

    @Test func `ends with a revocation`() async throws {
        try await Self.with { (gate, connection, check) throws in
            for _ in 0..<2 { #expect(try Self.ask(on: connection, check: check).status == 200) }
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            #expect(try Self.ask(on: connection, check: check).headers["x-playgate-code"] == "grant_revoked")
        }
    }

    @Test func `ends before the renewal, and before an edge would cache it too long`() async throws {
        try await Self.with { (gate, connection, check) throws in
            var (codes, ages): (Set<String>, [Int]) = ([], [])
            for _ in 0..<130 {
                let answer = try Self.ask(on: connection, check: check)
                codes.insert(answer.headers["x-playgate-code"] ?? "")
                if answer.headers["x-playgate-code"] == "granted" {
                    let kept = answer.headers["cache-control"]?.split(separator: "=").last?.prefix { $0 != "," }
                    ages.append(kept.flatMap { Int($0) } ?? 0)
                }
                gate.now = gate.now.adding(seconds: 2)
            }
            #expect(codes == ["granted", "renewed"])
            #expect(ages.dropLast(3).allSatisfy { $0 == 5 } && ages.suffix(3).sorted(by: >) == ages.suffix(3))
            #expect(ages.last.map { $0 < 3 } ?? false)
            #expect(try Self.repeated(gate) > 50)
        }
    }

    @Test func `ends with the configuration that it was decided by`() async throws {
        try await Self.with { (gate, connection, check) throws in
            for _ in 0..<2 { #expect(try Self.ask(on: connection, check: check).status == 200) }
            let text = Self.configuration().replacing(
                "/film/, resource: TNT, admits: grant, grant: live",
                with: "/film/, resource: TNT"
            )
            try gate.folder.write("gate.yaml", contents: text)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try Self.ask(on: connection, check: check).status == 401)
        }
    }

    // MARK: By media tokens

    /// A check with a media token within its life.
    private static func tokenCheck(_ gate: RunningGate, session: String = "s1") throws -> Check {
        let token = try gate.token(GateSample.claims(session: session))
        return Check(target: "/live/low/seg1.ts", cookie: "media-token=\(token)")
    }

    @Test func `is that of the folder's other files within the life of a media token`() async throws {
        try await Self.with { (gate, connection, _) throws in
            var check = try Self.tokenCheck(gate)
            let first = try Self.ask(on: connection, check: check)
            #expect(first.status == 200 && first.headers["x-playgate-code"] == "within_ttl")
            for number in 2...5 {
                check.target = "/live/low/seg\(number).ts"
                let answer = try Self.ask(on: connection, check: check)
                #expect(Self.summary(answer) == Self.summary(first))
            }
            #expect(try Self.repeated(gate) == 4)
            #expect(try gate.metric("playgate_decisions_total{decision=\"allow\",code=\"within_ttl\"}") == 5)
            check.cookie = try Self.tokenCheck(gate, session: "s2").cookie
            #expect(try Self.ask(on: connection, check: check).status == 200)
            check.cookie = "media-token=x"
            #expect(try Self.ask(on: connection, check: check).status == 403)
            #expect(try Self.repeated(gate) == 4)
        }
    }

    @Test func `is not kept for a media token that is presented beside a grant`() async throws {
        try await Self.with { (gate, connection, granted) throws in
            let token = try #require(try Self.tokenCheck(gate).cookie)
            var check = Check(target: "/live/accepting/seg1.ts", cookie: token)
            for _ in 0..<2 {
                #expect(try Self.ask(on: connection, check: check).headers["x-playgate-code"] == "within_ttl")
            }
            #expect(try Self.repeated(gate) == 1)
            // This one is refused, but one for another file of the folder would decide about that file.
            check.cookie = "\(token); \(granted.cookie ?? "")"
            for _ in 0..<2 {
                #expect(try Self.ask(on: connection, check: check).headers["x-playgate-code"] == "within_ttl")
            }
            #expect(try Self.repeated(gate) == 1)
        }
    }

    @Test func `ends with the media token`() async throws {
        try await Self.with { (gate, connection, _) throws in
            let check = try Self.tokenCheck(gate)
            var codes: [String?] = []
            // A token of 420 seconds.
            for _ in 0...4 {
                codes.append(try Self.ask(on: connection, check: check).headers["x-playgate-code"])
                gate.now = gate.now.adding(seconds: 105)
            }
            gate.now = gate.now.adding(seconds: 1 - 105)
            codes.append(try Self.ask(on: connection, check: check).headers["x-playgate-code"])
            #expect(codes == [String?](repeating: "within_ttl", count: 5) + ["expired"])
            // Not in the last seconds, for which an edge could keep the answer too long.
            #expect(try Self.repeated(gate) == 3)
        }
    }

    @Test(arguments: ["\"sessionGUID\":\"s1\"", "\"mvpd\":\"SandboxMVPD\""])
    func `ends with a revocation that concerns the media token`(subject: String) async throws {
        try await Self.with { (gate, connection, _) throws in
            let check = try Self.tokenCheck(gate)
            for _ in 0..<2 { #expect(try Self.ask(on: connection, check: check).status == 200) }
            // Another viewer's, which changes nothing.
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s9\"}").status == 201)
            #expect(try Self.ask(on: connection, check: check).status == 200)
            #expect(try Self.repeated(gate) == 2)
            #expect(try gate.post("/v1/revocations", body: "{\(subject)}").status == 201)
            #expect(try Self.ask(on: connection, check: check).status == 403)
        }
    }

    @Test func `is not kept for a media token that is consumed, or starts a playback`() async throws {
        try await Self.with { (gate, connection, _) throws in
            let within = [String](repeating: "within_ttl", count: 3)
            let once = ["verified", "token_already_used", "token_already_used"]
            for (folder, codes) in [("/live/once/", once), ("/live/started/", within)] {
                var check = try Self.tokenCheck(gate, session: folder)
                let answers = try (1...3).map { number in
                    check.target = "\(folder)seg\(number).ts"
                    return try Self.ask(on: connection, check: check).headers["x-playgate-code"]
                }
                #expect(answers == codes)
            }
            #expect(try Self.repeated(gate) == 0)
        }
    }

    // MARK: By HAProxy's offload

    private static func code(_ variables: [String: SPOPValue]) -> String? {
        if case .string(let text) = variables["code"] { String(buffer: text) } else { nil }
    }

    @Test func `is that of HAProxy's next notification`() async throws {
        try await Self.with { (gate, _, check) throws in
            for (first, code) in [(check, "granted"), (try Self.tokenCheck(gate), "within_ttl")] {
                let files = (1...5).map { number in
                    var check = first
                    check.target = first.target.replacing("seg1", with: "seg\(number)")
                    return check.arguments()
                }
                // What differs in anything else is decided anew: also in the variables.
                let text = { (text: String) in SPOPValue.string(ByteBuffer(string: text)) }
                let others: [(String, SPOPValue)] = [
                    ("geo", text("US")), ("header.a", text("b\nhost:c")), ("header.a", text("b\nhost:c")),
                    ("variables", text("code")), ("variables", text("code")), ("variables", text("trace allowed")),
                    ("variables", text("trace allowed")),
                ]
                let before = try Self.repeated(gate)
                let answers = try OffloadExchange.ask(
                    at: gate.offloads[0],
                    requests: files + others.map { first.arguments() + [$0] }
                )
                #expect(answers[..<10].map(Self.code) == [String](repeating: code, count: 10))
                #expect(try Self.repeated(gate) - before == 6)
                #expect(Set(answers[..<5].map { $0["trace"] }).count == 5)
                #expect(answers[..<5].allSatisfy { $0["allowed"] == .bool(true) })
                let names = answers[8...].map { $0.keys.sorted() }
                #expect(names == [["code"], ["code"], ["allowed", "trace"], ["allowed", "trace"]])
                #expect(answers[10]["trace"] != answers[11]["trace"])
            }
        }
    }

    // MARK: Beside a gate without it

    /// A check at random.
    private static func draw(from cookies: [String], using random: inout SplitMix64) -> Check {
        var check = Check(dialect: random.pick(["forward", "forward", "nginx"]))
        if random.once(in: 2) {
            // An ordinary player.
            let folder = random.pick(["/film/low/", "/live/low/"])
            check.target = "\(folder)seg\(Int.random(in: 0...9, using: &random)).ts"
            check.cookie = cookies[Int.random(in: 0...3, using: &random)]
            return check
        }
        let folder = random.pick([
            "/film/low/", "/film/low/", "/film/low/", "/film/", "/film/named/", "/film/shadow/", "/film//", "/other/",
            "/live/low/", "/live/low/",
        ])
        let name = random.pick([
            "seg1.ts", "seg2.ts", "seg2.ts", "once.ts", "t-x", "t-x/seg1.ts", ".a", "a%2e", "", "a;b=c", "../seg1.ts",
        ])
        check.target = folder + name + random.pick(["", "", "", "?a=b", "?token=x", "#"])
        check.cookie = random.pick(cookies)
        if random.once(in: 8) { check.method = random.pick(["HEAD", "POST", "OPTIONS", "get"]) }
        if random.once(in: 8) {
            check.host = random.pick(["other.example", "CDN.example", "cdn.example:443", "", "a b"])
        }
        if random.once(in: 8) { check.scheme = random.pick(["http", "ftp", ""]) }
        let more = [
            ("Range", "bytes=0-"), ("Range", "bytes=1-2"), ("X-Forwarded-Uri", "/film/low/seg1.ts"), ("X-Other", "1"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("traceparent", "x"),
            ("X-Forwarded-For", "192.0.2.1"), ("X-Playgate-Cache-Key", "GET cdn.example\(check.target)"),
            ("X-Playgate-Cache-Key", "GET cdn.example/film/low/seg1.ts"), ("CTA-Common-Access-Token", "x"),
        ]
        if random.once(in: 3) { check.more = [random.pick(more)] }
        if random.once(in: 30) { check.more.append(random.pick(more)) }
        return check
    }

    /// The parts of an answer that are the same for the same check.
    private static func summary(_ answer: HTTPConnection.Response) -> [String] {
        let differing = ["Date:", "X-Playgate-Trace:"]
        return ["\(answer.status)"] + answer.fields.filter { field in !differing.contains { field.hasPrefix($0) } }
    }

    /// Asks by HAProxy's offload twice: as it is, and in a form that is decided again. Returns the answers if they
    /// differ.
    private static func difference(at gate: RunningGate, for check: Check, step: Int) throws -> String? {
        let uncached = ("header.x-step", SPOPValue.string(ByteBuffer(string: "\(step)")))
        let requests = [check.arguments(), check.arguments() + [uncached]]
        let answers = try OffloadExchange.ask(at: gate.offloads[0], requests: requests).map {
            $0.filter { $0.key != "trace" }
        }
        guard answers.count == 2 else { return "\(answers.count) answers" }
        return answers[0] == answers[1] ? nil : "\(answers)"
    }

    /// The same check in a form that is decided again: NIO's decoder reads it.
    private static func uncached(_ head: String) -> String { head.replacing("\r\nHost: gate", with: "\r\nHost:  gate") }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `is what is decided again, whatever is requested and done meanwhile`(seed: UInt64) async throws {
        try await Self.with { (gate, _, check) throws in
            var random = SplitMix64(seed: seed)
            var cookies = [check.cookie ?? "", try Self.cookie(gate, session: "s2")]
            cookies += [try Self.tokenCheck(gate).cookie ?? "", try Self.tokenCheck(gate, session: "s2").cookie ?? ""]
            cookies += ["", "CTA-Common-Access-Token=x"]
            for step in 0..<1500 {
                if random.once(in: 50) {
                    gate.now = gate.now.adding(seconds: Int64.random(in: 1...30, using: &random))
                }
                if random.once(in: 50) {
                    let index = Int.random(in: 0...3, using: &random)
                    cookies[index] =
                        try index < 2
                        ? Self.cookie(gate, session: "n\(step)")
                        : Self.tokenCheck(gate, session: "n\(step)").cookie ?? ""
                }
                if random.once(in: 500) {
                    let body = "{\"sessionGUID\":\"\(random.pick(["s1", "s2", "n\(step)"]))\"}"
                    #expect(try gate.post("/v1/revocations", body: body).status == 201)
                }
                let request = Self.draw(from: cookies, using: &random)
                if random.once(in: 4), let fault = try Self.difference(at: gate, for: request, step: step) {
                    Issue.record("\(step): \(request) \(fault)")
                    return
                }
                let isFirst = random.once(in: 2)
                let heads =
                    isFirst
                    ? [request.head(), Self.uncached(request.head())] : [Self.uncached(request.head()), request.head()]
                let answers = try heads.map { head in
                    // Some heads end the connection.
                    let connection = try HTTPConnection(gate.edge)
                    try connection.send(head)
                    return Self.summary(try connection.response())
                }
                guard answers[0] == answers[1] else {
                    Issue.record("\(step): \(request.head())\(answers)")
                    return
                }
            }
            #expect(try Self.repeated(gate) > 100)
        }
    }
}
