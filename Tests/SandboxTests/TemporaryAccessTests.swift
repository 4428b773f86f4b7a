// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `Temporary access` {
    private static let identity = ["AP-TempPass-Identity": Data(#"{"email":"foo@bar.com"}"#.utf8).base64EncodedString()]

    @Test func `needs no login, and counts from the first authorization`() async throws {
        try await RunningSandbox.with { (sandbox) throws in
            let device = try sandbox.device()
            let session = try device.session("TempPass").json
            #expect(session["actionName"] as? String == "authorize")
            #expect(session["reasonType"] as? String == "temporary")
            sandbox.advance(seconds: 3600)
            let decision = try #require(try device.authorize("ESPN", "TempPass").list("decisions").first)
            #expect(decision["source"] as? String == "temppass")
            #expect(decision["authorized"] as? Bool == true)
            #expect(try device.get("/api/v2/REF30/profiles/TempPass").body.contains(#""type":"temporary""#))
            sandbox.advance(seconds: 599)
            #expect(try device.token("TNT", "TempPass") != nil)
            sandbox.advance(seconds: 1)
            #expect(try device.authorize("TNT", "TempPass").anyCode == "temporary_access_duration_limit_exceeded")
            #expect(
                try device.decide("preauthorize", ["TNT"], "TempPass").anyCode
                    == "temporary_access_duration_limit_exceeded"
            )
            let profile = try device.get("/api/v2/REF30/profiles/TempPass")
            #expect(profile.status == 403)
            #expect(profile.code == "temporary_access_duration_limit_exceeded")
            // Another device has its own.
            #expect(try sandbox.device("other").token("TNT", "TempPass") != nil)
        }
    }

    @Test func `of a promotion goes by the viewer, and by the number of resources`() async throws {
        try await RunningSandbox.with { (sandbox) throws in
            let (device, other) = (try sandbox.device(), try sandbox.device("other"))
            let mvpd = "PromotionalTempPass"
            #expect(try device.authorize("TNT", mvpd).anyCode == "invalid_header_identity_for_temporary_access")
            let wrong = ["AP-TempPass-Identity": "no Base64"]
            #expect(try device.authorize("TNT", mvpd, wrong).anyCode == "invalid_header_identity_for_temporary_access")
            #expect(try device.token("TNT", mvpd, Self.identity) != nil)
            #expect(try device.token("TBS", mvpd, Self.identity) != nil)
            #expect(try device.token("TNT", mvpd, Self.identity) != nil)
            #expect(
                try other.authorize("CNN", mvpd, Self.identity).anyCode == "temporary_access_resources_limit_exceeded"
            )
            sandbox.advance(seconds: 86_400)
            #expect(
                try sandbox.device("other").authorize("TNT", mvpd, Self.identity).anyCode
                    == "temporary_access_duration_limit_exceeded"
            )
        }
    }

    @Test func `of REST API v1 is the free preview`() async throws {
        try await RunningSandbox.with { (sandbox) throws in
            let device = try sandbox.device()
            func preview(_ fields: [String: String]) throws -> HTTPConnection.Response {
                try sandbox.form(
                    "/api/v1/authenticate/freepreview",
                    ["requestor_id": "REF30", "deviceId": device.name].merging(fields) { $1 },
                    headers: ["Authorization": "Bearer \(device.bearer)"]
                )
            }
            #expect(try preview(["mso_id": "TempPass"]).status == 204)
            #expect(try device.v1("/api/v1/checkauthn").status == 200)
            #expect(try device.v1("/api/v1/authorize", ["resource": "ESPN"]).status == 200)
            #expect(try device.v1("/api/v1/tokens/media", ["resource": "ESPN"]).status == 200)
            sandbox.advance(seconds: 600)
            #expect(try device.v1("/api/v1/authorize", ["resource": "ESPN"]).code == "authentication_session_expired")
            #expect(try preview(["mso_id": "TempPass"]).code == "authorization_denied_by_mvpd")
            #expect(try preview(["mso_id": "SandboxMVPD"]).code == "unknown_integration")
            #expect(try preview(["mso_id": "PromotionalTempPass"]).code == "bad_request")
            let data = ["mso_id": "PromotionalTempPass", "generic_data": #"{"email":"foo@bar.com"}"#]
            #expect(try preview(data).status == 204)
            #expect(try device.v1("/api/v1/authorize", ["resource": "TNT"]).status == 200)
            // The same viewer, whichever version of the API is asked.
            #expect(try device.token("TBS", "PromotionalTempPass", Self.identity) != nil)
            let denied = try device.v1("/api/v1/authorize", ["resource": "CNN"])
            #expect(denied.status == 403)
            #expect(denied.code == "authorization_denied_by_mvpd")
        }
    }
}
