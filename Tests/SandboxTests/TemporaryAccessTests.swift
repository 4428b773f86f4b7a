// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `Temporary access` {
    private static let identity = ["AP-TempPass-Identity": Data(#"{"email":"foo@bar.com"}"#.utf8).base64EncodedString()]

    @Test func `needs no login, and counts from the first authorization`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let session = try device.session("TempPass").json
            #expect(session["actionName"] as? String == "authorize")
            #expect(session["reasonType"] as? String == "temporary")
            sandbox.advance(seconds: 3600)
            let decision = try #require(try device.authorize("ESPN", mvpd: "TempPass").list("decisions").first)
            #expect(decision["source"] as? String == "temppass")
            #expect(decision["authorized"] as? Bool == true)
            #expect(try device.get("/api/v2/REF30/profiles/TempPass").body.contains(#""type":"temporary""#))
            sandbox.advance(seconds: 599)
            #expect(try device.token(for: "TNT", mvpd: "TempPass") != nil)
            sandbox.advance(seconds: 1)
            #expect(try device.authorize("TNT", mvpd: "TempPass").anyCode == "temporary_access_duration_limit_exceeded")
            #expect(
                try device.decide("preauthorize", resources: ["TNT"], mvpd: "TempPass").anyCode
                    == "temporary_access_duration_limit_exceeded"
            )
            let profile = try device.get("/api/v2/REF30/profiles/TempPass")
            #expect(profile.status == 403)
            #expect(profile.code == "temporary_access_duration_limit_exceeded")
            // Another device has its own temporary access.
            #expect(try sandbox.device("other").token(for: "TNT", mvpd: "TempPass") != nil)
        }
    }

    @Test func `of a promotion goes by the viewer, and by the number of resources`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let (device, other) = (try sandbox.device(), try sandbox.device("other"))
            let mvpd = "PromotionalTempPass"
            #expect(try device.authorize("TNT", mvpd: mvpd).anyCode == "invalid_header_identity_for_temporary_access")
            let wrong = ["AP-TempPass-Identity": "no Base64"]
            #expect(
                try device.authorize("TNT", mvpd: mvpd, headers: wrong).anyCode
                    == "invalid_header_identity_for_temporary_access"
            )
            #expect(try device.token(for: "TNT", mvpd: mvpd, headers: Self.identity) != nil)
            #expect(try device.token(for: "TBS", mvpd: mvpd, headers: Self.identity) != nil)
            #expect(try device.token(for: "TNT", mvpd: mvpd, headers: Self.identity) != nil)
            #expect(
                try other.authorize("CNN", mvpd: mvpd, headers: Self.identity).anyCode
                    == "temporary_access_resources_limit_exceeded"
            )
            sandbox.advance(seconds: 86_400)
            #expect(
                try sandbox.device("other").authorize("TNT", mvpd: mvpd, headers: Self.identity).anyCode
                    == "temporary_access_duration_limit_exceeded"
            )
        }
    }

    @Test func `is used up once by many at once, and not by what cannot be had`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let mvpd = "PromotionalTempPass"
            // The resource is too long for a media token, in which it is twice as long.
            let long = String(repeating: "&", count: 3000)
            for resource in [long + "1", long + "2"] {
                let answer = try device.authorize(resource, mvpd: mvpd, headers: Self.identity)
                #expect(answer.status == 400 && answer.code == "invalid_parameter_resources", "\(answer.body)")
            }
            let answers = try concurrently(20) {
                try device.authorize("CHANNEL\($0)", mvpd: mvpd, headers: Self.identity)
            }
            #expect(answers.filter { $0.anyCode == nil }.count == 2)
            #expect(answers.filter { $0.anyCode == "temporary_access_resources_limit_exceeded" }.count == 18)
        }
    }

    @Test func `stays used up after the time that it is long`() async throws {
        let configuration = InProcessSandbox.configuration(replacing: "duration: 1d", with: "duration: 60d")
        try await InProcessSandbox.withDevice(configuration) { (sandbox, device) throws in
            let mvpd = "PromotionalTempPass"
            #expect(try device.token(for: "TNT", mvpd: mvpd, headers: Self.identity) != nil)
            #expect(try device.token(for: "TBS", mvpd: mvpd, headers: Self.identity) != nil)
            sandbox.advance(seconds: 50 * 86_400)
            let later = try sandbox.device()
            // A new record triggers the removal of expired records.
            #expect(try later.token(for: "TNT", mvpd: "TempPass") != nil)
            #expect(
                try later.authorize("CNN", mvpd: mvpd, headers: Self.identity).anyCode
                    == "temporary_access_resources_limit_exceeded"
            )
            sandbox.advance(seconds: 20 * 86_400)
            let last = try sandbox.device()
            #expect(
                try last.authorize("TNT", mvpd: mvpd, headers: Self.identity).anyCode
                    == "temporary_access_duration_limit_exceeded"
            )
        }
    }

    @Test func `of REST API v1 counts from the first authorization, and wins over an older login`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            func preview() throws -> Int {
                try sandbox.form(
                    to: "/api/v1/authenticate/freepreview",
                    fields: ["requestor_id": "REF30", "deviceId": device.name, "mso_id": "TempPass"],
                    headers: device.authorization
                ).status
            }
            #expect(try preview() == 204)
            sandbox.advance(seconds: 3600)
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).status == 200)
            sandbox.advance(seconds: 300)
            try device.logInByCode("bob")
            #expect(try device.v1("/api/v1/tokens/authn").json["mvpd"] as? String == "SandboxMVPD")
            #expect(try preview() == 204)
            #expect(try device.v1("/api/v1/tokens/authn").json["mvpd"] as? String == "TempPass")
            // The request gets the named authentication, or a valid one if none is named.
            let named = try device.v1("/api/v1/tokens/authn", parameters: ["mso_id": "SandboxMVPD"])
            #expect(named.json["mvpd"] as? String == "SandboxMVPD")
            sandbox.advance(seconds: 300)
            #expect(try device.v1("/api/v1/tokens/authn").json["mvpd"] as? String == "SandboxMVPD")
            let gone = try device.v1("/api/v1/tokens/authn", parameters: ["mso_id": "TempPass"])
            #expect(gone.code == "authentication_session_issuer_mismatch")
            #expect(try preview() == 403)
        }
    }

    @Test func `of REST API v1 is the free preview`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            func preview(_ fields: [String: String]) throws -> HTTPConnection.Response {
                try sandbox.form(
                    to: "/api/v1/authenticate/freepreview",
                    fields: ["requestor_id": "REF30", "deviceId": device.name].merging(fields) { $1 },
                    headers: device.authorization
                )
            }
            #expect(try preview(["mso_id": "TempPass"]).status == 204)
            #expect(try device.v1("/api/v1/checkauthn").status == 200)
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "ESPN"]).status == 200)
            #expect(try device.v1("/api/v1/tokens/media", parameters: ["resource": "ESPN"]).status == 200)
            sandbox.advance(seconds: 600)
            #expect(
                try device.v1("/api/v1/authorize", parameters: ["resource": "ESPN"]).code
                    == "authentication_session_expired"
            )
            #expect(try preview(["mso_id": "TempPass"]).code == "authorization_denied_by_mvpd")
            #expect(try preview(["mso_id": "SandboxMVPD"]).code == "unknown_integration")
            #expect(try preview(["mso_id": "PromotionalTempPass"]).code == "bad_request")
            let data = ["mso_id": "PromotionalTempPass", "generic_data": #"{"email":"foo@bar.com"}"#]
            #expect(try preview(data).status == 204)
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).status == 200)
            // The viewer is the same in both versions of the API.
            #expect(try device.token(for: "TBS", mvpd: "PromotionalTempPass", headers: Self.identity) != nil)
            let denied = try device.v1("/api/v1/authorize", parameters: ["resource": "CNN"])
            #expect(denied.status == 403)
            #expect(denied.code == "authorization_denied_by_mvpd")
        }
    }
}
