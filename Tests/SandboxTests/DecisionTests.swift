// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@Suite struct `A decision` {
    /// The code of a denial, or `nil`, for a viewer, a provider and a resource.
    static let verdicts: [(user: String, mvpd: String, resource: String, code: String?)] = [
        ("alice", "SandboxMVPD", "TNT", nil),
        ("alice", "SandboxMVPD", "CNN", nil),
        ("alice", "SandboxMVPD", "ESPN", "authorization_denied_by_mvpd"),
        ("alice", "SandboxMVPD", "tnt", "authorization_denied_by_mvpd"),
        ("alice", "SandboxMVPD", Fragment.film, nil),
        ("alice", "SandboxMVPD", Fragment.rated("TV-MA"), nil),
        ("bob", "SandboxMVPD", "TNT", nil),
        ("bob", "SandboxMVPD", "CNN", "authorization_denied_by_mvpd"),
        ("bob", "SandboxMVPD", Fragment.film, "authorization_denied_by_mvpd"),
        ("bob", "SandboxMVPD", Fragment.rated("TV-PG"), nil),
        ("bob", "SandboxMVPD", Fragment.rated("TV-14"), "authorization_denied_by_parental_controls"),
        ("carol", "SandboxMVPD", Fragment.rated("TV-14"), nil),
        ("carol", "SandboxMVPD", Fragment.rated("TV-MA"), "authorization_denied_by_parental_controls"),
        ("carol", "SandboxMVPD", Fragment.film, "authorization_denied_by_parental_controls"),
        ("bob", "Cablevision", Fragment.rated("TV-MA"), nil),
        ("alice", "Cablevision", Fragment.film, nil),
        ("bob", "Cablevision", "CNN", "authorization_denied_by_mvpd"),
    ]

    @Test("inventory 42, 43: goes by packages and ratings", arguments: verdicts)
    func verdict(_ expected: (user: String, mvpd: String, resource: String, code: String?)) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logIn(expected.user, mvpd: expected.mvpd)
            let answer = try device.authorize(expected.resource, mvpd: expected.mvpd)
            #expect(answer.status == 200)
            let decision = try #require(answer.list("decisions").first)
            #expect(decision["resource"] as? String == expected.resource)
            #expect(decision["authorized"] as? Bool == (expected.code == nil))
            #expect(decision["source"] as? String == "mvpd")
            #expect(answer.anyCode == expected.code)
            let pre = try device.decide("preauthorize", resources: [expected.resource], mvpd: expected.mvpd)
            let code =
                expected.code == "authorization_denied_by_mvpd" ? "preauthorization_denied_by_mvpd" : expected.code
            #expect(pre.anyCode == code)
            #expect(pre.list("decisions").first?["token"] == nil)
            guard expected.code == nil else { return }
            let token = try #require(decision["token"] as? [String: Any])
            #expect(token["notAfter"] as? Int == 1_925_115_065_000)
            #expect(decision["notAfter"] as? Int == 1_925_136_245_000)
            let verification = try sandbox.verify(
                token["serializedToken"] as? String ?? "",
                resource: expected.resource
            )
            #expect(verification.status == .validToken)
            #expect(verification.token?.mvpdID == expected.mvpd)
            #expect(verification.token?.proxyMVPDID == (expected.mvpd == "Cablevision" ? "SandboxProxy" : nil))
            #expect(verification.token?.resourceID == expected.resource)
            #expect(verification.token?.userSessionGUID.utf8.count == 32)
        }
    }

    @Test func `inventory 27, 28: is one for each resource of the request, up to five`() async throws {
        try await InProcessSandbox.withDevice(user: "bob") { (sandbox, device) throws in
            let answer = try device.decide("preauthorize", resources: ["TNT", "TBS", "CNN", "HBO", "ESPN"])
            #expect(answer.list("decisions").map { $0["authorized"] as? Bool } == [true, true, false, false, false])
            let many = try device.decide("preauthorize", resources: ["1", "2", "3", "4", "5", "6"])
            #expect(many.status == 403)
            #expect(many.code == "too_many_resources")
            #expect(try device.decide("authorize", resources: ["TNT", "TBS"]).code == "too_many_resources")
        }
    }

    @Test func `says why only where the requestor wants it`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logIn("bob", requestor: "QUIET")
            let answer = try device.decide("preauthorize", resources: ["CNN"], requestor: "QUIET")
            #expect(answer.list("decisions").first?["authorized"] as? Bool == false)
            #expect(answer.anyCode == nil)
        }
    }

    @Test func `brings a new token each time, and the viewer's own GUID`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            let first = try #require(try device.token(for: "TNT"))
            sandbox.advance(seconds: 1)
            let second = try #require(try device.token(for: "TNT"))
            #expect(first != second)
            let other = try sandbox.device("tablet")
            try other.logIn("bob")
            let guids = try [first, second, try #require(try other.token(for: "TNT"))].map {
                try sandbox.verify($0, resource: "TNT").token?.userSessionGUID
            }
            #expect(guids[0] == guids[1])
            #expect(guids[0] != guids[2])
        }
    }

    @Test func `is none for those who are not logged in, or not any more`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            #expect(try device.authorize("TNT").anyCode == "authenticated_profile_missing")
            try device.logIn("alice")
            #expect(try device.authorize("TNT").anyCode == nil)
            // Another requestor and another device have no authentication.
            #expect(
                try device.decide("authorize", resources: ["TNT"], requestor: "QUIET").anyCode
                    == "authenticated_profile_missing"
            )
            #expect(try sandbox.device("other").authorize("TNT").anyCode == "authenticated_profile_missing")
            try sandbox.control(#"{"expireAuthentication":true}"#)
            let answer = try device.authorize("TNT")
            #expect(answer.anyCode == "authenticated_profile_expired")
            #expect(
                (answer.list("decisions").first?["error"] as? [String: Any])?["action"] as? String == "authentication"
            )
            try device.logIn("alice")
            #expect(try device.authorize("TNT").anyCode == nil)
        }
    }

    @Test func `is for the login that it was made for`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            #expect(try device.token(for: "CNN") != nil)
            #expect(try device.v1("/api/v1/tokens/media", parameters: ["resource": "CNN"]).status == 200)
            // A degradation rule that authenticates every viewer replaces the identity of the viewer.
            try sandbox.control(#"{"degradation":[{"requestor":"REF30","mvpd":"SandboxMVPD","rule":"authNAll"}]}"#)
            #expect(
                try device.v1("/api/v1/tokens/media", parameters: ["resource": "CNN"]).code == "authorization_not_found"
            )
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "ESPN"]).status == 200)
            try sandbox.control(#"{"degradation":[]}"#)
            #expect(
                try device.v1("/api/v1/tokens/media", parameters: ["resource": "ESPN"]).code
                    == "authorization_not_found"
            )
            #expect(try device.v1("/api/v1/tokens/media", parameters: ["resource": "CNN"]).status == 200)
        }
    }

    @Test(
        "follows a rule of degradation",
        arguments: [
            ("authNAll", false, true, "degradation"), ("authZAll", true, true, "degradation"),
            ("authZAll", false, false, "mvpd"), ("authZNone", true, false, "degradation"),
        ]
    )
    func degradation(rule: String, isLoggedIn: Bool, isAllowed: Bool, source: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            if isLoggedIn { try device.logIn("bob") }
            try sandbox.control(#"{"degradation":[{"requestor":"REF30","mvpd":"SandboxMVPD","rule":"\#(rule)"}]}"#)
            let decision = try #require(try device.authorize("ESPN").list("decisions").first)
            #expect(decision["authorized"] as? Bool == isAllowed)
            #expect(decision["source"] as? String == source)
            if rule == "authZNone" {
                #expect(try device.authorize("ESPN").anyCode == "authorization_denied_by_degradation_rule")
            }
            if rule == "authNAll" {
                #expect(try device.session().json["reasonType"] as? String == "degraded")
                let profile = try device.get("/api/v2/REF30/profiles/SandboxMVPD").body
                #expect(profile.contains(#""type":"degraded""#))
                #expect(try device.v1("/api/v1/checkauthn", parameters: ["mso_id": "SandboxMVPD"]).status == 200)
            }
        }
    }
}

