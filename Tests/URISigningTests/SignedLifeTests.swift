// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Testing

@testable import EdgeTokens
@testable import RequestTargets
@testable import URISigning

@Suite struct `Renewal and redirection of signed URIs` {
    private static let session = PlaybackSession(
        id: SessionID(number: 7),
        end: SignedSample.time(3600),
        revocation: .init(issued: SignedSample.time(0), tags: (1...3).map { SubjectTag(number: UInt128($0)) })
    )

    private static func issue(_ change: (inout URISigningClaims) -> Void = { _ in }) throws -> String {
        var claims = SignedSample.claims
        claims.session = session
        change(&claims)
        return try URISigningIssuer(key: SignedSample.key()).issue(claims).token
    }

    private static func grant(
        of token: String,
        by verifier: URISigningVerifier,
        at seconds: Double = 1
    ) throws -> URISigningGrant {
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: SignedSample.time(seconds)) else {
            throw Failure()
        }
        return grant
    }

    private struct Failure: Error {}

    @Test func `the session is read back, as of other grants`() throws {
        let grant = try Self.grant(of: Self.issue(), by: SignedSample.verifier())
        #expect(grant.session == Self.session)
        #expect(grant.tagCount == 3 && grant.tag(2) == SubjectTag(number: 3) && grant.tag(3) == nil)
        #expect(grant.isBoundToClient && !grant.isForOneUse)
        // Those of another installation mean nothing.
        var signer = AcceptedSigner("playgate")
        signer.isOwn = false
        let foreign = try Self.grant(of: Self.issue(), by: SignedSample.verifier(signer: signer))
        #expect(foreign.session == nil && foreign.ignoredClaims == 3)
    }

    @Test func `it is due in the window, for reading, and while the session goes on`() throws {
        let verifier = try SignedSample.verifier()
        let token = try Self.issue()
        func isDue(
            _ token: String,
            at seconds: Double,
            target: String = "/live/tnt/a",
            method: Substring? = "GET"
        ) throws -> Bool {
            var facts = try SignedSample.facts(target)
            facts.method = method
            guard case .allowed(let obligations) = verifier.check(token, for: facts, at: SignedSample.time(seconds))
            else {
                Issue.record("refused")
                return false
            }
            return obligations.isRenewalDue
        }
        #expect(try !isDue(token, at: 149.999))
        #expect(try isDue(token, at: 150))
        #expect(try isDue(token, at: 299.999, target: "/live/tnt/", method: "HEAD"))
        #expect(try !isDue(token, at: 200, target: "/live/tnt/a", method: "POST"))
        #expect(try !isDue(token, at: 200, target: "/live/tnt/a", method: nil))
        #expect(try !isDue(Self.issue { $0.renewal?.depth = 4 }, at: 200))
        #expect(try isDue(Self.issue { $0.renewal = URISigningRenewal(.query, life: 300, depth: 4) }, at: 200))
        #expect(try !isDue(Self.issue { $0.session = nil }, at: 200))
        #expect(try !isDue(Self.issue { $0.renewal = nil }, at: 200))
        #expect(
            try !isDue(
                Self.issue {
                    $0.session = PlaybackSession(id: SessionID(number: 1), end: SignedSample.time(300), revocation: nil)
                },
                at: 200
            )
        )
        var signer = AcceptedSigner("playgate")
        (signer.maximumSession, signer.renewalWindow) = (.seconds(60), .seconds(10))
        let other = try SignedSample.verifier(signer: signer)
        let bare = try Self.issue { $0.session = nil }
        for (seconds, due) in [(289.0, false), (290, true)] {
            guard
                case .allowed(let found) = other.check(
                    bare,
                    for: try SignedSample.facts(),
                    at: SignedSample.time(seconds)
                )
            else {
                Issue.record("refused")
                continue
            }
            #expect(found.isRenewalDue == due)
        }
    }

    @Test func `a chain of a hundred ends with the session`() throws {
        let verifier = try SignedSample.verifier()
        let issuer = try URISigningIssuer(key: SignedSample.key())
        var token = try Self.issue { ($0.session, $0.identifier) = (Self.session, "first") }
        var seconds = 0.0
        var count = 0
        var identifiers: Set<String> = []
        while count < 100 {
            let grant = try Self.grant(of: token, by: verifier, at: seconds + 1)
            #expect(grant.session == Self.session)
            identifiers.insert(try #require(grant.identifier))
            let start = try #require(grant.renewalStart)
            guard let renewed = try? issuer.renew(grant, at: start) else { break }
            #expect(renewed.expires <= Self.session.end)
            seconds = Double(start.millisecondsSince1970 - SignedSample.time(0).millisecondsSince1970) / 1000
            #expect(verifier.check(renewed.token, for: try SignedSample.facts(), at: start).isAllowed)
            token = renewed.token
            count += 1
        }
        #expect(identifiers.count == count + 1)
        #expect(20..<30 ~= count)
        let last = try Self.grant(of: token, by: verifier, at: seconds)
        #expect(last.expires == Self.session.end)
        #expect(
            verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(3600)).refusal?.code
                == .sessionEnded
        )
    }

    @Test func `all other claims are copied as they are written`() throws {
        let payload =
            #"{"cdniets":300.0,"x":{"y":[1.50,null]},"exp":1925000420.5,"iss":"playgate","cdnistt":1,"\u0078y":1e2,"nbf":1.0,"#
            + #""cdniuc":"regex:^https://.*$","pgs":"AAAAAAAAAAAAAAAAAAAABw","pge":1925003720}"#
        let grant = try Self.grant(of: SignedSample.token(payload), by: SignedSample.verifier())
        let renewed = try URISigningIssuer(key: SignedSample.key()).renew(grant, at: SignedSample.time(200))
        let copy = try UnverifiedJWS(renewed.token.utf8.span).payload
        #expect(
            String(decoding: copy, as: UTF8.self)
                == #"{"cdniets":300.0,"x":{"y":[1.50,null]},"exp":1925000620,"iss":"playgate","cdnistt":1,"xy":1e2,"nbf":1.0,"#
                + #""cdniuc":"regex:^https://.*$","pgs":"AAAAAAAAAAAAAAAAAAAABw","pge":1925003720,"iat":1925000320}"#
        )
    }

    @Test func `an expired token, or one without renewal, is not renewed`() throws {
        let issuer = try URISigningIssuer(key: SignedSample.key())
        let verifier = try SignedSample.verifier()
        let grant = try Self.grant(of: Self.issue(), by: verifier)
        #expect(throws: URISigningIssueError.notRenewable) { try issuer.renew(grant, at: SignedSample.time(300)) }
        let fixed = try Self.grant(of: Self.issue { $0.renewal = nil }, by: verifier)
        #expect(throws: URISigningIssueError.notRenewable) { try issuer.renew(fixed, at: SignedSample.time(200)) }
        let endless = try Self.grant(of: Self.issue { $0.session = nil }, by: verifier)
        #expect(throws: URISigningIssueError.notRenewable) { try issuer.renew(endless, at: SignedSample.time(200)) }
    }

    @Test func `a token without a session gets the longest that its issuer allows`() throws {
        var signer = AcceptedSigner("playgate")
        signer.maximumSession = .seconds(400)
        let verifier = try SignedSample.verifier(signer: signer)
        let grant = try Self.grant(of: Self.issue { $0.session = nil }, by: verifier)
        let issuer = try URISigningIssuer(key: SignedSample.key())
        let renewed = try Self.grant(of: issuer.renew(grant, at: SignedSample.time(200)).token, by: verifier, at: 201)
        #expect(renewed.sessionEnd == SignedSample.time(600) && renewed.expires == SignedSample.time(500))
        let again = try Self.grant(of: issuer.renew(renewed, at: SignedSample.time(450)).token, by: verifier, at: 451)
        #expect(again.sessionEnd == SignedSample.time(600) && again.expires == SignedSample.time(600))
        #expect(throws: URISigningIssueError.notRenewable) { try issuer.renew(again, at: SignedSample.time(590)) }
    }

    @Test func `the cookie has the first segments of the path`() throws {
        let rows: [(Int, String, String?)] = [
            (0, "/live/tnt/a.ts", "/"), (1, "/live/tnt/a.ts", "/live"), (2, "/live/tnt/a.ts", "/live/tnt"),
            (2, "/live/tnt/", "/live/tnt"), (3, "/live/tnt/", nil), (1, "/", nil), (4, "/live/tnt/a.ts", nil),
        ]
        for (depth, target, path) in rows {
            let renewal = URISigningRenewal(.cookie, life: 300, depth: depth)
            let uri = try SignedSample.uri(target)
            #expect(renewal.cookiePath(for: uri) == path, "\(depth) \(target)")
            let line = renewal.cookie(
                with: "a.b.c",
                expires: SignedSample.time(300),
                for: uri,
                at: SignedSample.time(0.5)
            )
            #expect(
                line == path.map { "URISigningPackage=a.b.c; Path=\($0); Max-Age=299; Secure; HttpOnly; SameSite=None" }
            )
        }
        #expect(
            URISigningRenewal.location(with: "a.b.c", for: "/a;URISigningPackage=x.y.z/b?q=1")
                == "/a/b?q=1&URISigningPackage=a.b.c"
        )
    }

    @Test func `a redirect copies what binds, and rewrites the rest`() throws {
        let verifier = try SignedSample.verifier()
        let key = try TokenKey(
            secret: [UInt8](64..<96),
            id: KeyID("u"),
            binding: KeyBinding(issuer: "ucdn", format: .uriSigning)
        )
        let token = try Self.issue { $0.identifier = "once" }
        let grant = try Self.grant(of: token, by: verifier)
        let issuer = try URISigningIssuer(key: key)
        let uri = try SignedSample.uri()
        let scope = URISigningClaims.Scope(host: "dcdn.example", path: "/x/")
        let redirected = try issuer.redirect(
            grant,
            from: uri,
            to: .scope(scope),
            scheme: .https,
            audience: ["dcdn"],
            at: SignedSample.time(5)
        )
        let payload = try UnverifiedJWS(redirected.utf8.span).payload
        #expect(
            String(decoding: payload, as: UTF8.self)
                == #"{"iss":"ucdn","aud":"dcdn","exp":1925000420,"nbf":1925000120,"iat":1925000125,"jti":"once","cdniv":1,"#
                + #""cdniuc":"regex:^https://dcdn\\.example/x/.*$","cdniets":300,"cdnistt":1,"cdnistd":2}"#
        )
        let open = URISigningClaims.Scope(scheme: .http, host: "dcdn.example", path: "/x/")
        #expect(throws: URISigningIssueError.downgrade) {
            try issuer.redirect(grant, from: uri, to: .scope(open), scheme: .http, at: SignedSample.time(5))
        }
        #expect(throws: URISigningIssueError.scope) {
            try issuer.redirect(grant, from: uri, to: .scope(open), scheme: .https, at: SignedSample.time(5))
        }
    }

    @Test func `what opens more than was meant is not issued`() throws {
        let issuer = try URISigningIssuer(key: SignedSample.key())
        let bad: [URISigningClaims.Container] = [
            .scope(.init(host: "cdn.example", path: "/live")), .scope(.init(host: "CDN.example", path: "/live/")),
            .scope(.init(host: "cdn.example", path: "/a/../b/")), .scope(.init(host: "cdn.example:443", path: "/a/")),
            .scope(.init(host: "cdn.example", path: "/a/?x=/")), .pattern("https://.*"), .pattern("^($"),
            .pattern("^a"),
        ]
        for container in bad {
            var claims = SignedSample.claims
            claims.container = container
            #expect(throws: URISigningIssueError.scope, "\(container)") { try issuer.issue(claims) }
        }
        func expect(_ error: URISigningIssueError, change: (inout URISigningClaims) -> Void) {
            var claims = SignedSample.claims
            change(&claims)
            #expect(throws: error) { try issuer.issue(claims) }
        }
        expect(.issuer) { $0.issuer = "other" }
        expect(.claims) { $0.expires = nil }
        expect(.claims) { $0.renewal?.life = 0 }
        expect(.claims) {
            $0.session = PlaybackSession(id: SessionID(number: 1), end: SignedSample.time(299), revocation: nil)
        }
        expect(.encryption) { $0.subject = [1] }
        expect(.size) { $0.audience = [String(repeating: "a", count: 8000)] }
        let cat = try TokenKey(
            secret: SignedSample.secret,
            id: nil,
            binding: KeyBinding(issuer: "playgate", format: .cat)
        )
        #expect(throws: URISigningIssueError.key) { try URISigningIssuer(key: cat) }
    }

    @Test func `a scope escapes every operator`() throws {
        let path = "/a$b.c*d+e(f)/"
        var claims = SignedSample.claims
        claims.container = .scope(.init(host: "cdn.example:8443", path: path))
        let token = try URISigningIssuer(key: SignedSample.key()).issue(claims).token
        let verifier = try SignedSample.verifier()
        for (url, isAllowed) in [
            ("https://cdn.example:8443\(path)x", true), ("https://cdn.example\(path)x", false),
            ("https://cdnxexample:8443\(path)x", false), ("https://cdn.example:8443/a$bxc*d+e(f)/x", false),
        ] {
            let facts = RequestFacts(uri: try #require(RequestURI(url: url[...])), method: "GET")
            #expect(verifier.check(token, for: facts, at: SignedSample.time(1)).isAllowed == isAllowed, "\(url)")
        }
        claims.container = .scope(.init(scheme: nil, host: nil, path: "/a/"))
        let any = try URISigningIssuer(key: SignedSample.key()).issue(claims).token
        for url in ["http://a/a/", "https://b.example:1/a/c?d"] {
            let facts = RequestFacts(uri: try #require(RequestURI(url: url[...])), method: "GET")
            #expect(verifier.check(any, for: facts, at: SignedSample.time(1)).isAllowed, "\(url)")
        }
    }
}
