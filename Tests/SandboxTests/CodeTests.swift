// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import GateTestSupport
import Sandbox
import Testing

/// A documented code of one of the APIs.
struct CodeCase: CustomTestStringConvertible, Sendable {
    let code: StatusCode
    let origin: StatusCode.Origin

    var testDescription: String { "\(origin.rawValue): \(code.rawValue)" }

    static let all = [StatusCode.Origin.v1, .v2].flatMap { origin in
        StatusCode.allCases.filter { $0.documentation(origin) != nil }.map { CodeCase(code: $0, origin: origin) }
    }
}

@Suite struct `Every code` {
    @Test func `has a case`() { #expect(CodeCase.all.count >= 60) }

    @Test("comes on demand, with its action and status", arguments: CodeCase.all)
    func onDemand(_ expected: CodeCase) async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            let code = expected.code.rawValue
            #expect(
                try sandbox.control(#"{"faults":[{"on":"any","code":"\#(code)","details":"Say this.","times":3}]}"#)
                    .status == 204
            )
            let documentation = try #require(expected.code.documentation(expected.origin))
            let answers =
                switch expected.origin {
                case .v2:
                    [
                        try device.authorize("TNT"), try device.decide("preauthorize", resources: ["TNT", "TBS"]),
                        try device.get("/api/v2/REF30/profiles"),
                    ]
                default:
                    [
                        try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"], accept: "application/xml"),
                        try device.v1("/api/v1/preauthorize", parameters: ["resource": "TNT"]),
                        try device.v1("/api/v1/tokens/authn"),
                    ]
                }
            for answer in answers {
                #expect(answer.anyCode == code, "\(answer.body)")
                let error = try Self.error(answer)
                #expect(documentation.statuses.contains(error.status))
                #expect(error.action == documentation.action)
                #expect(error.details == "Say this.")
                #expect(error.message?.isEmpty == false)
                #expect(error.trace?.count == 36)
                #expect(error.helpURL == "\(sandbox.url)/sandbox/errors#\(code)")
                // A top-level error also has its status in HTTP. An error of one resource is in a successful response.
                let isOfOneResource = !answer.list("decisions").isEmpty || !answer.list("resources").isEmpty
                #expect(answer.status == (isOfOneResource ? 200 : error.status))
            }
            // The fault occurs once.
            #expect(try device.authorize("TNT").anyCode == nil)
        }
    }

    private static func error(_ answer: HTTPConnection.Response) throws -> Status {
        if answer.body.hasPrefix("<") { return try Status(xml: [UInt8](answer.body.utf8)) }
        let bytes = [UInt8](answer.body.utf8)
        if answer.json["decisions"] != nil {
            let error = try EntitlementBody.read(AuthorizationDecisions.self, json: bytes).decisions.first?.error
            return try #require(error)
        }
        if answer.json["resources"] != nil {
            let body = try EntitlementBody.read(PreauthorizeResponse.self, json: bytes)
            return try #require(body.status ?? body.decisions.first?.error)
        }
        return try EntitlementBody.read(Status.self, json: bytes)
    }

    @Test func `is explained on the page about codes`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let page = try sandbox.get("/sandbox/errors")
            #expect(page.status == 200)
            for code in StatusCode.allCases {
                #expect(page.body.contains("id=\"\(code.rawValue)\""))
                #expect(!page.body.contains("<dd>\(code.rawValue)<"), "\(code) has no explanation")
            }
        }
    }
}

/// A code that occurs without a fault, and the request that causes it.
struct OrganicCode: CustomTestStringConvertible, Sendable {
    let code: String
    let provoke: @Sendable (TestDevice) throws -> HTTPConnection.Response

    init(_ code: String, provoke: @escaping @Sendable (TestDevice) throws -> HTTPConnection.Response) {
        self.code = code
        self.provoke = provoke
    }

    var testDescription: String { code }

    private static func platform(
        by device: TestDevice,
        status: String?,
        saml: String = "x"
    ) throws -> HTTPConnection.Response {
        let header = status.map { ["AP-Partner-Framework-Status": Data($0.utf8).base64EncodedString()] } ?? [:]
        return try device.form(to: "/api/v2/REF30/profiles/sso/Apple", fields: ["SAMLResponse": saml], headers: header)
    }

    private static func status(
        _ access: String,
        id: String = "platform-tv",
        expires: Int64 = 1_999_999_999_999
    ) -> String {
        """
        {"frameworkPermissionInfo":{"accessStatus":"\(access)"},\
        "frameworkProviderInfo":{"id":"\(id)","expirationDate":"\(expires)"}}
        """
    }

