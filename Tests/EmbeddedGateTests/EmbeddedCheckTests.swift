// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import CommonAccessTokens
import EdgeTokens
import GateTestSupport
import MediaResources
import MediaTokens
import Platform
import RequestTargets
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate
@testable import ReplayStores

@Suite("Checks by the C interface")
struct EmbeddedCheckTests {
    typealias Request = EngineUnderTest.Request

    @Test("A grant is good for all files of its folder, up to its renewal")
    func granted() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let token = try sample.grant()
        let answer = engine.check(Request(target: "/live/tnt/720p/1.ts?x=1", grants: [token]))
        #expect(answer.outcome == PLAYGATE_ALLOW)
        #expect(answer.code == "granted")
        #expect(answer.status == 200)
        #expect(answer.session == SessionID(number: 7).hexadecimal)
        #expect(answer.requestor == "REF30")
        #expect(answer.resource == "TNT")
        #expect(answer.scope == PLAYGATE_SCOPE_FOLDER)
        #expect(answer.scopeLength == 15)
        #expect(answer.expires == EmbeddedSample.time.adding(seconds: 300).millisecondsSince1970)
        // The policy is good for 30 s, and the grant for longer.
        #expect(answer.goodUntil == EmbeddedSample.time.adding(seconds: 30).millisecondsSince1970 - 1)
        #expect(answer.trace.utf8.count == 32)
    }

    @Test("A folder with an entry for one of its files is not answered for as a whole")
    func scopes() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let token = try sample.grant()
        #expect(engine.check(Request(grants: [token])).scope == PLAYGATE_SCOPE_TARGET)
        let exact = try sample.grant { $0.uri = [.init(.path, match: .exact("/live/tnt/hd/1.ts"))] }
        #expect(engine.check(Request(target: "/live/tnt/hd/1.ts", grants: [exact])).scope == PLAYGATE_SCOPE_TARGET)
        let address = try #require(IPAddress("192.0.2.0"))
        let bound = try sample.grant { claims in
            claims.networks = [.prefix(address, length: 24)]
        }
        let answer = engine.check(Request(target: "/live/tnt/hd/1.ts", grants: [bound], client: "192.0.2.9"))
        #expect(answer.code == "granted")
        #expect(answer.goodUntil == 0)
    }

    @Test("An answer by a media token is good for no other request if grants were shown beside it")
    func beside() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        var request = Request(target: "/accepting/1.ts", tokens: [try GateSample.token()])
        let uncached = engine.check(request)
        #expect(uncached.code == "within_ttl" && uncached.goodUntil > 0 && uncached.scope == PLAYGATE_SCOPE_FOLDER)
        // For a file of the folder, to be used once: it is refused for all others.
        request.grants = [
            try sample.grant { claims in
                claims.uri = [.init(.path, match: .exact("/accepting/2.ts"))]
                (claims.replay, claims.identifier) = (1, [UInt8](1...16))
            }
        ]
        let answer = engine.check(request)
        #expect(answer.code == "within_ttl" && answer.goodUntil == 0 && answer.scope == PLAYGATE_SCOPE_NONE)
        request.target = "/accepting/2.ts"
        #expect(engine.check(request).code == "ask_grant_use")
    }

    @Test("A caller that keeps no answers gets the same ones, but not for how long they are good")
    func notKept() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let token = try GateSample.token()
        for request in [
            Request(target: "/live/tnt/720p/1.ts?x=1", grants: [try sample.grant()]),
            Request(target: "/segments/1.ts", tokens: [token]), Request(target: "/trailers/1.ts"),
        ] {
            let answer = engine.check(request)
            #expect(answer.outcome == PLAYGATE_ALLOW && answer.goodUntil > 0, "\(request.target)")
            var other = request
            other.flags = UInt32(PLAYGATE_REQUEST_NOT_KEPT)
            let unkept = engine.check(other)
            #expect(unkept.goodUntil == 0 && unkept.scope == PLAYGATE_SCOPE_NONE)
            #expect(unkept.outcome == PLAYGATE_ALLOW && unkept.code == answer.code && unkept.expires == answer.expires)
            #expect(unkept.session == answer.session && unkept.mvpd == answer.mvpd && unkept.flags == answer.flags)
        }
    }

    @Test("What only the service can tell is asked")
    func undecided() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let token = try GateSample.token()
        let once = try sample.grant { claims in
            claims.replay = 1
            claims.identifier = [UInt8](1...16)
        }
        let cases: [(Request, String)] = [
            (Request(target: "/plain/a.mp4", tokens: [token]), "ask_use"),
            (Request(target: "/live/tnt/master.m3u8", tokens: [token]), "ask_use"),
            (Request(grants: [once]), "ask_grant_use"),
        ]
        for (request, code) in cases {
            let answer = engine.check(request)
            #expect(answer.outcome == PLAYGATE_ASK, "\(request.target)")
            #expect(answer.code == code)
            #expect(answer.goodUntil == 0)
        }
    }

    @Test("A token that is good until it expires is decided without the service")
    func withinTTL() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let answer = engine.check(Request(target: "/segments/1.ts", tokens: [try GateSample.token()]))
        #expect(answer.code == "within_ttl")
        #expect(answer.mvpd == "SandboxMVPD")
        #expect(answer.scope == PLAYGATE_SCOPE_FOLDER)
    }

    @Test("A revoked viewer's token is asked, and his grant is refused")
    func revoked() throws {
        let later = EmbeddedSample.time.adding(seconds: 3600)
        let revocation = Revocation(.mvpd(id: "SandboxMVPD", issuedBefore: later), expires: later)
        let session = Revocation(.playback(SessionID(number: 7)), expires: later)
        let sample = try EmbeddedSample(revocations: [revocation, session])
        let engine = try EngineUnderTest(sample.document().json())
        let answer = engine.check(Request(target: "/segments/1.ts", tokens: [try GateSample.token()]))
        #expect(answer.code == "ask_use")
        #expect(engine.check(Request(grants: [try sample.grant()])).code == "grant_revoked")
    }

    @Test("A grant is renewed if the policy has the key, and only GET and HEAD renew")
    func renewed() throws {
        let sample = try EmbeddedSample()
        let renewal = CATRenewal(.cookie, life: 300, deadline: 120)
        let token = try sample.grant { $0.renewal = renewal }
        let late = EmbeddedSample.time.adding(seconds: 200)
        let engine = try EngineUnderTest(sample.document(at: late).json(), at: late)
        let answer = engine.check(Request(grants: [token], now: late))
        #expect(answer.code == "renewed")
        #expect(!answer.grant.isEmpty && answer.grant != token)
        #expect(answer.cookie.hasPrefix("CTA-Common-Access-Token=\(answer.grant); Path=/live/tnt/"))
        #expect(answer.goodUntil == 0)
        #expect(engine.check(Request(grants: [answer.grant], now: late)).code == "granted")
        // Without the key's terms, the answer says that the service would renew.
        var document = sample.document(at: late)
        document.grants?.keys[0].renewing = nil
        let other = try EngineUnderTest(document.json(), at: late)
        let granted = other.check(Request(grants: [token], now: late))
        #expect(granted.code == "granted")
        #expect(granted.flags & UInt32(PLAYGATE_ANSWER_RENEWAL_DUE) != 0)
        let small = engine.check(Request(grants: [token], now: late, capacity: 64))
        #expect(small.outcome == PLAYGATE_ALLOW)
        #expect(small.flags & UInt32(PLAYGATE_ANSWER_TRUNCATED) != 0)
        #expect(small.grant.isEmpty)
    }

    @Test("A policy past its limit decides nothing, until it is confirmed or replaced")
    func freshness() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let end = EmbeddedSample.time.adding(seconds: 30)
        let token = try sample.grant()
        #expect(playgate_engine_fresh_until(engine.engine) == end.millisecondsSince1970)
        #expect(engine.check(Request(grants: [token], now: end)).code == "ask_policy_stale")
        #expect(playgate_engine_confirm(engine.engine, end.millisecondsSince1970) == PLAYGATE_OK)
        #expect(engine.check(Request(grants: [token], now: end)).code == "granted")
    }

    @Test("Revocations and keys are replaced without the rest, and older ones are not taken")
    func parts() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let token = try sample.grant()
        let before = playgate_engine_generation(engine.engine)
        var document = sample.document(at: EmbeddedSample.time.adding(seconds: 1))
        document.revocations = [
            .init(kind: .playback, tag: SubjectTag(number: 7), issuedBefore: Timestamp(millisecondsSince1970: .max))
        ]
        #expect(engine.check(Request(grants: [token])).code == "granted")
        #expect(engine.update(document.json(parts: [.revocations])) == PLAYGATE_OK)
        #expect(engine.check(Request(grants: [token])).code == "grant_revoked")
        #expect(playgate_engine_generation(engine.engine) > before)
        let other = try EngineUnderTest(sample.document().json())
        document.revocations[0].issuedBefore = Revocation.everShared
        #expect(other.update(document.json(parts: [.revocations])) == PLAYGATE_OK)
        #expect(other.check(Request(grants: [token])).code == "playback_shared")
        #expect(engine.update(sample.document().json(parts: [.revocations])) == PLAYGATE_E_POLICY)
        document.grants?.keys = []
        #expect(engine.update(document.json(parts: [.keys])) == PLAYGATE_OK)
        #expect(engine.check(Request(grants: [token])).code == "grant_key_unknown")
    }

    @Test("A place says what its requests are for, in place of the path")
    func locations() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let memory = SliceMemory()
        var rules = playgate_location_rules()
        rules.size = UInt32(MemoryLayout<playgate_location_rules>.size)
        rules.resource = memory.slice("TNT")
        rules.requestor = memory.slice("REF30")
        rules.use = Int32(PLAYGATE_USE_WITHIN_TTL)
        var location: OpaquePointer?
        try #require(playgate_location_create(&rules, &location, nil) == PLAYGATE_OK)
        defer { playgate_location_release(location) }
        let token = try GateSample.token()
        #expect(engine.check(Request(target: "/x/1.ts", tokens: [token], location: location)).code == "within_ttl")
        #expect(engine.check(Request(target: "/x/1.ts", tokens: [token])).code == "unknown_media")
        #expect(
            engine.check(Request(target: "/x/../1;.ts", tokens: [token], location: location)).code == "invalid_path"
        )
        rules.requestor = playgate_slice()
        #expect(playgate_location_create(&rules, &location, nil) == PLAYGATE_E_ARGUMENT)
    }
}

extension EngineUnderTest {
    func update(_ document: [UInt8]) -> Int32 {
        let text = document.map { CChar(bitPattern: $0) }
        return playgate_engine_update(engine, text, text.count, EmbeddedSample.time.millisecondsSince1970, nil)
    }
}
