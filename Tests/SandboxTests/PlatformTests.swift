// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `Sign-on by a platform` {
    private static let status = [
        "AP-Partner-Framework-Status": Data(
            """
            {"frameworkPermissionInfo":{"accessStatus":"granted"},
            "frameworkProviderInfo":{"id":"platform-tv","expirationDate":"1999999999999"}}
            """.utf8
        ).base64EncodedString()
    ]

    private static func signIn(to sandbox: InProcessSandbox, as user: String = "alice") throws -> String {
        let answer = try sandbox.form(
            to: "/sandbox/platform/sign-in",
            fields: ["mvpd": "PlatformMVPD", "username": user, "password": user]
        )
        #expect(answer.status == 200)
        return answer.json["SAMLResponse"] as? String ?? ""
    }

    @Test func `inventory D: gives a profile without a login of the application`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let begun = try device.form(to: "/api/v2/REF30/sessions/sso/Apple", fields: [:], headers: Self.status).json
            #expect(begun["actionName"] as? String == "partner_profile")
            #expect(begun["actionType"] as? String == "direct")
            #expect((begun["authenticationRequest"] as? [String: Any])?["type"] as? String == "SAML")
            let saml = try Self.signIn(to: sandbox)
            let path = "/api/v2/REF30/profiles/sso/Apple"
            let answer = try device.form(to: path, fields: ["SAMLResponse": saml], headers: Self.status)
            #expect(answer.status == 201)
            let profile = (answer.json["profiles"] as? [String: [String: Any]])?["PlatformMVPD"]
            #expect(profile?["type"] as? String == "appleSSO")
            #expect(profile?["issuer"] as? String == "Apple")
            #expect(try device.token(for: "TNT", mvpd: "PlatformMVPD") != nil)
            #expect(try device.session("PlatformMVPD").json["reasonType"] as? String == "authenticatedSSO")
            #expect(
                try device.form(to: path, fields: ["SAMLResponse": saml], headers: Self.status).code
                    == "invalid_parameter_saml_response"
            )
            let action = try device.logOut("PlatformMVPD")
            #expect(action["actionName"] as? String == "partner_logout")
            #expect(action["actionType"] as? String == "partner_interactive")
        }
    }

    @Test func `inventory D: of REST API v1 exchanges what the platform says`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let request = try device.v1("/api/v1/REF30/profile-requests/PlatformMVPD")
            #expect(request.status == 200)
            #expect(request.body.hasPrefix("<samlp:AuthnRequest"))
            #expect(try device.v1("/api/v1/REF30/profile-requests/DTV").code == "unknown_integration")
            func exchange(_ saml: String) throws -> HTTPConnection.Response {
                try sandbox.form(
                    to: "/api/v1/tokens/authn",
                    fields: ["requestor_id": "REF30", "deviceId": device.name, "SAMLResponse": saml],
                    headers: device.authorization
                )
            }
            let saml = try Self.signIn(to: sandbox, as: "bob")
            #expect(try exchange("x").status == 400)
            #expect(try exchange(saml).status == 204)
            #expect(try exchange(saml).status == 400)
            #expect(try device.v1("/api/v1/tokens/authn").json["mvpd"] as? String == "PlatformMVPD")
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).status == 200)
        }
    }

    @Test(
        "inventory E: falls back to a login where the platform cannot",
        arguments: [("denied", "platform-tv", "pfs_fallback"), ("granted", "unknown", "configuration_fallback")]
    )
    func fallback(access: String, id: String, reason: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let status = """
                {"frameworkPermissionInfo":{"accessStatus":"\(access)"},
                "frameworkProviderInfo":{"id":"\(id)","expirationDate":"1999999999999"}}
                """
            let header = ["AP-Partner-Framework-Status": Data(status.utf8).base64EncodedString()]
            let fields = ["mvpd": "DTV", "domainName": "adobe.com", "redirectUrl": TestDevice.redirect]
            let device = try sandbox.device()
            let answer = try device.form(to: "/api/v2/REF30/sessions/sso/Apple", fields: fields, headers: header).json
            #expect(answer["actionName"] as? String == "authenticate")
            #expect(answer["reasonType"] as? String == reason)
            let missing = try device.form(
                to: "/api/v2/REF30/sessions/sso/Apple",
                fields: ["mvpd": "DTV"],
                headers: header
            ).json
            #expect(missing["reasonType"] as? String == "missing_parameters_fallback")
        }
    }

    @Test func `is for those who are signed in`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let wrong = ["mvpd": "PlatformMVPD", "username": "alice", "password": "bob"]
            #expect(try sandbox.form(to: "/sandbox/platform/sign-in", fields: wrong).status == 401)
            let other = ["mvpd": "DTV", "username": "alice", "password": "alice"]
            #expect(try sandbox.form(to: "/sandbox/platform/sign-in", fields: other).status == 400)
        }
    }
}
