// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import GateTestSupport
import Keys
import MediaTokens
import Platform
import Testing

@testable import PlaybackGate
@testable import ReplayStores

@Suite struct `Grants of the gate` {
    private static let master = "/live/tnt/master.m3u8"
    private static let segment = "/live/tnt/seg-1.m4s"

    // MARK: Start

    @Test func `are issued at the start of a playback, and open everything below its folder`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start()
        #expect(grant.scope == "/live/tnt/" && grant.expires == GrantingSample.time.adding(seconds: 300))
        #expect(grant.renewAfter == GrantingSample.time.adding(seconds: 180))
        #expect(grant.session.end == GrantingSample.time.adding(seconds: 12 * 3600))
        #expect(grant.url == "https://cdn.example/~cat=\(grant.token)/live/tnt/master.m3u8")
        #expect(
            grant.setCookies(at: GrantingSample.time).first
                == "CTA-Common-Access-Token=\(grant.token); Path=/live/tnt/; Max-Age=300; Secure; HttpOnly; SameSite=None"
        )
        for path in [Self.segment, Self.master, "/live/tnt/720p/index.m3u8", "/live/tnt/a%20b.key"] {
            #expect(try await sample.ask(path, grants: [grant.token]).outcome == "granted", "\(path)")
        }
    }

    @Test func `of a repeated start belong to the same session, of another token to another`() async throws {
        let sample = try await GrantingSample()
        let token = try GateSample.token(GateSample.claims(session: "viewer-1"))
        let first = try await sample.ask(Self.master, token: token, playbackID: "7f1c")
        let again = try await sample.ask(Self.master, token: token, playbackID: "7f1c")
        #expect(first.outcome == "verified" && again.outcome == "repeated")
        #expect(first.issued.map(\.session.id) == again.issued.map(\.session.id) && !first.issued.isEmpty)
        #expect(first.issued.map(\.token) != again.issued.map(\.token))
        #expect(try await sample.start(session: "viewer-2").session.id != first.issued.first?.session.id)
    }

    @Test func `do not use the media token, so a reload of the master consumes nothing`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start()
        let token = try GateSample.token(GateSample.claims(session: "viewer-2"))
        #expect(try await sample.ask(Self.master, grants: [grant.token], token: token).outcome == "granted")
        #expect(try await sample.ask(Self.master, token: token).outcome == "verified")
        #expect(try await sample.ask(Self.master, token: token).outcome == "token_already_used")
    }

    @Test(arguments: [
        ("/live/tnt/master.m3u8", GrantProfile.Scope.folder, "/live/tnt/"),
        ("/vod/1234/master.m3u8", .folder, "/vod/1234/"), ("/vod/a%20b/master.m3u8", .folder, "/vod/a%20b/"),
        ("/live/tnt/master.m3u8", .prefix("/live/"), "/live/"),
    ])
    func `have a scope that the catalogue names`(path: String, scope: GrantProfile.Scope, expected: String) async throws
    {
        var rules = GrantingSample.rules()
        rules.scope = scope
        let sample = try await GrantingSample(rules)
        let decision = try await sample.ask(path, token: try GateSample.token())
        #expect(decision.issued.map(\.scope) == [expected])
    }

    @Test func `are issued for a media id to the paths of its manifest`() async throws {
        let sample = try await GrantingSample()
        let request = PlaybackRequest(.media("tnt-live"), token: try GateSample.token())
        let decision = await sample.gate.decide(request, at: GrantingSample.time)
        let grant = try #require(decision.issued.first)
        #expect(grant.scopeURL == "https://cdn.example/live/tnt/")
        #expect(try await sample.ask(Self.segment, grants: [grant.token]).outcome == "granted")
    }

    // MARK: Refusals

    @Test func `are demanded where the entry says so, and a media token is no substitute`() async throws {
        let sample = try await GrantingSample()
        let token = try GateSample.token()
        #expect(try await sample.ask(Self.segment).outcome == "grant_missing")
        #expect(try await sample.ask(Self.segment, token: token).outcome == "grant_missing")
        #expect(try await sample.ask(Self.segment, grants: [token]).outcome == "grant_malformed")
        #expect(try await sample.ask(Self.master, token: token).outcome == "verified")
        #expect(try await sample.ask("/plain/a", token: token).outcome == "token_already_used")
    }

    @Test func `open no other path, host or method, and nothing of another issuer's`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start().token
        #expect(try await sample.ask("/live/tbs/seg-1.m4s", grants: [grant]).outcome == "grant_uri_mismatch")
        #expect(try await sample.ask("/live/tnt/../tbs/a", grants: [grant]).outcome == "grant_uri_mismatch")
        #expect(
            try await sample.ask(Self.segment, grants: [grant], host: "evil.example").outcome == "grant_uri_mismatch"
        )
        #expect(try await sample.ask("/plain/a", grants: [grant]).outcome == "media_token_missing")
        let key = try TokenKey(
            secret: GrantingSample.secret,
            id: KeyID("pg-2026-11"),
            binding: KeyBinding(issuer: "other", format: .cat)
        )
        var claims = CATClaims()
        claims.expires = GrantingSample.time.adding(seconds: 60)
        claims.uri = [.init(.path, match: .prefix("/live/tnt/"))]
        let foreign = try CATIssuer(key: key).issue(claims).token
        #expect(try await sample.ask(Self.segment, grants: [foreign]).outcome == "grant_issuer_refused")
        // The first acceptable one allows.
        #expect(try await sample.ask(Self.segment, grants: [foreign, "x", grant]).outcome == "granted")
        let last = try await sample.ask(Self.segment, grants: ["x", foreign]).outcome
        #expect(last == "grant_issuer_refused")
    }

    @Test func `that are forged are refused every time, also from the cache`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start().token
        let forged = String(grant.dropLast(2)) + (grant.hasSuffix("AA") ? "BA" : "AA")
        for _ in 0..<3 {
            #expect(try await sample.ask(Self.segment, grants: [forged]).outcome == "grant_signature_invalid")
            #expect(try await sample.ask(Self.segment, grants: [grant]).outcome == "granted")
        }
    }

    @Test(arguments: [
        (0, "granted"), (179, "granted"), (180, "renewed"), (299, "renewed"), (300, "grant_expired"),
        (12 * 3600, "session_ended"),
    ])
    func `live for their life and are renewed at its end`(seconds: Int64, outcome: String) async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start().token
        // The cache must not prolong it: ask before, too.
        #expect(try await sample.ask(Self.segment, grants: [grant]).outcome == "granted")
        #expect(try await sample.ask(Self.segment, grants: [grant], after: seconds).outcome == outcome)
    }

    // MARK: Renewal

    @Test func `are renewed to the end of the session and no further`() async throws {
        var rules = GrantingSample.rules()
        rules.session = .seconds(700)
        let sample = try await GrantingSample(rules)
        var (grant, now, renewals) = (try await sample.start(), Int64(0), 0)
        while renewals < 10 {
            now = (grant.expires.millisecondsSince1970 - GrantingSample.time.millisecondsSince1970) / 1000 - 1
            let decision = try await sample.ask(Self.segment, grants: [grant.token], after: now)
            guard decision.outcome == "renewed", let next = decision.issued.first else { break }
            #expect(next.session.id == grant.session.id && next.scope == grant.scope && next.expires > grant.expires)
            (grant, renewals) = (next, renewals + 1)
        }
        #expect(grant.expires == GrantingSample.time.adding(seconds: 700))
        #expect(renewals == 2)
        #expect(try await sample.ask(Self.segment, grants: [grant.token], after: 699).outcome == "granted")
        #expect(try await sample.ask(Self.segment, grants: [grant.token], after: 700).outcome == "session_ended")
    }

    @Test func `give parallel segments one renewed grant`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start().token
        let tokens = try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 0..<16 {
                group.addTask {
                    try await sample.ask("/live/tnt/seg-\(number).m4s", grants: [grant], after: 200).issued.map(\.token)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(tokens.count == 16 && Set(tokens).count == 1 && tokens.first != grant)
        #expect(try await sample.ask(Self.segment, grants: [grant], method: .head, after: 201).outcome == "renewed")
    }

    @Test func `are renewed for a backend in their window, and exchanged for the same entry only`() async throws {
        let sample = try await GrantingSample()
        let grant = try await sample.start()
        let time = GrantingSample.time
        guard case .notDue = sample.renew(grant, after: 10) else {
            Issue.record("renewed too early")
            return
        }
        guard case .issued(let renewed) = sample.renew(grant, after: 200) else {
            throw Failure(description: "not renewed")
        }
        #expect(renewed.session.id == grant.session.id && renewed.expires == time.adding(seconds: 500))
        guard case .refused(let late) = sample.renew(grant, after: 300) else {
            throw Failure(description: "renewed too late")
        }
        #expect(late.code == .expired)
        guard case .issued(let other) = try sample.exchange(grant, for: .media("tnt-live")) else {
            throw Failure(description: "not exchanged")
        }
        #expect(other.session.id == grant.session.id && other.scope == "/live/tnt/")
        guard case .refused(let refusal) = try sample.exchange(grant, for: .path("/live/tbs/a")) else {
            throw Failure(description: "exchanged for another entry")
        }
        #expect(refusal.code == .uriMismatch)
    }

    private struct Failure: Error { let description: String }

    // MARK: Revocation

    @Test(arguments: ["token", "session", "mvpd", "playback"])
    func `are refused once their subject is revoked, and are not renewed`(kind: String) async throws {
        let sample = try await GrantingSample()
        let token = try GateSample.token(GateSample.claims(session: "viewer-1"))
        let decision = try await sample.ask(Self.master, token: token)
        let (grant, neighbour) = (
            try #require(decision.issued.first), try await sample.start(session: "n", mvpd: "Other")
        )
        let (time, fingerprint) = (GrantingSample.time, try #require(decision.subject.token?.fingerprint))
        let later = time.adding(seconds: 1)
        let subject: Revocation.Subject =
            switch kind {
            case "token": .token(fingerprint)
            case "session": .session(guid: "viewer-1", issuedBefore: later)
            case "mvpd": .mvpd(id: "SandboxMVPD", issuedBefore: later)
            default: .playback(grant.session.id)
            }
        try await sample.gate.record(Revocation(subject, expires: time.adding(seconds: 86_400)), at: time)
        try await sample.refresh()
        for seconds in [1, 200] as [Int64] {
            let answer = try await sample.ask(Self.segment, grants: [grant.token], after: seconds)
            #expect(answer.outcome == "grant_revoked")
        }
        guard case .refused = sample.renew(grant, after: 200) else {
            throw Failure(description: "renewed")
        }
        #expect(try await sample.ask(Self.segment, grants: [neighbour.token], after: 1).outcome == "granted")
    }

    @Test(arguments: [(false, "replay_store_unavailable"), (true, "granted")])
    func `are refused while revocations are not known, unless the configuration allows`(
        isAllowed: Bool,
        outcome: String
    ) async throws {
        let sample = try await GrantingSample(gateRules: Gate.Rules(allowsUnknownUse: isAllowed), isFresh: false)
        let grant = try await sample.start().token
        #expect(try await sample.ask(Self.segment, grants: [grant]).outcome == outcome)
    }

    // MARK: Limits

    @Test func `are limited for a viewer, and a refused start consumes nothing`() async throws {
        let sample = try await GrantingSample(GrantingSample.rules(streams: 2))
        let first = try await sample.start(session: "viewer-1")
        _ = try await sample.start(session: "viewer-1", after: 1)
        let token = try GateSample.token(
            GateSample.claims(session: "viewer-1"),
            at: GrantingSample.time.adding(seconds: 2)
        )
        #expect(try await sample.ask(Self.master, token: token, after: 2).outcome == "stream_limit_reached")
        // Another viewer has slots of her own, and a reload takes none.
        _ = try await sample.start(session: "viewer-2", after: 2)
        #expect(try await sample.ask(Self.master, grants: [first.token], after: 2).outcome == "granted")
        #expect(await sample.gate.end(first.session.id, at: GrantingSample.time.adding(seconds: 3)) == true)
        #expect(try await sample.ask(Self.master, token: token, after: 3).outcome == "verified")
        #expect(try await sample.ask(Self.master, token: token, after: 3).outcome == "token_already_used")
    }

    @Test func `hold their slot by renewals, and lose it ten seconds after their end`() async throws {
        let sample = try await GrantingSample(GrantingSample.rules(streams: 1))
        let grant = try await sample.start(session: "viewer-1")
        let renewed = try await sample.ask(Self.segment, grants: [grant.token], after: 200)
        #expect(renewed.outcome == "renewed")
        for (seconds, outcome) in [(311, "stream_limit_reached"), (509, "stream_limit_reached"), (511, "verified")] {
            let now = GrantingSample.time.adding(seconds: Int64(seconds))
            let token = try GateSample.token(GateSample.claims(session: "viewer-1"), at: now)
            #expect(
                try await sample.ask(Self.master, token: token, after: Int64(seconds)).outcome == outcome,
                "\(seconds)"
            )
        }
    }
}
