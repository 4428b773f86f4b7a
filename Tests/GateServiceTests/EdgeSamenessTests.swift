// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import Foundation
import GateMetrics
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import NIOCore
import NIOHTTP1
import Platform
import SPOPServer
import Testing

import struct HTTPServer.HTTPFields

@testable import EdgeChecks
@testable import GateService
@testable import PlaybackGate

#if GRPC
    @testable import GateGRPC
#endif

/// One request, described by every edge in its own words: the decision and the time for which it may be kept are those of the edge
/// check itself, which a plain description gives.
@Suite struct `One request by every edge` {
    /// The number of requests. `PLAYGATE_STEPS` sets another.
    private static let count =
        ProcessInfo.processInfo.environment["PLAYGATE_STEPS"].flatMap { Int($0) } ?? 5_000

    @Test(arguments: 0..<4)
    func `has the same answer`(seed: Int) async throws {
        let sample = try EdgeSample()
        var random = SplitMix64(seed: UInt64(seed))
        var codes: Set<String> = []
        for number in 0..<Self.count {
            let request = sample.request(&random)
            for group in EdgeWords.allCases {
                guard let words = request.words(of: group) else { continue }
                let expected = sample.expected(request, words)
                codes.insert(expected.code)
                for dialect in group.dialects {
                    guard let found = await sample.answer(request, by: dialect) else { continue }
                    #expect(found == expected, "\(seed) \(number) \(dialect): \(request)")
                    if found != expected { return }
                }
                let embedded = sample.embedded(request, words)
                #expect(embedded == nil || embedded == expected.code, "\(seed) \(number): \(request)")
            }
        }
        // The generator reaches what it is for.
        for code in [
            "granted", "start", "within_ttl", "unprotected", "unknown_media", "invalid_path", "token_conflict",
            "edge_request_invalid", "method_not_permitted", "grant_context_missing", "grant_address_mismatch",
            "grant_location_mismatch", "grant_uri_mismatch", "media_token_missing", "untrusted_signature",
        ] {
            #expect(codes.contains(code), "\(code)")
        }
    }
}

/// The answer to a check, as far as it must be the same.
private struct SameAnswer: Equatable {
    let code: String
    let status: Int
    let seconds: Int64
}

/// The edges that describe a request with the same facts. Each difference has its reason.
private enum EdgeWords: CaseIterable {
    /// nginx resolves paths before it asks.
    case resolving
    /// The others pass paths on as they are, and state the method in a field.
    case stating
    /// The method is that of the check, which may be any token.
    case passing
    /// HAProxy states addresses and numbers in types of their own, which texts that are none do not have.
    case typed
    /// By gRPC, a client's own fields would be taken for facts of this kind, so that there are none; repeated fields are joined.
    case bare

    var dialects: [EdgeDialect] {
        switch self {
        case .resolving: [.nginx]
        case .stating: [.forward]
        case .passing: [.envoy, .ats]
        case .typed: [.spoe]
        case .bare: [.grpc]
        }
    }
}

/// A request, by its meaning.
private struct SameRequest: CustomStringConvertible {
    var path = ""
    var query: String?
    var method = "GET"
    var host: String?
    var range: String?
    /// The facts in texts.
    var facts: [RequestFact: String] = [:]
    /// A fact that is stated twice.
    var repeated: RequestFact?
    /// Media tokens, with their places.
    var tokens: [(place: Int, text: String)] = []
    /// Grants in the header field, or in the query if there is only one.
    var grants: [String] = []
    var agent: String?

    var description: String {
        "\(method) \(host ?? "-") \(path.prefix(80)) \(query ?? "-") \(range ?? "-") \(facts) \(repeated.map { "\($0)" } ?? "-") "
            + "\(tokens.map { "\($0.place):\($0.text.prefix(12))" }) \(grants.map { $0.prefix(12) }) \(agent ?? "-")"
    }