@Suite struct `A logout` {
    @Test func `inventory 26, H: ends the login and goes through the provider's page`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            let logout = try device.logOut()
            #expect(logout["actionName"] as? String == "logout")
            #expect(logout["actionType"] as? String == "interactive")
            let first = try sandbox.get(try #require(logout["url"] as? String))
            #expect(first.status == 302)
            let second = try sandbox.get(first.location)
            #expect(second.status == 302)
            #expect(second.location == "adobepass://ios.app")
            #expect(try sandbox.get(first.location).status == 400)
            #expect(try device.authorize("TNT").anyCode == "authenticated_profile_missing")
        }
    }

    @Test(
        "inventory 26: says what else there is to do",
        arguments: [
            ("Cablevision", true, "complete"), ("SandboxMVPD", false, "invalid"), ("TempPass", false, "complete"),
        ]
    )
    func action(mvpd: String, isLoggedIn: Bool, action: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            if isLoggedIn { try device.logIn("alice", mvpd: mvpd) }
            for (path, action) in [("REF30/logout", action), ("logout/REF30", isLoggedIn ? "invalid" : action)] {
                let logout = try device.logOut(mvpd, path: path)
                #expect(logout["actionName"] as? String == action)
                #expect(logout["actionType"] as? String == "none")
                #expect(logout["url"] == nil)
            }
        }
    }

    @Test func `inventory 26: of REST API v1 has no body`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logInByCode("alice")
            #expect(try device.v1("/api/v1/checkauthn").status == 200)
            let answer = try device.v1("/api/v1/logout", method: "DELETE", without: "requestor")
            #expect(answer.status == 204)
            #expect(answer.body.isEmpty)
            #expect(try device.v1("/api/v1/checkauthn").status == 403)
            #expect(try device.v1("/api/v1/logout", method: "DELETE", without: "deviceId").code == "invalid_device_id")
        }
    }

    @Test func `H: of the native SDKs is by redirects`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            let first = try sandbox.get(
                "/adobe-services/logout?requestor_id=REF30&mso_id=SandboxMVPD&redirect_url=adobepass%3A%2F%2Fios.app",
                headers: ["Ap_21": device.name]
            )
            #expect(first.status == 302)
            #expect(try sandbox.get(first.location).location == "adobepass://ios.app")
            #expect(try device.authorize("TNT").anyCode == "authenticated_profile_missing")
        }
    }
}
