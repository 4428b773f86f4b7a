// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import CommonAccessTokens
import EdgeTokens
import Encodings
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import Platform
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate
@testable import ReplayStores

/// A gate of a service, and the engine that its policy makes in another process.
struct EmbeddedSample {
    /// The gate as the service has it, with a store.
    let gate: Gate
    let subjectKey: SubjectKey
    let issuer: CATIssuer
    let profile: GrantProfile

    static let time = GateSample.time

    init(_ rules: GrantProfile.Rules = Self.rules, revocations: [Revocation] = []) throws {
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-2026-11"), binding: binding)
        issuer = try CATIssuer(key: key)
        profile = GrantProfile("live", issuer: "playgate", keyID: "pg-2026-11", rules: rules)
        subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        var policy = CATPolicy()
        policy.hasReplayStore = true
        policy.hasRejectionList = true
        let own = subjectKey
        let revocationCache = RevocationCache(of: [])
        let verifier = CATVerifier(keys: try KeySet([key]), issuers: [AcceptedIssuer("playgate")], policy: policy)
        let tags = RevocationCache { own.tag(storeKey: $0.bytes) }
        for revocation in revocations {
            tags.add(revocation, at: Self.time)
        }
        revocationCache.add(tags.tags)
        gate = Gate(
            catalogue: try Self.catalogue(profile),
            verifier: try GateSample.verifier(),
            policies: [PlaybackPolicy(deniedMVPDs: ["Denied"])],
            store: MemoryReplayStore(capacity: 100),
            grants: GrantService(
                verifier: verifier,
                signers: [GrantService.Signer(issuer)],
                subjectKey: subjectKey,
                revocationCache: revocationCache
            )
        )
    }

    static var rules: GrantProfile.Rules {
        var rules = GrantProfile.Rules()
        rules.host = "cdn.example"
        return rules
    }

    private static func catalogue(_ profile: GrantProfile) throws -> Catalogue {
        var catalogue = Catalogue()
        let tnt = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        let terms = Catalogue.Entry.GrantTerms([profile])
        let accepted = Catalogue.Entry.GrantTerms([GrantProfile("accepted", issuer: "playgate", keyID: nil)])
        for (key, use, grants) in [
            (.path(try PathPattern("/live/tnt/master.m3u8")), .once, terms),
            (.path(try PathPattern("/live/tnt/")), .grant, terms), (.path(try PathPattern("/plain/")), .once, nil),
            (.path(try PathPattern("/segments/")), .withinTTL, nil), (.media("tnt-live"), .once, terms),
            (.path(try PathPattern("/accepting/")), .withinTTL, accepted),
        ] as [(Catalogue.Entry.Key, Catalogue.Entry.Use, Catalogue.Entry.GrantTerms?)] {
            try catalogue.add(Catalogue.Entry(key: key, protection: tnt, use: use, grants: grants))
        }
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern("/trailers/")), protection: .none))
        let host = try #require(HostName("vod.example"))
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern("/plain/")), protection: .none, hosts: [host]))
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern("/shadow/")), protection: tnt, isShadow: true))
        return catalogue
    }

    /// The policy of the gate, as the service writes it.
    func document(goodFor: Duration = .seconds(30), at now: Timestamp = time) -> EdgeBundle {
        EdgeBundle(
            of: gate,
            revokedBy: gate.grants?.revocationCache,
            subjectKey: subjectKey,
            goodFor: goodFor,
            at: now
        )
    }

    /// A grant of this installation for `/live/tnt/`.
    func grant(_ change: (inout CATClaims) -> Void = { _ in }) throws -> String {
        var claims = CATClaims()
        claims.issuer = "playgate"
        claims.expires = Self.time.adding(seconds: 300)
        claims.notBefore = Self.time
        claims.issued = Self.time
        claims.methods = ["GET", "HEAD"]
        let resource = try MediaResource("TNT").canonicalForm
        claims.protection = subjectKey.protectionTag(requestor: "REF30", resource: resource)
        claims.profile = "live"
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        let tags = (1...3).map { SubjectTag(number: UInt128($0)) }
        claims.session = PlaybackSession(
            id: SessionID(number: 7),
            end: Self.time.adding(seconds: 36_000),
            revocation: PlaybackSession.Revocability(issued: Self.time, tags: tags)
        )
        change(&claims)
        return try issuer.issue(claims).token
    }
}

/// An engine by its C interface, and what the tests ask it.
final class EngineUnderTest {
    let engine: OpaquePointer

    init(_ document: [UInt8], at now: Timestamp = EmbeddedSample.time) throws {
        #expect(playgate_no_more_forks() == PLAYGATE_OK)
        var (policy, made): (OpaquePointer?, OpaquePointer?)
        var error = playgate_error()
        let text = document.map { CChar(bitPattern: $0) }
        let opened = playgate_policy_open(text, text.count, now.millisecondsSince1970, &policy, &error)
        try #require(opened == PLAYGATE_OK, "line \(error.line): \(error.sentence)")
        defer { playgate_policy_release(policy) }
        try #require(playgate_engine_create(policy, &made, &error) == PLAYGATE_OK, "\(error.sentence)")
        engine = try #require(made)
    }

    deinit { playgate_engine_release(engine) }

