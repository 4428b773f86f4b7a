// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// The operator page of the admin listener, by HTTP. ``OperatorBrowserTests`` looks at it.
@Suite struct `The operator page` {
    @Test func `is only for callers of the admin listener`() async throws {
        try await OperatorGate.with { gate in
            for path in ["/ui", "/ui/catalogue", "/ui/inspect", "/ui/leaks", "/ui/revoke"] {
                let strange = try gate.admin("GET", path: path)
                #expect(strange.status == 303 && strange.headers["location"] == "/ui/sign-in", "\(path) \(strange)")
            }
            for headers in [[:], ["Authorization": "Bearer wrong"], ["Cookie": "playgate-operator=wrong"]] {
                #expect(try gate.admin("GET", path: "/ui/state", headers: headers).status == 401, "\(headers)")
                let other = headers.merging(["X-Playgate-Request": "test"]) { $1 }
                let revoked = try gate.admin("POST", path: "/ui/revoke", headers: other)
                #expect(revoked.status == 401, "\(headers) \(revoked)")
            }
            // What probes and Prometheus read stays open.
            #expect(try gate.admin("GET", path: "/readyz").status == 200)
            #expect(try gate.admin("GET", path: "/metrics").status == 200)
            let page = try gate.admin("GET", path: "/ui", headers: OperatorGate.reader)
            #expect(page.status == 200 && page.body.contains("Latest decisions"))
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"))
            #expect(page.headers["cache-control"] == "no-store")
            #expect(try gate.admin("GET", path: "/ui/none", headers: OperatorGate.reader).status == 404)
            #expect(try gate.admin("DELETE", path: "/ui", headers: OperatorGate.reader.changing).status == 405)
        }
    }

    @Test func `signs a browser in with a key, and out`() async throws {
        try await OperatorGate.with { gate in
            #expect(try gate.form(to: "/ui/session", fields: ["key": "wrong"]).status == 401)
            let signedIn = try gate.form(to: "/ui/session", fields: ["key": OperatorGate.readKey])
            #expect(signedIn.status == 303 && signedIn.headers["location"] == "/ui")
            let cookie = try #require(signedIn.headers["set-cookie"])
            #expect(cookie.hasSuffix("; Path=/ui; Max-Age=28800; HttpOnly; SameSite=Strict"))
            #expect(!cookie.contains(OperatorGate.readKey))
            let session = ["Cookie": "a=b; \(cookie.prefix { $0 != ";" })"]
            #expect(try gate.admin("GET", path: "/ui/state", headers: session).status == 200)
            // Two sessions are none.
            let twice = ["Cookie": "\(cookie.prefix { $0 != ";" }); playgate-operator=x"]
            #expect(try gate.admin("GET", path: "/ui/state", headers: twice).status == 401)
            let start = gate.now
            gate.now = start.adding(seconds: 8 * 3600)
            #expect(try gate.admin("GET", path: "/ui/state", headers: session).status == 401)
            gate.now = start
            #expect(try gate.form(to: "/ui/sign-out", fields: [:], headers: session).status == 303)
            #expect(try gate.admin("GET", path: "/ui/state", headers: session).status == 401)
        }
    }

