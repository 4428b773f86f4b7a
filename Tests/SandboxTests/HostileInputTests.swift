// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `Hostile input` {
    @Test(
        "of too many bytes is refused",
        arguments: [
            "/o/client/register", "/o/client/token", "/api/v2/REF30/sessions", "/sandbox/control", "/sandbox/idp/login",
            "/adobe-services/authorize", "/v2/sessions/DTV/a",
        ]
    )
    func oversized(path: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let body = String(repeating: "a", count: 256 * 1024 + 1)
            let type = ["Content-Type": "application/x-www-form-urlencoded"]
            let answer = try HTTPConnection.unlessClosed {
                try sandbox.send("POST", path: path, headers: type, body: body)
            }
            #expect(answer == nil || answer?.status == 413)
            #expect(try sandbox.get("/sandbox/keys").status == 200)
        }
    }

    @Test func `is refused in the words of whoever answers`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            for query in ["a=%", "%ff=1"] {
                #expect(try sandbox.get("/api/v1/checkauthn?\(query)").code == "bad_request")
                let v2 = try device.get("/api/v2/REF30/profiles?\(query)")
                #expect(v2.status == 400 && v2.json["status"] as? Int == 400)
                #expect(try sandbox.get("/api/v1/preauthorize?\(query)").anyCode == "bad_request")
                #expect(try sandbox.form(to: "/o/client/token?\(query)", fields: [:]).anyCode == "invalid_request")
                let legacy = try sandbox.form(to: "/adobe-services/authorize?\(query)", fields: [:])
                #expect(legacy.status == 400 && legacy.element("code") == "bad_request")
            }
            #expect(try device.get("/api/v2/REF30/profiles/%zz").status == 400)
        }
    }

    @Test("in names of devices is refused or left out", arguments: ["\u{1}", "a\u{FFFE}b"])
    func device(name: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let device = TestDevice(sandbox: sandbox, name: name, bearer: try sandbox.bearer())
            for path in ["/api/v1/checkauthn", "/api/v1/preauthorize"] {
                let answer = try device.v1(path, parameters: ["resource": "TNT"])
                #expect(answer.status == 400)
                #expect(answer.anyCode == "invalid_device_id")
            }
            let form = ["deviceId": name, "format": "xml"]
            let bearer = device.authorization
            let refused = try sandbox.form(to: "/reggie/v1/REF30/regcode", fields: form, headers: bearer)
            #expect(refused.status == 400)
            #expect(refused.anyCode == "invalid_device_id")
            let agent = bearer.merging(["User-Agent": "a\u{FFFE}b"]) { $1 }
            let made = try sandbox.form(
                to: "/reggie/v1/REF30/regcode",
                fields: ["deviceId": "d", "format": "xml"],
                headers: agent
            )
            #expect(made.status == 201)
        }
    }

    @Test func `in names of devices is not taken for other names`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            func profiles(_ bytes: [UInt8]) throws -> HTTPConnection.Response {
                let name = Data(bytes).base64EncodedString()
                return try device.get(
                    "/api/v2/REF30/profiles",
                    headers: ["AP-Device-Identifier": "fingerprint \(name)"]
                )
            }
            let other = Data([0xFF]).base64EncodedString()
            let fields = ["mvpd": "DTV", "domainName": "adobe.com", "redirectUrl": TestDevice.redirect]
            let header = ["AP-Device-Identifier": "fingerprint \(other)"]
            let session = try device.form(to: "/api/v2/REF30/sessions", fields: fields, headers: header).json
            _ = try device.submit("alice", to: sandbox.get(session["url"] as? String ?? "").location)
            #expect(try profiles([0xFF]).body.contains("DTV"))
            for bytes in [[0xFE], [0xFF, 0xFF], Array("\u{FFFD}".utf8)] as [[UInt8]] {
                #expect(try !profiles(bytes).body.contains("DTV"))
            }
        }
    }

    static let bodies = [
        "", "{", "[]", "null", "\"\"", #"{"resources":"TNT"}"#, #"{"resources":[1]}"#, #"{"resources":[]}"#,
        #"{"resources":[""]}"#, #"{"resources":["TNT"],"resources":["CNN"]}"#, #"{"resources":[null]}"#,
        String(repeating: "[", count: 100_000), #"{"resources":["\#(String(repeating: "x", count: 9000))"]}"#,
        #"{"resources":["a\u0000b"]}"#, #"{"resources":["<rss><channel/></rss>"]}"#,
        #"{"resources":["<!DOCTYPE rss [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><rss>&a;</rss>"]}"#,
    ]

    @Test("that is no list of resources is refused", arguments: bodies)
    func malformed(body: String) async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            for kind in ["authorize", "preauthorize"] {
                let answer = try sandbox.json(
                    to: "/api/v2/REF30/decisions/\(kind)/SandboxMVPD",
                    body: body,
                    headers: device.headers
                )
                #expect(answer.status == 400)
                #expect(answer.code == "invalid_parameter_resources")
            }
        }
    }

    @Test("in a form or a query is refused", arguments: ["a=%", "a=%4", "a=%zz", "%ff=1", "a=%c3%28"])
    func malformedForm(text: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let type = ["Content-Type": "application/x-www-form-urlencoded"]
            #expect(try sandbox.send("POST", path: "/o/client/token", headers: type, body: text).status == 400)
            #expect(try sandbox.get("/api/v1/config/REF30?\(text)").status == 400)
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
        }
    }

    @Test func `of too many fields is refused`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let query = (0..<300).map { "a\($0)=1" }.joined(separator: "&")
            #expect(try sandbox.get("/api/v1/config/REF30?\(query)").status == 400)
        }
    }

    @Test(
        "comes out of pages as text",
        arguments: [
            "/api/v2/authenticate/REF30/%3Cscript%3E", "/sandbox/idp/login?ticket=%22%3E%3Cscript%3E",
            "/adobe-services/authenticate/saml?requestor_id=%3Cscript%3E", "/%3Cscript%3E",
            "/api/v1/authenticate?requestor_id=%3Cscript%3E&mso_id=%3Cscript%3E",
        ]
    )
    func scripts(path: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answer = try sandbox.get(path)
            #expect(answer.status >= 400)
            #expect(!answer.body.contains("<script>"))
            #expect(answer.headers["playgate-sandbox"] == "stand-in")
        }
    }

    @Test func `in names of a configuration comes out of pages as text`() async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "displayName: Sandbox TV",
            with: "displayName: \"<script>alert('1')</script> & \\\"Co\\\"\""
        )
        try await InProcessSandbox.withDevice(configuration) { (sandbox, device) throws in
            let page = try sandbox.get(device.loginPage())
            #expect(
                page.body.contains("Log in to &lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;Co&quot;")
            )
            #expect(!page.body.contains("<script"))
        }
    }

    @Test func `in the Host header is not believed`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let answer = try sandbox.send(
                "GET",
                path: "/api/v2/NOBODY/profiles",
                headers: device.headers,
                host: "a\"><script>"
            )
            #expect(!answer.body.contains("<script>"))
        }
    }

    @Test func `is not found`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            for path in ["/nothing", "/api/v3/REF30/profiles", "/sandbox", "/..%2f..%2fetc/passwd", "/sandbox/../etc"] {
                let answer = try sandbox.get(path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.headers["playgate-sandbox"] == "stand-in")
            }
        }
    }

    @Test func `is not another's session`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let (mine, other) = (try sandbox.device("mine"), try sandbox.device("other"))
            // A code of one requestor is not valid for another.
            let code = try mine.session().json["code"] as? String ?? ""
            #expect(try mine.get("/api/v2/QUIET/sessions/\(code)").code == "invalid_parameter_code")
            #expect(try sandbox.get("/api/v2/authenticate/QUIET/\(code)").status == 400)
            // A device that has not logged in has no access to the profile of another.
            try mine.logIn("alice")
            #expect(try other.get("/api/v2/REF30/profiles").json["profiles"] as? [String: String] == [:])
            #expect(try other.v1("/api/v1/tokens/authn").status == 404)
            #expect(try mine.get("/api/v2/QUIET/profiles").json["profiles"] as? [String: String] == [:])
        }
    }
}