    /// An answer, with its texts copied.
    struct Answer {
        var result: Int32 = 0
        var outcome: Int32 = 0
        var code = ""
        var status: Int32 = 0
        var flags: UInt32 = 0
        var scope: Int32 = 0
        var scopeLength: UInt32 = 0
        var expires: Int64 = 0
        var goodUntil: Int64 = 0
        var mvpd = ""
        var requestor = ""
        var resource = ""
        var session = ""
        var trace = ""
        var grant = ""
        var cookie = ""

        init(result: Int32, answer: playgate_answer) {
            self.result = result
            outcome = answer.outcome
            code = playgate_code_name(answer.code).map { String(cString: $0) } ?? ""
            (status, flags, scope, scopeLength) = (answer.status, answer.flags, answer.scope, answer.scope_length)
            (expires, goodUntil) = (answer.expires, answer.good_until)
            (mvpd, requestor) = (answer.mvpd.string, answer.requestor.string)
            (resource, session) = (answer.resource.string, answer.session.string)
            (trace, grant, cookie) = (answer.trace.string, answer.grant.string, answer.set_cookie.string)
        }
    }

    /// A request to check.
    struct Request {
        var target = "/live/tnt/1.ts"
        var method = "GET"
        var scheme = "https"
        var host = "cdn.example"
        var tokens: [String] = []
        var grants: [String] = []
        var client = ""
        var headers: [(name: String, value: String)] = []
        var flags: UInt32 = 0
        var now = EmbeddedSample.time
        var location: OpaquePointer?
        var capacity = Int(PLAYGATE_BUFFER_SIZE)
    }

    func check(_ request: Request) -> Answer { check(request, cache: nil).answer }

    /// Reads a cache first, if there is one, and stores the answer there if it has none.
    func check(_ request: Request, cache: OpaquePointer?) -> (answer: Answer, isFound: Bool) {
        let memory = SliceMemory()
        let tokens = request.tokens.map { memory.slice($0) }
        let grants = request.grants.map { memory.slice($0) }
        let headers = request.headers.map {
            playgate_header(name: memory.slice($0.name), value: memory.slice($0.value))
        }
        return tokens.withUnsafeBufferPointer { tokens in
            grants.withUnsafeBufferPointer { grants in
                headers.withUnsafeBufferPointer { headers in
                    var raw = playgate_request()
                    raw.size = UInt32(MemoryLayout<playgate_request>.size)
                    raw.flags = request.flags
                    raw.now = request.now.millisecondsSince1970
                    raw.method = memory.slice(request.method)
                    raw.target = memory.slice(request.target)
                    raw.scheme = memory.slice(request.scheme)
                    raw.host = memory.slice(request.host)
                    raw.client = memory.slice(request.client)
                    (raw.tokens, raw.token_count) = (tokens.baseAddress, tokens.count)
                    (raw.grants, raw.grant_count) = (grants.baseAddress, grants.count)
                    (raw.headers, raw.header_count) = (headers.baseAddress, headers.count)
                    return check(&raw, request: request, cache: cache)
                }
            }
        }
    }

    private func check(
        _ raw: inout playgate_request,
        request: Request,
        cache: OpaquePointer?
    ) -> (answer: Answer, isFound: Bool) {
        var buffer = [CChar](repeating: 0, count: request.capacity)
        return buffer.withUnsafeMutableBufferPointer { buffer in
            var answer = playgate_answer()
            answer.size = UInt32(MemoryLayout<playgate_answer>.size)
            (answer.buffer, answer.capacity) = (buffer.baseAddress, buffer.count)
            let generation = playgate_engine_generation(engine)
            if let cache, playgate_answer_cache_find(cache, 0, generation, &raw, &answer) == 1 {
                return (Answer(result: Int32(PLAYGATE_OK), answer: answer), true)
            }
            let result = playgate_check(engine, request.location, &raw, &answer)
            if let cache { playgate_answer_cache_keep(cache, 0, &raw, &answer) }
            return (Answer(result: result, answer: answer), false)
        }
    }
}

/// Bytes whose addresses C functions get.
final class SliceMemory {
    private var blocks: [UnsafeMutableBufferPointer<CChar>] = []
    private var lists: [UnsafeMutablePointer<playgate_slice>] = []

    deinit {
        for block in blocks { block.deallocate() }
        for list in lists { list.deallocate() }
    }

    /// A list of one slice.
    func list(_ slice: playgate_slice) -> UnsafePointer<playgate_slice> {
        let list = UnsafeMutablePointer<playgate_slice>.allocate(capacity: 1)
        list.initialize(to: slice)
        lists.append(list)
        return UnsafePointer(list)
    }

    func slice(_ text: String) -> playgate_slice { slice(Array(text.utf8)) }

    func slice(_ bytes: [UInt8]) -> playgate_slice {
        let block = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = block.initialize(from: bytes.map { CChar(bitPattern: $0) })
        blocks.append(block)
        return playgate_slice(bytes: block.baseAddress, length: bytes.count)
    }
}

extension playgate_slice {
    var string: String {
        guard let bytes else { return "" }
        let start = UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self)
        return String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self)
    }
}

extension playgate_error {
    var sentence: String {
        withUnsafeBytes(of: message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