    @Test func `is closed to pages of other origins`() async throws {
        try await OperatorGate.with { gate in
            let signedIn = try gate.form(to: "/ui/session", fields: ["key": OperatorGate.revokeKey])
            let cookie = try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" }
            let revocation = ["subject": "mvpd", "id": "X", "confirmed": "yes"]
            for foreign in [
                ["Origin": "https://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"],
                ["Sec-Fetch-Site": "same-site"], [:],
            ] {
                let headers = foreign.merging(["Cookie": String(cookie)]) { $1 }
                let answer = try gate.form(to: "/ui/revoke", fields: revocation, headers: headers, isOwn: false)
                #expect(answer.status == 403, "\(foreign) \(answer)")
                // Nobody signs a browser in to a session of another.
                #expect(
                    try gate.form(
                        to: "/ui/session",
                        fields: ["key": OperatorGate.readKey],
                        headers: foreign,
                        isOwn: false
                    ).status
                        == 403
                )
            }
            let rebound = try HTTPConnection(gate.admin).request(
                "GET",
                path: "/ui/state",
                headers: OperatorGate.reader,
                host: "evil.example"
            )
            #expect(rebound.status == 403)
        }
    }

    @Test func `shows decisions without tokens, and finds them by code, path, MVPD and edge`() async throws {
        try await OperatorGate.with { gate in
            let token = try gate.token(GateSample.claims(session: "secret-session"))
            _ = try gate.play(token: token)
            _ = try gate.play(token: token)
            _ = try gate.play("none", token: token)
            _ = try gate.play("<script>", token: token)
            let state = try gate.admin("GET", path: "/ui/state?after=0", headers: OperatorGate.reader)
            let rows = try #require(state.json["decisions"] as? [[String: Any]])
            #expect(
                rows.map { $0["code"] as? String } == [
                    "unknown_media", "unknown_media", "token_already_used", "verified",
                ]
            )
            #expect(rows.last?["mvpd"] as? String == GateSample.claims().mvpdID)
            #expect(state.json["newest"] as? Int == 4)
            let page = try gate.admin("GET", path: "/ui", headers: OperatorGate.reader)
            #expect(page.body.contains("&lt;script&gt;") && !page.body.contains("<script>"))
            for body in [state.body, page.body] {
                #expect(!body.contains("secret-session") && !body.contains(token) && !body.contains(token.prefix(24)))
            }
            func codes(_ query: String) throws -> [String] {
                let state = try gate.admin("GET", path: "/ui/state?\(query)", headers: OperatorGate.reader)
                return (state.json["decisions"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
            }
            #expect(try codes("code=verified") == ["verified"])
            #expect(try codes("target=non") == ["unknown_media"])
            #expect(try codes("target=tnt&code=verified") == ["verified"])
            #expect(try codes("mvpd=nobody") == [])
            #expect(try codes("source=nobody") == [])
            #expect(try codes("after=3") == ["unknown_media"])
            #expect(try codes("after=4") == [])
            // The second is counted once it is over.
            gate.now = gate.now.adding(seconds: 1)
            let later = try gate.admin("GET", path: "/ui/state?after=4", headers: OperatorGate.reader)
            let texts = try #require(later.json["texts"] as? [String: String])
            #expect(texts["rates"] == "1 allowed, 3 refused; top 5")
            #expect(texts["store"]?.hasPrefix("memory") == true && texts["faults"] == "yes")
        }
    }

    /// A quote with a combining accent is one character to Swift, and the end of an attribute to a browser.
    @Test(arguments: ["\" autofocus x=\"", "\"\u{301} autofocus x=", "<b>", "<\u{338}b>", "'\u{327}>", "&amp;\u{200D}"])
    func `escapes every character of markup, whatever follows it`(text: String) async throws {
        try await OperatorGate.with { gate in
            let query = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            for path in ["/ui?target=\(query)", "/ui/catalogue?target=\(query)&host=\(query)"] {
                let page = try gate.admin("GET", path: path, headers: OperatorGate.reader)
                #expect(page.status == 200)
                let value = try #require(page.body.range(of: "name=\"target\" value=\""))
                let visible = page.body[value.upperBound...].unicodeScalars.prefix { $0 != "\"" }
                var plain = String(String.UnicodeScalarView(visible))
                #expect(!plain.unicodeScalars.contains { "<>'".unicodeScalars.contains($0) }, "\(plain)")
                for (escaped, character) in [
                    ("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
                ] {
                    plain = plain.replacingOccurrences(of: escaped, with: character, options: .literal)
                }
                #expect(plain.unicodeScalars.elementsEqual(text.unicodeScalars), "\(page.body)")
            }
        }
    }

    @Test func `holds the last 1,024 decisions`() async throws {
        try await OperatorGate.with { gate in
            for number in 0..<1030 { _ = try gate.play("m\(number)") }
            let state = try gate.admin("GET", path: "/ui/state?target=m", headers: OperatorGate.reader)
            let rows = try #require(state.json["decisions"] as? [[String: Any]])
            #expect(rows.map { $0["target"] as? String } == (930..<1030).reversed().map { "m\($0)" })
            func count(_ target: String) throws -> Int {
                let state = try gate.admin("GET", path: "/ui/state?target=\(target)", headers: OperatorGate.reader)
                return (state.json["decisions"] as? [Any])?.count ?? -1
            }
            // m5, m50 to m59, and m500 to m599 without the six oldest: m0 to m5 are gone.
            #expect(try count("m59") == 11)
            #expect(try count("m5&after=1029") == 0)
        }
    }

    @Test func `tells what protects a path`() async throws {
        try await OperatorGate.with { gate in
            for (query, text) in [
                ("target=/live/tnt/a.ts", "/live/tnt/"), ("target=trailer", "plays without a token"),
                ("target=/none", "nothing opens it (unknown_media)"), ("target=/live/../a", "unknown_media"),
                ("target=/live/%25zz%00", "is refused (invalid_path)"), ("target=%3Cb%3E", "&lt;b&gt;"),
            ] {
                let page = try gate.admin("GET", path: "/ui/catalogue?\(query)", headers: OperatorGate.reader)
                #expect(page.status == 200 && page.body.contains(text), "\(query) \(page.body)")
            }
            #expect(try gate.admin("GET", path: "/ui/catalogue?a=1&a=2", headers: OperatorGate.reader).status == 400)
        }
    }

    @Test func `explains each check of a media token, and consumes none`() async throws {
        try await OperatorGate.with { gate in
            let token = try gate.token()
            let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
            let late = try gate.token()
            for (credential, target, texts) in [
                (
                    token, "tnt",
                    [
                        ">envelope</th><td class=\"passed\">", ">resource</th><td class=\"passed\">",
                        "revocations</th><td class=\"passed\">",
                    ]
                ),
                (
                    token, "tbs",
                    [
                        ">resource</th><td class=\"failed\">", "resource_mismatch",
                        "revocations</th><td class=\"skipped\">",
                    ]
                ),
                (
                    foreign, "tnt",
                    [">signature</th><td class=\"failed\">", ">fields</th><td class=\"skipped\">", "can be forged"]
                ),
                ("x", "tnt", [">envelope</th><td class=\"failed\">"]),
                (late, "none", ["No entry of the catalogue"]), (late, "trailer", ["demands no token"]),
            ] {
                let page = try gate.form(
                    to: "/ui/inspect",
                    fields: ["token": credential, "target": target],
                    headers: OperatorGate.reader
                )
                for text in texts { #expect(page.body.contains(text), "\(target): \(text)\n\(page.body)") }
                #expect(credential.count < 2 || !page.body.contains(credential))
            }
            #expect(try gate.metric("playgate_decision_duration_seconds_count") == 0)
            #expect(try gate.play(token: token).status == 200)
        }
    }

    @Test func `revokes after a confirmation, with the scope for it`() async throws {
        try await OperatorGate.with { gate in
            let token = try gate.token(GateSample.claims(session: "s1"))
            let revocation = ["subject": "sessionGUID", "id": "s1"]
            let refused = try gate.form(
                to: "/ui/revoke",
                fields: revocation.merging(["confirmed": "yes"]) { $1 },
                headers: OperatorGate.reader
            )
            #expect(refused.status == 403 && refused.body.contains("scope_missing"), "\(refused)")
            let confirmation = try gate.form(to: "/ui/revoke", fields: revocation, headers: OperatorGate.revoker)
            #expect(confirmation.status == 200 && confirmation.body.contains("Revoke?"))
            let wrong = try gate.form(
                to: "/ui/revoke",
                fields: ["subject": "all", "id": "s1"],
                headers: OperatorGate.revoker
            )
            #expect(wrong.status == 400)
            let malformed = try gate.form(
                to: "/ui/revoke",
                fields: ["subject": "playback", "id": "s1"],
                headers: OperatorGate.revoker
            )
            #expect(malformed.status == 400 && malformed.body.contains("32 hexadecimal digits"))
            // Nothing is revoked so far.
            #expect(try gate.play(token: token).status == 200)
            let other = try gate.token(GateSample.claims(session: "s1"))
            let done = try gate.form(
                to: "/ui/revoke",
                fields: revocation.merging(["confirmed": "yes"]) { $1 },
                headers: OperatorGate.revoker
            )
            #expect(done.status == 201, "\(done)")
            #expect(try gate.play(token: other).code == "session_revoked")
            #expect(try eventually { try gate.folder.text("log").contains("\"message\":\"revoked\"") })
            #expect(try !gate.folder.text("log").contains("\"s1\""))
        }
    }

    /// Configurations of the admin section that are refused.
    @Test(arguments: [
        ("keys: [{ name: a, sha256: \"00\", scopes: [read] }]", "must be a SHA-256 digest"),
        (
            "keys: [{ name: a, sha256: \"\(OperatorGate.digest("a"))\", scopes: [playback] }]",
            "playback is not a scope; known: read, revoke"
        ),
        ("keys: [{ name: a, sha256: \"\(OperatorGate.digest("a"))\" }]", "scopes is missing"),
        (
            "clientCertificates: [{ name: a, sha256: \"\(OperatorGate.digest("a"))\", scopes: [read] }]",
            "requires tls.authorities"
        ),
    ])
    func `refuses callers that make no sense`(admin: String, message: String) async throws {
        let text = RunningGate.configuration().replacing("admin: {", with: "admin: { \(admin),")
        let error = await #expect(throws: (any Error).self) { try await RunningGate.with(text) { _ in } }
        #expect("\(String(describing: error))".contains(message), "\(String(describing: error))")
        // A scope of the page is none of the API's.
        let key = "  keys: [{ name: a, sha256: \"\(OperatorGate.digest("a"))\", scopes: [read] }]\n"
        let other = await #expect(throws: (any Error).self) {
            try await RunningGate.with(RunningGate.configuration(api: key)) { _ in }
        }
        #expect("\(String(describing: other))".contains("read is not a scope"))
    }

    @Test func `opens with the callers of a reload, and closes without them`() async throws {
        try await RunningGate.with { gate in
            let without = try gate.folder.text("gate.yaml")
            _ = try gate.play("before")
            try gate.folder.write("gate.yaml", contents: without.replacing("admin: {", with: OperatorGate.keys))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.admin("GET", path: "/ui/state", headers: OperatorGate.reader).status == 200)
            let signedIn = try gate.form(to: "/ui/session", fields: ["key": OperatorGate.readKey])
            let session = ["Cookie": String(try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" })]
            _ = try gate.play("after")
            let state = try gate.admin("GET", path: "/ui/state", headers: session)
            // Nothing was kept while nobody could have seen it.
            let rows = try #require(state.json["decisions"] as? [[String: Any]])
            #expect(rows.map { $0["target"] as? String } == ["after"])
            try gate.folder.write("gate.yaml", contents: without)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.admin("GET", path: "/ui/state", headers: session).status == 401)
            #expect(try gate.admin("GET", path: "/ui/state", headers: OperatorGate.reader).status == 401)
        }
    }

    @Test func `has no page without callers, and says how to make one`() async throws {
        try await RunningGate.with { gate in
            let page = try gate.admin("GET", path: "/ui/sign-in")
            #expect(
                page.body.contains("playgate keys api NAME --scope read --scope revoke") && !page.body.contains("<form")
            )
            #expect(try gate.form(to: "/ui/session", fields: ["key": ""]).status == 401)
            #expect(try gate.admin("GET", path: "/ui/state", headers: ["Authorization": "Bearer "]).status == 401)
        }
    }
}