    /// The target as the client sends it, with its tokens.
    var target: String {
        var parts = query.map { [$0] } ?? []
        parts += tokens.filter { $0.place == 0 }.map { "token=\($0.text.percentEncoded)" }
        return parts.isEmpty ? path : "\(path)?\(parts.joined(separator: "&"))"
    }

    /// The client's own header fields.
    var clientFields: [(String, String)] {
        var fields: [(String, String)] = []
        for (place, text) in tokens {
            switch place {
            case 1: fields.append(("X-Media-Token", text))
            case 2: fields.append(("Cookie", "a=b; media-token=\(text); c=d"))
            case 3: fields.append(("Authorization", "MediaToken \(text)"))
            default: break
            }
        }
        if !grants.isEmpty { fields.append(("CTA-Common-Access-Token", grants.joined(separator: ", "))) }
        if let agent { fields.append(("User-Agent", agent)) }
        return fields
    }

    /// Returns the request in the words of some edges, with what they can state; `nil` if they cannot state it.
    func words(of group: EdgeWords) -> SameRequest? {
        var words = self
        switch group {
        case .resolving, .stating, .passing: break
        case .typed:
            if let client = facts[.clientAddress], IPAddress(client)?.isIPv4 != true { return nil }
            if let asn = facts[.clientASN], UInt32(asn) == nil || asn.utf8.first == UInt8(ascii: "0") { return nil }
        case .bare:
            guard repeated == nil else { return nil }
            for fact in [RequestFact.alpn, .clientKey, .clientASN, .countries, .position] { words.facts[fact] = nil }
        }
        words.group = group
        return words
    }

    fileprivate(set) var group = EdgeWords.stating
}

/// A plain description of a request: what an adapter must find in its protocol is given.
private struct PlainReport: EdgeReport {
    let request: SameRequest

    var hasHeaders: Bool { true }

    func values(of name: String) -> [Substring] {
        request.clientFields.filter { $0.0.lowercased() == name.lowercased() }.map { $0.1[...] }
    }

    var mediaToken: PresentedToken {
        var presented = PresentedToken()
        // Blanks at the ends of a field are none of its value.
        for (place, text) in request.tokens {
            presented.add(place == 0 ? text[...] : text[...].trimmingBlanks, from: place)
        }
        return presented
    }

    func grants() -> PresentedGrants {
        var presented = PresentedGrants()
        for grant in request.grants { presented.add(grant[...]) }
        return presented
    }

    func report(of fact: RequestFact) -> ReportedFact {
        if request.repeated == fact, request.facts[fact] != nil { return .repeated }
        return request.facts[fact].map { .text($0[...]) } ?? .none
    }
}

/// A gate with its listener's responder, and the checker of its bundle.
private struct EdgeSample {
    private let gate: Gate
    private let responder: EdgeResponder
    private let snapshot: LiveGate.Snapshot
    private let checker: EmbeddedChecker
    private let tokens: [String]
    private let grants: [String]

    private static let time = GateSample.time
    private static let secret = [UInt8](0...31)

