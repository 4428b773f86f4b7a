// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeListener
import EdgeTokens
import Encodings
import Foundation
import GateConfiguration
import GateServer
import GateTestSupport
import HTTPServer
import Keys
import MediaResources
import MediaTokens
import NIOCore
import NIOHTTP1
import Platform
import RequestTargets
import SPOPServer
import Telemetry
import Testing

import struct HTTPServer.HTTPFields
import struct HTTPServer.HTTPFieldsBuilder

@testable import EdgeChecks
@testable import PlaybackGate
@testable import ReplayStores

#if GRPC
    @testable import GateGRPC
#endif

/// A gate with its listener's responder, and the checker of its bundle.
struct EdgeSample {
    private let gate: Gate
    private let responder: EdgeResponder
    private let snapshot: CurrentGate.Snapshot
    private let checker: EmbeddedChecker
    let clock = TestClock()
    /// Media tokens and grants, by names that say what is peculiar to them.
    private let tokens: [(name: String, text: String)]
    private let grants: [(name: String, text: String)]

    private static let time = GateSample.time
    private static let secret = [UInt8](0...31)

    /// - Parameter hasGlob: True for a catalogue with a glob, beside which no answer is for a whole folder.
    init(hasGlob: Bool = true) throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let configuration = try GateConfiguration(
            file: try folder.write(
                "gate.yaml",
                contents: RunningGate.configuration(
                    Self.edge,
                    catalogue: hasGlob ? Self.entries + Self.glob : Self.entries
                )
            )
        )
        let builder = try GateLoader(configuration, at: Self.time)
        let key = try TokenKey(
            secret: Self.secret,
            id: KeyID("k"),
            binding: KeyBinding(issuer: "playgate", format: .cat)
        )
        let issuer = try CATIssuer(key: key)
        let subjectKey = try SubjectKey(Self.secret)
        let revocationCache = RevocationCache(of: [])
        gate = Gate(
            catalogue: builder.catalogue,
            verifier: builder.verifier,
            store: MemoryReplayStore(capacity: 1000),
            grants: GrantService(
                verifier: CATVerifier(
                    keys: try KeySet([key]),
                    issuers: [AcceptedIssuer("playgate")],
                    policy: CATPolicy()
                ),
                signers: [GrantService.Signer(issuer)],
                subjectKey: subjectKey,
                revocationCache: revocationCache
            )
        )
        snapshot = CurrentGate.Snapshot(
            gate: gate,
            configuration: configuration,
            publishedKeys: nil,
            licensed: LicensedEntries(),
            files: builder.files,
            loaded: Self.time
        )
        responder = EdgeResponder(
            live: CurrentGate(snapshot),
            metrics: DecisionMetrics(factory: PrometheusRegistry(), store: "memory"),
            inFlight: ConcurrencyLimit(8),
            requests: EdgeCounters(factory: PrometheusRegistry()),
            clock: { [clock] in clock.now }
        )
        checker = try EmbeddedChecker(
            EdgeBundle(
                of: gate,
                revokedBy: revocationCache,
                subjectKey: subjectKey,
                goodFor: .seconds(3600),
                at: Self.time
            )
        )
        tokens = try Self.tokens()
        grants = try Self.grants(by: issuer, key: subjectKey)
    }

    private static let edge = """
        replayStore: { advanced: { capacity: 1000 } }
        keys: { k: { secret: \(Base64.encode(secret)) } }
        grants:
          subjectKey: \(Base64.encode(secret))
          profiles: { live: { issuer: playgate, key: k } }
        edge:
          listen: ["127.0.0.1:0", "spoe:127.0.0.1:0", "grpc:127.0.0.1:0"]
          tokens:
            - { query: token }
            - { header: X-Media-Token }
            - { cookie: media-token }
            - { header: Authorization, scheme: MediaToken }
            - { segment: t= }
        """

    private static let entries = """
            - { path: /film/tnt/master.m3u8, resource: TNT, grant: live }
            - { path: /film/tnt/, resource: TNT, admits: grant, grant: live }
            - { path: /film/tbs/, resource: TBS, admits: grant, grant: live }
            - { path: /plain/, resource: TNT }
            - { path: /segments/, resource: TNT, admits: ttl }
            - { path: /vod/, protected: false }
            - { path: /shadow/, resource: TNT, shadow: true }
        """

    private static let glob = "\n    - { path: \"/vod/*.m3u8\", resource: TNT, admits: ttl }"

    private static func tokens() throws -> [(name: String, text: String)] {
        let good = try GateSample.token()
        let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: time).serialized
        return [
            ("good", good), ("session", try GateSample.token(GateSample.claims(session: "other"))),
            ("foreign", foreign), ("tbs", try GateSample.token(GateSample.claims(resource: "TBS"))),
            ("minute", try GateSample.token(GateSample.claims(ttl: 60_000))),
            ("early", try GateSample.token(at: time.adding(seconds: -3600))), ("garbage", "x"), ("markup", "<x"),
            ("blanks", good.replacing("+", with: " ")),
        ]
    }

    /// What the grants of ``PlayerRequests`` need besides.
    private static var changesOfSequences: [(name: String, change: (inout CATClaims) -> Void)] {
        [
            ("file", { $0.uri = [.init(.path, match: .exact("/film/tnt/1.ts"))] }),
            ("suffix", { $0.uri = [.init(.path, match: .suffix(".ts"))] }), ("get", { $0.methods = ["GET"] }),
            ("short", { $0.expires = time.adding(seconds: 40) }),
            ("late", { $0.notBefore = time.adding(seconds: 20) }),
        ]
    }

    /// Grants for `/film/tnt/`: good ones, and ones that need a fact each.
    private static func grants(by issuer: CATIssuer, key: SubjectKey) throws -> [(name: String, text: String)] {
        let address = try #require(IPAddress("192.0.2.0"))
        let changes: [(name: String, change: (inout CATClaims) -> Void)] = [
            ("plain", { _ in }), ("tbs", { $0.uri = [.init(.path, match: .prefix("/film/tbs/"))] }),
            ("expired", { $0.expires = time }), ("https", { $0.uri = [.init(.scheme, match: .exact("https"))] }),
            ("host", { $0.uri = [.init(.host, match: .exact("cdn.example"))] }),
            ("query", { $0.uri = [.init(.query, match: .exact("a=b"))] }),
            ("methods", { $0.methods = ["GET", "PURGE"] }),
            ("us", { $0.countries = ["US"] }), ("network", { $0.networks = [.prefix(address, length: 24)] }),
            ("asn", { $0.networks = [.system(64_500)] }), ("h2", { $0.alpn = ["h2"] }),
            ("key", { $0.clientKey = [0x30, 1, 5] }),
            ("tv", { $0.headers = [.init("User-Agent", match: .exact("tv"))] }),
            ("port", { $0.uri = [.init(.port, match: .exact(""))] }),
        ]
        let made = try (changes + changesOfSequences).map { name, change in
            var claims = CATClaims()
            claims.issuer = "playgate"
            claims.issued = time
            claims.expires = time.adding(seconds: 600)
            claims.uri = [.init(.path, match: .prefix("/film/tnt/"))]
            claims.protection = key.protectionTag(requestor: "REF30", resource: try MediaResource("TNT").canonicalForm)
            claims.profile = "live"
            claims.session = PlaybackSession(id: SessionID(number: 7), end: time.adding(seconds: 6000), revocation: nil)
            change(&claims)
            return (name: name, text: try issuer.issue(claims).token)
        }
        let plain = made[0].text
        let others = [("garbage", "x"), ("cut", String(plain.dropLast())), ("longer", plain + "A")]
        return made.prefix(changes.count) + others + made.dropFirst(changes.count)
    }

    /// Returns the media token of a name.
    func token(_ name: Substring) throws -> String { try #require(tokens.first { $0.name == name }?.text) }

    /// Returns the grant of a name.
    func grant(_ name: Substring) throws -> String { try #require(grants.first { $0.name == name }?.text) }

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
            let offset = Int.random(in: 0...request.path.count, using: &random)
            let index = request.path.index(request.path.startIndex, offsetBy: offset)
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
        let sources = request.mayHaveSegment ? 0...4 : 0...3
        for _ in 0..<random.pick([0, 0, 1, 1, 2]) {
            let token = random.once(in: 3) ? tokens[0] : random.pick(tokens)
            request.tokens.append((Int.random(in: sources, using: &random), token.text))
        }
        // A place has one token in most requests; what two in a field mean is that field's matter.
        if request.tokens.count == 2, request.tokens[0].source == request.tokens[1].source {
            request.tokens.removeLast()
        }
        // In the order of the sources, since the first one of two that differ counts.
        request.tokens.sort { $0.source < $1.source }
        for _ in 0..<random.pick([0, 1, 1, 1, 2]) {
            request.grants.append(
                random.pick(random.once(in: 8) ? [grants[0]] : Array(grants.dropLast(Self.changesOfSequences.count)))
                    .text
            )
        }
        return request
    }

    /// Returns the requests for a target from another source: with a grant, and with a token.
    func requests(_ target: Substring) throws -> [SameRequest] {
        let mark = target.firstIndex(of: "?")
        var request = SameRequest()
        request.path = String(target[..<(mark ?? target.endIndex)])
        request.query = mark.map { String(target[target.index(after: $0)...]) }
        request.host = "cdn.example"
        var (granted, started) = (request, request)
        granted.grants = [try grant("plain")]
        started.tokens = [(1, try token("good"))]
        // The same within the folder of a grant.
        var inside = granted
        inside.path = "/film/tnt" + (request.path.hasPrefix("/") ? "" : "/") + request.path
        return [granted, started, inside]
    }

    /// Returns a request of a generated sequence.
    func request(_ next: PlayerRequests.Request) throws -> SameRequest {
        var request = try requests(next.target[...])[0]
        (request.method, request.host, request.agent) = (next.method, next.host, next.agent)
        request.facts[.scheme] = "https"
        request.facts[.clientAddress] = next.client
        // Names of the sequence that this sample has under another one.
        let names = ["other": "tbs", "agent": "tv"]
        request.grants = try next.grant.map { [try grant((names[$0] ?? $0)[...])] } ?? []
        request.tokens = try next.token.map { [(2, try token($0[...]))] } ?? []
        return request
    }

    // MARK: Answers

    /// The answers of all edges to one request.
    struct Comparison {
        var codes: [EdgeWords: String] = [:]
        var differences: [String] = []
    }

    /// Sends a request through all edges, in the words of each, and compares the answers with that to a plain description.
    func compare(_ request: SameRequest) async -> Comparison {
        var comparison = Comparison()
        for group in EdgeWords.allCases {
            guard let words = request.words(of: group) else { continue }
            let expected = expectedAnswer(to: request, as: words)
            comparison.codes[group] = expected.code
            for dialect in group.dialects {
                guard let found = await answer(request, by: dialect), found != expected else { continue }
                comparison.differences.append("\(dialect): \(found) and not \(expected): \(request)")
            }
            if let embedded = embeddedCode(for: request, as: words), embedded != expected.code {
                comparison.differences.append("embedded: \(embedded) and not \(expected): \(request)")
            }
        }
        return comparison
    }

    /// The answer to a plain description. A media token that starts a playback is consumed by the first edge.
    func expectedAnswer(to request: SameRequest, as words: SameRequest) -> SameAnswer {
        guard let check = check(words) else { return SameAnswer(code: "edge_request_invalid", status: 403, seconds: 0) }
        var context = EdgeCheckContext()
        let report = PlainReport(request: words)
        let step = EdgeChecker(gate).check(
            check,
            at: clock.now,
            mediaToken: { _ in report.mediaToken },
            report: { report },
            noting: &context
        )
        guard case .decided(let decision) = step else { return SameAnswer(code: "pending", status: 0, seconds: 0) }
        let hasGrants = context.grants != nil
        let reuse = AnswerReuse.of(decision, hasGrants: hasGrants, by: gate, at: clock.now)
        // nginx's key has a host, or its answers are not kept.
        let isKept = words.group != .resolving || words.host != nil
        return Self.same(decision, seconds: isKept ? reuse?.seconds(from: clock.now, atMost: 5) ?? 0 : 0)
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
    func embeddedCode(for request: SameRequest, as words: SameRequest) -> String? {
        guard let check = check(words) else { return nil }
        let report = PlainReport(request: words)
        let found = checker.check(check, at: clock.now, mediaToken: { _ in report.mediaToken }, report: { report })
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
        let same = Self.same(answer)
        return same.status == 0 || same.status == answer.status ? same : nil
    }

    private func reply(to request: SameRequest, by dialect: EdgeDialect) async -> Reply<EdgeAnswer>? {
        guard let check = check(of: request, by: dialect) else { return nil }
        return responder.reply(
            to: check.method,
            fields: check.fields,
            found: (dialect, check.rest),
            isTrusted: true,
            in: snapshot
        )
    }

    /// The answer of an edge's adapter that may repeat an earlier one, and whether it did; `nil` if the edge cannot send such a
    /// request.
    func repeatedAnswer(_ request: SameRequest, by dialect: EdgeDialect) async -> (SameAnswer, isRepeated: Bool)? {
        guard let check = check(of: request, by: dialect) else { return nil }
        let found = (dialect, check.rest)
        switch responder.response(to: check.method, fields: check.fields, found: found, isTrusted: true, in: snapshot) {
        case .again(let known): return (Self.same(known.whole), true)
        case .first(.now(let answer)), .first(.last(let answer)): return (Self.same(answer), false)
        case .first(.later(let pending)): return (Self.same(await pending.value), false)
        }
    }

    private static func same(_ answer: EdgeAnswer) -> SameAnswer {
        same(answer.decision, seconds: answer.keeping.seconds)
    }

    /// A check of the listener for a request; `nil` if the edge cannot send such a one.
    private func check(
        of request: SameRequest,
        by dialect: EdgeDialect
    ) -> (method: HTTPMethod, fields: HTTPFields, rest: Substring)? {
        switch dialect {
        case .spoe:
            guard let messages = SPOPMessages(SPOPReader(offload(request).span)),
                let fields = SPOERequest(messages)?.fields
            else { return nil }
            return (.GET, fields, "")
        case .grpc:
            #if GRPC
                guard let read = CheckRequest(Self.message(request)) else { return nil }
                return (HTTPMethod(rawValue: read.method), HTTPFields(HTTPHeaders(read)), read.path[...])
            #else
                return nil
            #endif
        default:
            let row = dialect.row
            let method = row.method == nil ? HTTPMethod(rawValue: request.method) : .GET
            // As the parser of plain heads has them, whose answers may be repeated.
            var fields = HTTPFieldsBuilder(bytes: 2048, count: 24)
            for (name, value) in Self.fields(of: request, by: row) {
                fields.add(name: name.utf8.span, value: value.utf8.span)
            }
            return (method, fields.fields(), row.target == nil ? request.target[...] : "")
        }
    }

    private static func fields(of request: SameRequest, by row: EdgeDialect.Row) -> [(String, String)] {
        var fields = request.clientFields
        func add(_ name: StaticString?, value: String?) {
            if let name, let value { fields.append(("\(name)", value)) }
        }
        add(row.target, value: request.target)
        add(row.method, value: request.method)
        add(row.host, value: request.host)
        add(row.range, value: request.range)
        add(row.cacheKey, value: "\(request.method) \(request.host ?? "")\(request.target)")
        let names: [RequestFact: StaticString] = [
            .scheme: row.scheme, .clientAddress: row.client, .clientASN: "x-original-asn", .countries: "x-original-geo",
            .position: "x-original-position", .alpn: "x-original-alpn", .clientKey: "x-original-client-key",
        ]
        for (fact, text) in request.facts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            add(names[fact], value: text)
            if fact == request.repeated { add(names[fact], value: text) }
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
        for (fact, value) in request.facts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for _ in 0..<(fact == request.repeated ? 2 : 1) { arguments += Self.arguments(for: fact, value: value) }
        }
        return OffloadExchange.message("playgate-check", arguments: arguments)
    }

    private static func text(_ text: String) -> SPOPValue { .string(ByteBuffer(string: text)) }

    /// The argument that states a fact.
    private static func arguments(for fact: RequestFact, value: String) -> [(String, SPOPValue)] {
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
        func field(_ number: Int, bytes: [UInt8]) -> [UInt8] {
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
        var http = field(2, bytes: Array(request.method.utf8)) + field(4, bytes: Array(request.target.utf8))
        if let host = request.host { http += field(5, bytes: Array(host.utf8)) }
        for (name, value) in headers {
            http += field(3, bytes: field(1, bytes: Array(name.utf8)) + field(2, bytes: Array(value.utf8)))
        }
        return field(1, bytes: field(4, bytes: field(2, bytes: http)))
    }
}