/// A gate with an operator page.
enum OperatorGate {
    static let readKey = "pg_read"
    static let revokeKey = "pg_revoke"
    static let reader = ["Authorization": "Bearer \(readKey)"]
    static let revoker = ["Authorization": "Bearer \(revokeKey)"]

    static func digest(_ key: String) -> String { SHA256.digest(key).hexadecimal }

    /// The beginning of a section `admin` with both keys.
    static let keys = """
        admin: { keys: [{ name: viewer, sha256: "\(digest(readKey))", scopes: [read] }, \
        { name: operator, sha256: "\(digest(revokeKey))", scopes: [read, revoke] }],
        """

    static func with(_ body: @escaping @Sendable (RunningGate) throws -> Void) async throws {
        try await RunningGate.with(RunningGate.configuration().replacing("admin: {", with: keys), body: body)
    }
}

extension RunningGate {
    /// Sends a form to the admin listener, as a browser on the operator page does.
    ///
    /// - Parameter isOwn: False to send no origin: `headers` may have another.
    func form(
        to path: String,
        fields: [String: String],
        headers: [String: String] = [:],
        isOwn: Bool = true
    ) throws -> HTTPConnection.Response {
        let body = fields.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
        var all = headers
        all["Content-Type"] = "application/x-www-form-urlencoded"
        if isOwn { all["Origin"] = "http://localhost" }
        return try HTTPConnection(admin).request("POST", path: path, headers: all, body: body, host: "localhost")
    }
}

extension [String: String] {
    /// The fields of a request that changes state.
    fileprivate var changing: Self { merging(["X-Playgate-Request": "test"]) { $1 } }
}
