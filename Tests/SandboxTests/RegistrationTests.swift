// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `Client registration` {
    @Test func `inventory 1: registers an application by its software statement`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answer = try sandbox.json(
                to: "/o/client/register",
                body:
                    #"{"software_statement":"\#(InProcessSandbox.statement)","redirect_uri":"adobepass://com.programmer"}"#
            )
            #expect(answer.status == 201)
            #expect(answer.json["redirect_uris"] as? [String] == ["adobepass://com.programmer"])
            #expect(answer.json["grant_types"] as? [String] == ["client_credentials"])
            #expect(answer.json["scopes"] as? [String] == ["api:client:v2"])
            #expect(answer.json["client_id_issued_at"] as? Int == 1_925_114_645)
            let token = try sandbox.form(
                to: "/o/client/token",
                fields: [
                    "grant_type": "client_credentials", "client_id": answer.json["client_id"] as? String ?? "",
                    "client_secret": answer.json["client_secret"] as? String ?? "",
                ]
            )
            #expect(token.status == 201)
            #expect(token.json["expires_in"] as? Int == 21_600)
            #expect(token.json["token_type"] as? String == "bearer")
            #expect((token.json["access_token"] as? String)?.count == 64)
            #expect(token.json["created_at"] as? Int == 1_925_114_645_000)
        }
    }

    @Test(arguments: [
        (#"{}"#, "invalid_request"),
        (#"not JSON"#, "invalid_request"),
        (#"{"software_statement":7}"#, "invalid_request"),
        (#"{"software_statement":"a.b"}"#, "invalid_software_statement"),
        (#"{"software_statement":"YQ.YQ.YQ"}"#, "invalid_software_statement"),
        (#"{"software_statement":"STATEMENT","redirect_uri":"javascript://x"}"#, "invalid_redirect_uri"),
        (#"{"software_statement":"STATEMENT","redirect_uri":"https://evil.example"}"#, "invalid_redirect_uri"),
        (#"{"software_statement":"STATEMENT","redirect_uri":"data:text/html,x"}"#, "invalid_redirect_uri"),
        (#"{"software_statement":"OLD"}"#, "unapproved_software_statement"),
    ])
    func `refuses what is no application`(body: String, error: String) async throws {
        let old = InProcessSandbox.statement(#"{"sub":"old"}"#)
        let configuration = InProcessSandbox.configuration(
            replacing: "  - id: QUIET\n",
            with: "  - id: QUIET\n    unapprovedSoftwareStatements: [\"\(old)\"]\n"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            let text = body.replacing("STATEMENT", with: InProcessSandbox.statement).replacing("OLD", with: old)
            let answer = try sandbox.json(to: "/o/client/register", body: text)
            #expect(answer.status == 400)
            #expect(answer.json["error"] as? String == error)
        }
    }

    @Test(arguments: [
        (["grant_type": "password"], "unsupported_grant_type"),
        ([:], "invalid_request"),
        (["grant_type": "client_credentials"], "invalid_request"),
        (["grant_type": "client_credentials", "client_id": "a", "client_secret": "b"], "invalid_client"),
    ])
    func `refuses a token`(fields: [String: String], error: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answer = try sandbox.form(to: "/o/client/token", fields: fields)
            #expect(answer.status == 400)
            #expect(answer.json["error"] as? String == error)
        }
    }

    @Test func `gives an access token for six hours`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            #expect(try device.get("/api/v2/REF30/profiles").status == 200)
            sandbox.advance(seconds: 21_599)
            #expect(try device.get("/api/v2/REF30/profiles").status == 200)
            sandbox.advance(seconds: 1)
            let answer = try device.get("/api/v2/REF30/profiles")
            #expect(answer.status == 401)
            #expect(answer.code == "invalid_access_token_client_application")
            #expect(answer.json["action"] as? String == "application-registration")
            #expect(try device.v1("/api/v1/checkauthn").status == 401)
        }
    }

    @Test func `binds an application to the requestor that its statement names`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let bearer = try sandbox.bearer(statement: InProcessSandbox.statement(#"{"aud":["QUIET"]}"#))
            let device = TestDevice(sandbox: sandbox, name: "device", bearer: bearer)
            #expect(try device.get("/api/v2/QUIET/profiles").status == 200)
            let answer = try device.get("/api/v2/REF30/profiles")
            #expect(answer.status == 401)
            #expect(answer.code == "invalid_access_token_service_provider")
            #expect(try device.v1("/api/v1/checkauthn").status == 401)
        }
    }

    @Test func `accepts only listed statements where a requestor lists them`() async throws {
        let own = InProcessSandbox.statement(#"{"sub":"own"}"#)
        let configuration = InProcessSandbox.configuration(
            replacing: "  - id: QUIET\n",
            with: "  - id: QUIET\n    softwareStatements: [\"\(own)\"]\n"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            let (mine, other) = (try sandbox.bearer(statement: own), try sandbox.bearer())
            #expect(
                try TestDevice(sandbox: sandbox, name: "d", bearer: mine).get("/api/v2/QUIET/profiles").status == 200
            )
            let refused = try TestDevice(sandbox: sandbox, name: "d", bearer: other).get("/api/v2/QUIET/profiles")
            #expect(refused.code == "invalid_access_token_service_provider")
        }
    }
}