    static let all: [OrganicCode] = [
        OrganicCode("invalid_parameter_service_provider") { try $0.get("/api/v2/NOBODY/profiles") },
        OrganicCode("invalid_parameter_mvpd") { try $0.authorize("TNT", mvpd: "Nobody") },
        OrganicCode("invalid_parameter_code") { try $0.get("/api/v2/REF30/profiles/code/ABCDEFG") },
        OrganicCode("invalid_parameter_resources") { try $0.authorize(Fragment.malformed) },
        OrganicCode("invalid_parameter_resources") { try $0.decide("preauthorize", resources: []) },
        OrganicCode("invalid_parameter_redirect_url") { try $0.session(redirect: "https://evil.example") },
        OrganicCode("invalid_parameter_partner") { try $0.form(to: "/api/v2/REF30/sessions/sso/Orange", fields: [:]) },
        OrganicCode("invalid_parameter_saml_response") { try platform(by: $0, status: status("granted")) },
        OrganicCode("invalid_header_device_info") {
            try $0.get("/api/v2/REF30/profiles", headers: ["X-Device-Info": "{}"])
        },
        OrganicCode("invalid_header_device_identifier") {
            try $0.get("/api/v2/REF30/profiles", headers: ["AP-Device-Identifier": "fingerprint"])
        },
        OrganicCode("invalid_header_identity_for_temporary_access") {
            try $0.get("/api/v2/REF30/profiles/PromotionalTempPass")
        },
        OrganicCode("invalid_header_pfs_permission_access_not_present") { try platform(by: $0, status: nil) },
        OrganicCode("invalid_header_pfs_permission_access_not_determined") {
            try platform(by: $0, status: status("notDetermined"))
        },
        OrganicCode("invalid_header_pfs_permission_access_not_granted") {
            try platform(by: $0, status: status("denied"))
        },
        OrganicCode("invalid_header_pfs_provider_id_not_determined") {
            try platform(by: $0, status: status("granted", id: ""))
        },
        OrganicCode("invalid_header_pfs_provider_info_expired") {
            try platform(by: $0, status: status("granted", expires: 1))
        },
        OrganicCode("invalid_header_pfs_provider_id_mismatch") { device in
            let signIn = try device.sandbox.form(
                to: "/sandbox/platform/sign-in",
                fields: ["mvpd": "PlatformMVPD", "username": "alice", "password": "alice"]
            )
            return try platform(
                by: device,
                status: status("granted", id: "other"),
                saml: signIn.json["SAMLResponse"] as? String ?? ""
            )
        },
        OrganicCode("invalid_integration") {
            try $0.decide("authorize", resources: ["TNT"], mvpd: "DTV", requestor: "QUIET")
        },
        OrganicCode("invalid_authentication_session") { device in
            let code = try device.session().json["code"] as? String ?? ""
            return try device.form(to: "/api/v2/REF30/sessions/\(code)", fields: ["mvpd": "DTV"])
        },
        OrganicCode("too_many_resources") { try $0.decide("authorize", resources: ["TNT", "TBS"]) },
        OrganicCode("invalid_access_token_client_application") {
            try $0.get("/api/v2/REF30/profiles", headers: ["Authorization": "Bearer nobody"])
        },
        OrganicCode("authenticated_profile_missing") { try $0.authorize("TNT") },
        OrganicCode("invalid_requestor") { try $0.v1("/api/v1/checkauthn", parameters: ["requestor": "NOBODY"]) },
        OrganicCode("invalid_device_id") { try $0.v1("/api/v1/checkauthn", without: "deviceId") },
        OrganicCode("invalid_device_info") { try $0.v1("/api/v1/checkauthn", parameters: ["device_info": "?"]) },
        OrganicCode("bad_request") {
            try $0.v1("/api/v1/preauthorize", parameters: ["resource": "TNT"], without: "deviceId")
        },
        OrganicCode("missing_resource") { device in
            try device.logIn("alice")
            return try device.v1("/api/v1/authorize")
        },
        OrganicCode("malformed_authz_request") { device in
            try device.logIn("alice")
            return try device.v1("/api/v1/authorize", parameters: ["resource": Fragment.malformed])
        },
        OrganicCode("authorization_denied_by_parental_controls") { device in
            try device.logIn("bob")
            return try device.v1("/api/v1/authorize", parameters: ["resource": Fragment.rated("TV-MA")])
        },
        OrganicCode("unknown_integration") { device in
            try device.sandbox.get(
                "/api/v1/authenticate?requestor_id=REF30&mso_id=Nobody",
                headers: ["Accept": "application/json"]
            )
        },
        OrganicCode("too_many_resources") { device in
            try device.v1("/api/v1/preauthorize", parameters: ["resource": "1,2,3,4,5,6"])
        },
        OrganicCode("authentication_session_issuer_mismatch") { device in
            try device.logIn("alice")
            return try device.v1("/api/v1/authorize", parameters: ["resource": "TNT", "mso_id": "DTV"])
        },
        OrganicCode("preauthorization_authentication_session_missing") {
            try $0.v1("/api/v1/preauthorize", parameters: ["resource": "TNT"])
        },
        OrganicCode("preauthorization_authentication_session_expired") { device in
            try device.logIn("alice")
            try device.sandbox.control(#"{"expireAuthentication":true}"#)
            return try device.v1("/api/v1/preauthorize", parameters: ["resource": "TNT"])
        },
        OrganicCode("authorization_not_found") { device in
            try device.logIn("alice")
            return try device.v1("/api/v1/tokens/media", parameters: ["resource": "TNT"])
        },
    ]
}

@Suite struct `A code` {
    @Test("comes by itself", arguments: OrganicCode.all)
    func organic(_ expected: OrganicCode) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answer = try expected.provoke(sandbox.device())
            #expect(answer.anyCode == expected.code, "\(answer.status) \(answer.body)")
            #expect(answer.headers["playgate-sandbox"] == "stand-in")
        }
    }
}
