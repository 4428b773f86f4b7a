// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `A login` {
    @Test func `inventory C, ADOBEPASS_REDIRECT_URL: goes to the provider's page and back to the application`()
        async throws
    {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            #expect(try device.get("/api/v2/REF30/profiles").json["profiles"] as? [String: String] == [:])
            let session = try device.session()
            #expect(session.json["actionName"] as? String == "authenticate")
            #expect(session.json["actionType"] as? String == "interactive")
            #expect(session.json["reasonType"] as? String == "none")
            #expect(session.json["notBefore"] as? String == "1925114645000")
            #expect(session.json["notAfter"] as? String == "1925116445000")
            let code = try #require(session.json["code"] as? String)
            #expect(code.count == 7)
            #expect(session.json["url"] as? String == "/api/v2/authenticate/REF30/\(code)")
            let begun = try sandbox.get("/api/v2/authenticate/REF30/\(code)")
            #expect(begun.status == 302)
            let page = try sandbox.get(begun.location)
            #expect(page.body.contains("Playgate sandbox: a test service, not a TV provider"))
            #expect(page.body.contains("<label for=\"username\">"))
            #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'self'") ?? false)
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.headers["referrer-policy"] == "no-referrer")
            #expect(page.headers["cache-control"] == "no-store")
            let wrong = try device.submit("alice", password: "bob", to: begun.location)
            #expect(wrong.status == 401)
            #expect(wrong.body.contains("role=\"alert\""))
            let ticket = try #require(wrong.body.hidden("ticket"))
            let done = try sandbox.form(
                to: "/sandbox/idp/login",
                fields: ["ticket": ticket, "username": "alice", "password": "alice"]
            )
            #expect(done.status == 302)
            #expect(done.location == "adobepass://ios.app")
            for path in ["profiles", "profiles/SandboxMVPD", "profiles/code/\(code)"] {
                let profiles = try device.get("/api/v2/REF30/\(path)").json["profiles"] as? [String: [String: Any]]
                let profile = try #require(profiles?["SandboxMVPD"])
                #expect(profile["type"] as? String == "regular")
                #expect(profile["issuer"] as? String == "SandboxMVPD")
                #expect(profile["notBefore"] as? Int == 1_925_114_645_000)
            }
        }
    }

    @Test func `begins directly where a viewer is logged in`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            let answer = try device.session().json
            #expect(answer["actionName"] as? String == "authorize")
            #expect(answer["actionType"] as? String == "direct")
            #expect(answer["reasonType"] as? String == "authenticated")
            #expect(answer["url"] as? String == "/api/v2/REF30/decisions/authorize/SandboxMVPD")
        }
    }

    @Test(
        "a second screen gives what the device could not (inventory E)",
        arguments: ["/api/v2/REF30/sessions/CODE", "/api/v2/sessions/REF30/CODE"]
    )
    func resume(path: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session(nil, redirect: nil)
            #expect(session.json["actionName"] as? String == "resume")
            #expect(session.json["missingParameters"] as? [String] == ["mvpd", "redirectUrl"])
            let code = try #require(session.json["code"] as? String)
            let path = path.replacing("CODE", with: code)
            let second = try sandbox.device("phone")
            let page = try second.get(path).json
            #expect(page["missingParameters"] as? [String] == ["mvpd", "redirectUrl"])
            #expect((page["existingParameters"] as? [String: String])?["domainName"] == "adobe.com")
            let resumed = try second.form(to: path, fields: ["mvpd": "DTV", "redirectUrl": "http://127.0.0.1:9/done"])
            #expect(resumed.json["actionName"] as? String == "authenticate")
            let url = try #require(resumed.json["url"] as? String)
            let done = try second.submit("alice", to: sandbox.get(url).location)
            #expect(done.location == "http://127.0.0.1:9/done")
            // The device is logged in, the phone is not.
            #expect(try device.get("/api/v2/REF30/profiles/DTV").body.contains("regular"))
            #expect(try second.get("/api/v2/REF30/profiles/DTV").json["profiles"] as? [String: String] == [:])
            #expect(try second.get("/api/v2/REF30/profiles/code/\(code)").body.contains("regular"))
        }
    }

    @Test func `that is given up leads back without a profile`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let url = try device.session().json["url"] as? String ?? ""
            let page = try sandbox.get(sandbox.get(url).location).body
            #expect(page.contains("formaction=\"/sandbox/idp/cancel\""))
            let ticket = try #require(page.hidden("ticket"))
            // A client that only follows links does not cancel the login.
            #expect(try sandbox.get("/sandbox/idp/cancel?ticket=\(ticket)").status == 404)
            let answer = try sandbox.form(to: "/sandbox/idp/cancel", fields: ["ticket": ticket])
            #expect(answer.status == 302)
            #expect(answer.location == TestDevice.redirect)
            #expect(try device.get("/api/v2/REF30/profiles").json["profiles"] as? [String: String] == [:])
            #expect(try sandbox.get(url).status == 400)
        }
    }

    @Test func `inventory 15, 18: is for a registration code too`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let code = try device.code()
            #expect(try device.v1("/api/v1/checkauthn/\(code)").status == 403)
            let done = try device.submit("alice", to: sandbox.get(device.authenticateURL(code)).location)
            #expect(done.status == 302)
            #expect(done.location == TestDevice.redirect)
            #expect(try device.v1("/api/v1/checkauthn/\(code)").status == 200)
            #expect(try device.v1("/api/v1/checkauthn").status == 200)
            #expect(try device.v1("/api/v1/checkauthn/NOSUCH1").status == 404)
        }
    }

    @Test func `can be used once`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let url = try device.session().json["url"] as? String ?? ""
            let page = try sandbox.get(url).location
            let ticket = try #require(try sandbox.get(page).body.hidden("ticket"))
            let fields = ["ticket": ticket, "username": "alice", "password": "alice"]
            #expect(try sandbox.form(to: "/sandbox/idp/login", fields: fields).status == 302)
            // Replays of the form, of its page, and of the session's code.
            #expect(try sandbox.form(to: "/sandbox/idp/login", fields: fields).status == 400)
            #expect(try sandbox.get(page).status == 400)
            #expect(try sandbox.get(url).status == 400)
        }
    }

    @Test func `of twenty who send one page at once is finished by one`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let page = try sandbox.device().loginPage()
            let ticket = try #require(try sandbox.get(page).body.hidden("ticket"))
            let fields = ["ticket": ticket, "username": "alice", "password": "alice"]
            let answers = try concurrently(20) { _ in try sandbox.form(to: "/sandbox/idp/login", fields: fields) }
            #expect(answers.filter { $0.status == 302 }.count == 1)
            #expect(answers.filter { $0.status == 400 }.count == 19)
        }
    }

    @Test func `of two browsers is finished by one`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let url = try device.session().json["url"] as? String ?? ""
            let (first, second) = (try sandbox.get(url).location, try sandbox.get(url).location)
            let ticket = try #require(try sandbox.get(second).body.hidden("ticket"))
            #expect(try device.submit("alice", to: first).status == 302)
            // A second viewer who opens the same session cannot log in on the device.
            let late = try sandbox.form(
                to: "/sandbox/idp/login",
                fields: ["ticket": ticket, "username": "bob", "password": "bob"]
            )
            #expect(late.status == 400)
            #expect(try device.get("/api/v2/REF30/profiles").body.contains("\"household-1\""))
        }
    }

    /// The code is visible on a screen: it must not be sufficient to change the provider or the redirect URL.
    @Test func `stays with the provider and the redirect that it began with`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session().json
            let codes = [
                try #require(session["code"] as? String), try device.code(["mvpd": "SandboxMVPD"]), try device.code(),
            ]
            let saml = "/adobe-services/authenticate/saml?requestor_id=REF30&mso_id=DTV&reg_code="
            for code in codes {
                let page = try sandbox.get(device.authenticateURL(code)).location
                for url in [device.authenticateURL(code, mvpd: "DTV"), saml + code] {
                    #expect(try sandbox.get(url).status == 400)
                }
                let elsewhere = device.authenticateURL(code, redirect: "http://127.0.0.1:1/x")
                #expect(try sandbox.get(elsewhere).status == 302)
                #expect(try device.submit("alice", to: page).location == TestDevice.redirect)
                _ = try device.v1("/api/v1/logout", method: "DELETE")
            }
        }
    }

    @Test func `is only for providers of the requestor`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let code = try sandbox.form(
                to: "/reggie/v1/QUIET/regcode",
                fields: ["deviceId": device.name, "mvpd": "DTV"],
                headers: device.authorization
            )
            #expect(code.code == "unknown_integration")
            let json = ["Accept": "application/json"]
            let url =
                "/api/v1/authenticate?requestor_id=QUIET&mso_id=DTV&reg_code=\(try device.code(requestor: "QUIET"))"
            #expect(try sandbox.get(url, headers: json).code == "unknown_integration")
            let request = try device.v1("/api/v1/QUIET/profile-requests/PlatformMVPD")
            #expect(request.code == "unknown_integration")
            #expect(
                try device.v1("/api/v1/checkauthn", parameters: ["mso_id": "DTV", "requestor": "QUIET"]).code
                    == "unknown_integration"
            )
        }
    }

    @Test func `is over after half an hour`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let url = try device.session().json["url"] as? String ?? ""
            sandbox.advance(seconds: 1800)
            #expect(try sandbox.get(url).status == 400)
        }
    }

    @Test func `cannot be sent elsewhere by a second screen`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session().json
            let code = session["code"] as? String ?? ""
            let other = try sandbox.device("other")
            let moved = try other.form(
                to: "/api/v2/REF30/sessions/\(code)",
                fields: ["redirectUrl": "http://127.0.0.1:1/x"]
            )
            #expect(moved.status == 200)
            let done = try device.submit("alice", to: sandbox.get(session["url"] as? String ?? "").location)
            #expect(done.location == TestDevice.redirect)
            #expect(
                try other.form(to: "/api/v2/REF30/sessions/\(code)", fields: ["mvpd": "DTV"]).code
                    == "invalid_parameter_code"
            )
        }
    }
}