    init() throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", try GateSample.trusted.get().keys.signerCertificate)
        let configuration = try GateConfiguration(
            file: try folder.write("gate.yaml", RunningGate.configuration(Self.edge, catalogue: Self.entries))
        )
        let builder = try GateBuilder(configuration, at: Self.time)
        let key = try TokenKey(
            secret: Self.secret,
            id: KeyID("k"),
            binding: KeyBinding(issuer: "playgate", format: .cat)
        )
        let issuer = try CATIssuer(key: key)
        let subjectKey = try SubjectKey(Self.secret)
        let mirror = RevocationMirror(of: [])
        gate = Gate(
            catalogue: builder.catalogue,
            verifier: builder.verifier,
            store: MemoryReplayStore(capacity: 1000),
            grants: GrantAuthority(
                verifier: CATVerifier(
                    keys: try KeySet([key]),
                    issuers: [AcceptedIssuer("playgate")],
                    policy: CATPolicy()
                ),
                signers: [GrantAuthority.Signer(issuer)],
                subjectKey: subjectKey,
                mirror: mirror
            )
        )
        snapshot = LiveGate.Snapshot(gate: gate, configuration: configuration, builder: builder, loaded: Self.time)
        responder = EdgeResponder(
            live: LiveGate(snapshot),
            metrics: DecisionMetrics(factory: PrometheusRegistry(), store: "memory"),
            inFlight: ConcurrencyLimit(8),
            requests: EdgeCounters(factory: PrometheusRegistry()),
            clock: { Self.time }
        )
        checker = try EmbeddedChecker(
            EdgeBundle(of: gate, revokedBy: mirror, subjectKey: subjectKey, goodFor: .seconds(3600), at: Self.time)
        )
        tokens = try Self.tokens()
        grants = try Self.grants(issuer, subjectKey)
    }

    private static let edge = """
        use: { memory: { capacity: 1000 } }
        keys: { k: { secret: \(Base64.encode(secret)) } }
        grants:
          subjectKey: \(Base64.encode(secret))
          profiles: { live: { issuer: playgate, key: k } }
        edge:
          listen: 127.0.0.1:0
          spoe: 127.0.0.1:0
          grpc: { listen: "127.0.0.1:0" }
          tokens:
            - { query: token }
            - { header: X-Media-Token }
            - { cookie: media-token }
            - { header: Authorization, scheme: MediaToken }
        """

    private static let entries = """
            - { path: /film/tnt/master.m3u8, resource: TNT, grant: live }
            - { path: /film/tnt/, resource: TNT, use: grant, grant: live }
            - { path: /film/tbs/, resource: TBS, use: grant, grant: live }
            - { path: /plain/, resource: TNT }
            - { path: /segments/, resource: TNT, use: within-ttl }
            - { path: "/vod/*.m3u8", resource: TNT, use: within-ttl }
            - { path: /vod/, protected: false }
            - { path: /shadow/, resource: TNT, shadow: true }
        """

    private static func tokens() throws -> [String] {
        let good = try GateSample.token()
        let early = time.adding(seconds: -3600)
        return [
            good, good, good, try GateSample.token(GateSample.claims(session: "other")),
            try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: time).serialized,
            try GateSample.token(GateSample.claims(resource: "TBS")), try GateSample.token(at: early), "x", "<x",
            good.replacing("+", with: " "),
        ]
    }

    /// Grants for `/film/tnt/`: good ones, and ones that need a fact each.
    private static func grants(_ issuer: CATIssuer, _ key: SubjectKey) throws -> [String] {
        let changes: [(inout CATClaims) -> Void] = [
            { _ in }, { _ in }, { $0.uri = [.init(.path, .prefix("/film/tbs/"))] }, { $0.expires = time },
            { $0.uri = [.init(.scheme, .exact("https"))] }, { $0.uri = [.init(.host, .exact("cdn.example"))] },
            { $0.uri = [.init(.query, .exact("a=b"))] }, { $0.methods = ["GET", "PURGE"] }, { $0.countries = ["US"] },
            { claims in
                if let address = IPAddress("192.0.2.0") { claims.networks = [.prefix(address, length: 24)] }
            },
            { $0.networks = [.system(64_500)] }, { $0.alpn = ["h2"] }, { $0.clientKey = [0x30, 1, 5] },
            { $0.headers = [.init("User-Agent", .exact("tv"))] },
            { $0.uri = [.init(.port, .exact(""))] },
        ]
        let made = try changes.map { change in
            var claims = CATClaims()
            claims.issuer = "playgate"
            claims.issued = time
            claims.expires = time.adding(seconds: 600)
            claims.uri = [.init(.path, .prefix("/film/tnt/"))]
            claims.protection = key.protectionTag(requestor: "REF30", resource: try MediaResource("TNT").canonicalForm)
            claims.profile = "live"
            claims.session = PlaybackSession(id: SessionID(number: 7), end: time.adding(seconds: 6000), revocation: nil)
            change(&claims)
            return try issuer.issue(claims).token
        }
        return made + ["x", String(made[0].dropLast()), made[0] + "A"]
    }

    // MARK: Requests

    private static let paths = [
        "/film/tnt/1.ts", "/film/tnt/low/2.ts", "/film/tnt/master.m3u8", "/film/tbs/1.ts", "/plain/a.mp4",
        "/segments/1.ts",
        "/vod/film.m3u8", "/vod/film.m3u8%3f", "/vod/film.m3u8%23x", "/vod/film.m3u8%3Fx", "/vod/a.ts", "/shadow/1",
        "/none",
        "/film/tnt/%2e%2e/x", "/film//tnt/1.ts", "/film/tnt/..%2f1.ts", "/film/tnt/%E9", "/film/tnt/a;b",
        "/film/./tnt/1.ts",
        "/film/tnt/../tnt/1.ts", "/film/tnt/%2525", "/%66ilm/tnt/1.ts", "/", "film", "", "/../film/tnt/1.ts",
        "/film/tnt",
        "/film/tnt/%c3%a9", "/film/tnt/é", "//film/tnt/1.ts", "/film/tnt/\\1.ts", "/film/tnt/%5c1.ts",
        "/film/tnt/1.ts#x",
        "/" + String(repeating: "a", count: 9000),
    ]
    private static let values: [RequestFact: [String]] = [
        .scheme: ["https", "HTTP", "wss", "", " https "],
        .clientAddress: [
            "192.0.2.9", "192.0.2.9:4711", "198.51.100.1", "unknown", "_hidden", "192.0.2.9, 10.0.0.1", "",
        ],
        .clientASN: ["64500", "64501", "AS64500", "0", ""], .countries: ["US", "fr, US-CA", "FR", "nowhere", ""],
        .position: ["48.8566,2.3522", "x"], .alpn: ["h2", "http/1.1", "h 2", ""], .clientKey: ["MAEF", "MAA=", ""],
    ]

    /// Makes a request. Most have few peculiarities, so that the checks behind the first ones are reached.
    func request(_ random: inout SplitMix64) -> SameRequest {
        var request = SameRequest()
        request.path = random.pick(Array(random.once(in: 3) ? Self.paths[...] : Self.paths[..<8]))
        if random.once(in: 12) {
            let place = Int.random(in: 0...request.path.count, using: &random)
            let index = request.path.index(request.path.startIndex, offsetBy: place)
            request.path.insert(random.pick(Array("/.%;\\aA2fé~")), at: index)
        }
        request.query = random.pick([nil, nil, nil, "a=b", "a=%", "x=100%25", "", "a=b&c=d?e"])
        request.method = random.once(in: 6) ? random.pick(["HEAD", "OPTIONS", "POST", "PURGE", "get", "GE T"]) : "GET"
        let hosts = [nil, "CDN.example:443", "cdn.example.", "vod.example", "a b", "cdn.example:0", "cdn.example:8443"]
        request.host = random.once(in: 5) ? random.pick(hosts) : "cdn.example"
        request.range = random.once(in: 8) ? random.pick(["bytes=0-", "bytes=5-9", ""]) : nil
        request.agent = random.pick([nil, "tv", "other"])
        for (fact, values) in Self.values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !random.once(in: 3) {
            request.facts[fact] = random.once(in: 2) ? random.pick(values) : values[0]
        }
        if random.once(in: 10) {
            request.repeated = random.pick(Array(Self.values.keys).sorted { $0.rawValue < $1.rawValue })
        }
        for _ in 0..<random.pick([0, 0, 1, 1, 2]) {
            request.tokens.append((Int.random(in: 0...3, using: &random), random.pick(tokens)))
        }
        // A place has one token in most requests; what two in a field mean is that field's matter.
        if request.tokens.count == 2, request.tokens[0].place == request.tokens[1].place { request.tokens.removeLast() }
        // In the order of the sources, since the first one of two that differ counts.
        request.tokens.sort { $0.place < $1.place }
        for _ in 0..<random.pick([0, 1, 1, 1, 2]) { request.grants.append(random.pick(grants)) }
        return request
    }

    // MARK: Answers

    /// The answer to a plain description. A media token that starts a playback is consumed by the first edge.
    func expected(_ request: SameRequest, _ words: SameRequest) -> SameAnswer {
        guard let check = check(words) else { return SameAnswer(code: "edge_request_invalid", status: 403, seconds: 0) }
        var context = EdgeCheckContext()
        let report = PlainReport(request: words)
        let step = EdgeChecker(gate).check(
            check,
            at: Self.time,
            mediaToken: { _ in report.mediaToken },
            report: { report },
            noting: &context
        )
        guard case .decided(let decision) = step else { return SameAnswer(code: "pending", status: 0, seconds: 0) }
        let hasGrants = context.grants != nil
        let reuse = AnswerReuse.of(decision, hasGrants: hasGrants, by: gate, at: Self.time)
        // nginx's key has a host, or its answers are not kept.
        let isKept = words.group != .resolving || words.host != nil
        return Self.same(decision, seconds: isKept ? reuse?.seconds(from: Self.time, atMost: 5) ?? 0 : 0)
    }

    private func check(_ words: SameRequest) -> EdgeCheckRequest? {
        let isPassing = [.passing, .bare].contains(words.group)
        let method =
            isPassing
            ? PlaybackRequest.Method(HTTPMethod(rawValue: words.method))
            : PlaybackRequest.Method(reported: words.method[...])
        let authority = words.host.flatMap { URIAuthority($0[...]) }
        let text = words.query.map { "\(words.path)?\($0)" } ?? words.path
        guard let method, words.host == nil || authority != nil, let target = ParsedTarget(text[...]) else {
            return nil
        }
        return EdgeCheckRequest(
            target,
            method: method,
            authority: authority,
            isPartial: !["", "bytes=0-"].contains(words.range ?? ""),
            form: words.group == .resolving ? .resolved : .asIs
        )
    }

    private static func same(_ decision: Decision, seconds: Int64) -> SameAnswer {
        let name = decision.codeName
        let isStart = ["verified", "repeated", "token_already_used"].contains(name)
        return SameAnswer(
            code: isStart ? "start" : name,
            status: isStart ? 0 : decision.isAllowed ? 200 : decision.code?.isMissing ?? false ? 401 : 403,
            seconds: seconds
        )
    }

    /// The code by the bundle of the gate; `nil` if only the service can decide.
    func embedded(_ request: SameRequest, _ words: SameRequest) -> String? {
        guard let check = check(words) else { return nil }
        let report = PlainReport(request: words)
        let found = checker.check(check, at: Self.time, mediaToken: { _ in report.mediaToken }, report: { report })
        guard case .decided(let decision) = found.outcome else { return nil }
        return Self.same(decision, seconds: 0).code
    }

    /// The answer of an edge's adapter; `nil` if the edge cannot send such a request.
    func answer(_ request: SameRequest, by dialect: EdgeDialect) async -> SameAnswer? {
        let answer: EdgeAnswer
        switch await reply(to: request, by: dialect) {
        case .now(let known)?, .last(let known)?: answer = known
        case .later(let pending)?: answer = await pending.value
        case nil: return nil
        }
        let same = Self.same(answer.decision, seconds: answer.keeping.seconds)
        return same.status == 0 || same.status == answer.status ? same : nil
    }

    private func reply(to request: SameRequest, by dialect: EdgeDialect) async -> EdgeResponder.Reply? {
        switch dialect {
        case .spoe:
            guard let messages = SPOPMessages(SPOPReader(offload(request).span)),
                let fields = SPOEQuestion(messages)?.fields
            else { return nil }
            return responder.reply(to: .GET, fields, (.spoe, ""), isTrusted: true, snapshot)
        case .grpc:
            #if GRPC
                guard let read = CheckRequest(Self.message(request)) else { return nil }
                let fields = HTTPFields(HTTPHeaders(read))
                let (method, target) = (HTTPMethod(rawValue: read.method), read.path[...])
                return responder.reply(to: method, fields, (.grpc, target), isTrusted: true, snapshot)
            #else
                return nil
            #endif
        default:
            let row = dialect.row
            let method = row.method == nil ? HTTPMethod(rawValue: request.method) : .GET
            let fields = HTTPFields(HTTPHeaders(Self.fields(request, row)))
            let rest = row.target == nil ? request.target[...] : ""
            return responder.reply(to: method, fields, (dialect, rest), isTrusted: true, snapshot)
        }
    }

    private static func fields(_ request: SameRequest, _ row: EdgeDialect.Row) -> [(String, String)] {
        var fields = request.clientFields
        func add(_ name: StaticString?, _ value: String?) {
            if let name, let value { fields.append(("\(name)", value)) }
        }
        add(row.target, request.target)
        add(row.method, request.method)
        add(row.host, request.host)
        add(row.range, request.range)
        add(row.cacheKey, "\(request.method) \(request.host ?? "")\(request.target)")
        let names: [RequestFact: StaticString] = [
            .scheme: row.scheme, .clientAddress: row.client, .clientASN: "x-original-asn", .countries: "x-original-geo",
            .position: "x-original-position", .alpn: "x-original-alpn", .clientKey: "x-original-client-key",
        ]
        for (fact, text) in request.facts {
            add(names[fact], text)
            if fact == request.repeated { add(names[fact], text) }
        }
        return fields
    }

    /// The message of HAProxy's offload.
    private func offload(_ request: SameRequest) -> [UInt8] {
        var fields = request.clientFields
        if let host = request.host { fields.append(("host", host)) }
        if let range = request.range { fields.append(("range", range)) }
        var arguments = [
            ("target", Self.text(request.target)), ("method", Self.text(request.method)),
            ("headers", OffloadExchange.headers(fields)),
        ]
        for (fact, value) in request.facts {
            for _ in 0..<(fact == request.repeated ? 2 : 1) { arguments += Self.arguments(fact, value) }
        }
        return OffloadExchange.message("playgate-check", arguments)
    }

    private static func text(_ text: String) -> SPOPValue { .string(ByteBuffer(string: text)) }

    /// The argument that states a fact.
    private static func arguments(_ fact: RequestFact, _ value: String) -> [(String, SPOPValue)] {
        switch fact {
        case .scheme: [("scheme", text(value))]
        case .clientAddress: [("client", address(value))]
        case .clientASN: [("asn", .signed(Int64(value) ?? 0))]
        case .countries: [("geo", text(value))]
        case .position: [("position", text(value))]
        case .alpn: [("alpn", text(value))]
        case .clientKey: [("client-key", text(value))]
        case .host, .port, .query, .method, .headers: []
        }
    }

    private static func address(_ value: String) -> SPOPValue {
        let number = value.split(separator: ".").reduce(0) { $0 << 8 | (UInt32($1) ?? 0) }
        return .ipv4(number)
    }

    /// `envoy.service.auth.v3.CheckRequest` with the facts of a request.
    private static func message(_ request: SameRequest) -> [UInt8] {
        func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
            var (length, size): ([UInt8], Int) = ([], bytes.count)
            repeat {
                length.append(UInt8(size & 0x7F) | (size > 0x7F ? 0x80 : 0))
                size >>= 7
            } while size > 0
            return [UInt8(number << 3 | 2)] + length + bytes
        }
        var headers = request.clientFields.map { ($0.0.lowercased(), $0.1) }
        if let range = request.range { headers.append(("range", range)) }
        if let scheme = request.facts[.scheme] { headers.append(("x-forwarded-proto", scheme)) }
        if let client = request.facts[.clientAddress] { headers.append(("x-envoy-external-address", client)) }
        var http = field(2, Array(request.method.utf8)) + field(4, Array(request.target.utf8))
        if let host = request.host { http += field(5, Array(host.utf8)) }
        for (name, value) in headers {
            http += field(3, field(1, Array(name.utf8)) + field(2, Array(value.utf8)))
        }
        return field(1, field(4, field(2, http)))
    }
}