@Suite struct `A page of login by SAML` {
    @Test func `accepts each form once, and only with its session`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let code = try device.code()
            let begun = try sandbox.get(
                "/adobe-services/authenticate/saml?requestor_id=REF30&mso_id=DTV&reg_code=\(code)"
                    + "&redirect_url=https%3A%2F%2Fevil.example"
            )
            #expect(begun.status == 200)
            #expect(!begun.body.contains("evil.example"))
            #expect(!begun.body.contains("http-equiv"))
            let request = try #require(begun.body.hidden("SAMLRequest"))
            #expect(begun.body.hidden("RelayState") == code)
            let other = try device.code()
            #expect(
                try sandbox.form(to: "/sandbox/saml/idp", fields: ["SAMLRequest": request, "RelayState": other]).status
                    == 400
            )
            let form = try sandbox.form(to: "/sandbox/saml/idp", fields: ["SAMLRequest": request, "RelayState": code])
            let ticket = try #require(form.body.hidden("ticket"))
            let fields = ["ticket": ticket, "RelayState": code, "username": "alice", "password": "wrong"]
            let wrong = try sandbox.form(to: "/sandbox/saml/login", fields: fields)
            #expect(wrong.status == 401)
            #expect(try sandbox.form(to: "/sandbox/saml/login", fields: fields).status == 400)
            let again = try #require(wrong.body.hidden("ticket"))
            let done = try sandbox.form(
                to: "/sandbox/saml/login",
                fields: ["ticket": again, "RelayState": code, "username": "alice", "password": "alice"]
            )
            let response = ["SAMLResponse": try #require(done.body.hidden("SAMLResponse")), "RelayState": code]
            #expect(done.body.contains("/sp/saml/SAMLAssertionConsumer"))
            let consumer = "/sp/saml/SAMLAssertionConsumer"
            #expect(
                try sandbox.form(to: consumer, fields: ["SAMLResponse": request, "RelayState": code]).status == 400
            )
            #expect(try sandbox.form(to: consumer, fields: response).status == 200)
            #expect(try sandbox.form(to: consumer, fields: response).status == 400)
            #expect(try device.v1("/api/v1/tokens/authn").json["mvpd"] as? String == "DTV")
        }
    }
}