@Suite struct `A redirect` {
    static let refused = [
        "https://evil.example/", "http://evil.example/", "//evil.example/", "javascript:alert(1)",
        "javascript://127.0.0.1/%0aalert(1)", "data:text/html,x", "http://127.0.0.1@evil.example/",
        "http://127.0.0.1.evil.example/", "http://evil.example\\@127.0.0.1/", "http:///evil.example", "adobepass:x",
        "http://127.0.0.1\t.evil.example/", "\u{1}javascript://x", "/relative", "com.other.app://x",
    ]

    @Test("elsewhere is refused everywhere", arguments: refused)
    func elsewhere(url: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session(redirect: url)
            #expect(session.status == 400)
            #expect(session.code == "invalid_parameter_redirect_url")
            let logout = try device.get("/api/v2/REF30/logout/SandboxMVPD?redirectUrl=\(url.percentEncoded)")
            #expect(logout.code == "invalid_parameter_redirect_url")
            let code = try device.code()
            #expect(try sandbox.get(device.authenticateURL(code, redirect: url)).status == 400)
            #expect(try sandbox.get("/adobe-services/logout?redirect_url=\(url.percentEncoded)").status == 400)
        }
    }

    @Test(
        "to the application or this machine is followed",
        arguments: ["adobepass://ios.app", "http://127.0.0.1:8071/done?x=1", "http://localhost/", "https://[::1]:1/a"]
    )
    func here(url: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session(redirect: url).json
            let done = try device.submit("alice", to: sandbox.get(session["url"] as? String ?? "").location)
            #expect(done.location == url)
        }
    }

    @Test func `to the service itself has no host, whatever a client calls the service`() async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "mediaToken:",
            with: "hosts: [Evil.example]\nmediaToken:"
        )
        try await InProcessSandbox.withDevice(configuration) { (sandbox, device) throws in
            func begin(_ url: String) throws -> TestDevice.Response {
                try sandbox.send(
                    "POST",
                    path: "/api/v2/REF30/sessions",
                    headers: device.headers.merging(["Content-Type": "application/x-www-form-urlencoded"]) { $1 },
                    body: InProcessSandbox.query(["mvpd": "DTV", "domainName": "adobe.com", "redirectUrl": url]),
                    host: "evil.example"
                )
            }
            for (url, target) in [("http://evil.example/done?x=1", "/done?x=1"), ("http://evil.example", "/")] {
                let session = try begin(url).json
                let done = try device.submit("alice", to: sandbox.get(session["url"] as? String ?? "").location)
                #expect(done.status == 302)
                #expect(done.location == target)
                _ = try device.v1("/api/v1/logout", method: "DELETE")
            }
            for url in ["http://evil.example//other.example", "https://evil.example/", "http://other.example/"] {
                #expect(try begin(url).code == "invalid_parameter_redirect_url")
            }
        }
    }

    @Test func `to a registered address is followed for the application that registered it`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let url = "com.programmer.tv://done"
            let bearer = try sandbox.bearer(redirect: url)
            #expect(try TestDevice(sandbox: sandbox, name: "a", bearer: bearer).session(redirect: url).status == 200)
            #expect(try sandbox.device("b").session(redirect: url).code == "invalid_parameter_redirect_url")
        }
    }
}
