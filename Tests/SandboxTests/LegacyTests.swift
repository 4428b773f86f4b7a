// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@Suite struct `A long-lived token` {
    @Test func `is good for media tokens by itself`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let (authN, authZ) = try device.longLivedTokens()
            for token in [authN, authZ] {
                #expect(token.hasPrefix("<signatureInfo>"))
                #expect(!token.contains("\n"))
                // The token is signed with the same key as media tokens, and must never be accepted as one.
                #expect(try sandbox.verify(token, resource: "TNT").status == .invalidTokenFormat)
            }
            for name in [
                "simpleTokenExpires", "simpleTokenMsoID", "simpleTokenAuthenticationGuid", "simpleSamlNameID",
                "simpleSamlSessionIndex",
            ] { #expect(authN.contains("<\(name)>") && authN.contains("</\(name)>")) }
            #expect(authZ.contains("<simpleTokenTTL>2031/01/02 16:04:05 GMT +0000</simpleTokenTTL>"))
            let answer = try device.legacy("shortAuthorize", fields: ["authz_token": authZ])
            #expect(answer.status == 200)
            #expect(try sandbox.verify(answer.body, resource: "TNT").isValid)
        }
    }

    /// The requests of yt-dlp in their order, which also work where it is not installed.
    @Test func `Y1 to Y11: comes to a client that imitates the SDKs, by forms`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let individualized = try sandbox.json(to: "/indiv/devices", body: #"{"fingerprint":"00"}"#)
            let device = TestDevice(
                sandbox: sandbox,
                name: individualized.json["deviceId"] as? String ?? "",
                bearer: try sandbox.bearer()
            )
            #expect(device.name.count == 64)
            #expect(individualized.headers["pass_sfp"]?.isEmpty == false)
            let code = try device.code(["format": "json"])
            var page = try sandbox.get(
                "/adobe-services/authenticate/saml?noflash=true&mso_id=DTV&requestor_id=REF30&no_iframe=false"
                    + "&domain_name=adobe.com&redirect_url=http%3A%2F%2F127.0.0.1%2F&reg_code=\(code)"
            )
            for fields in [[:], ["username": "alice", "password": "alice"], [:]] {
                let action = try #require(page.body.between("<form method=\"post\" action=\"", and: "\""))
                let hidden = ["SAMLRequest", "SAMLResponse", "ticket", "RelayState"].compactMap { name in
                    page.body.hidden(name).map { (name, $0) }
                }
                page = try sandbox.form(to: action, fields: fields.merging(hidden) { $1 })
                #expect(page.status == 200)
            }
            let session = try device.legacy("session", fields: ["reg_code": code, "_method": "GET"], isKnown: true)
            let authN = try #require(session.element("authnToken"))
            let authorize = ["authentication_token": authN, "resource_id": "TNT", "mso_id": "DTV", "userMeta": "1"]
            let authZ = try #require(try device.legacy("authorize", fields: authorize).element("authzToken"))
            let guid = try #require(authN.between("<simpleTokenAuthenticationGuid>", and: "<"))
            let short = ["authz_token": authZ, "session_guid": guid, "hashed_guid": "false"]
            let token = try device.legacy("shortAuthorize", fields: short).body
            #expect(try sandbox.verify(token, resource: "TNT").token?.userSessionGUID == guid)
        }
    }

    /// Inputs that a client may send instead of an authorization token, and that must be refused.
    static let forged: [(name: String, make: @Sendable (TestDevice) throws -> String)] = [
        ("nothing", { _ in "" }),
        ("text", { _ in "token" }),
        ("an authentication token", { try $0.longLivedTokens().authN }),
        (
            "a media token",
            { try $0.legacy("shortAuthorize", fields: ["authz_token": $0.longLivedTokens().authZ]).body }
        ),
        ("one with another resource", { try $0.longLivedTokens().authZ.replacing(">TNT<", with: ">CNN<") }),
        ("one with a longer life", { try $0.longLivedTokens().authZ.replacing("2031/01/02", with: "2032/01/02") }),
        ("one of another key", { _ in try foreign("2031/03/17 14:40:08 GMT +0000") }),
        ("one that has expired", { _ in try trusted("2031/01/02 10:04:05 GMT +0000") }),
        ("one without an expiry", { _ in try trusted("never") }),
        ("one of another requestor", { _ in try trusted("2031/03/17 14:40:08 GMT +0000", requestor: "QUIET") }),
        ("one wrapped in another", { "<simpleAuthorizationToken>\(try $0.longLivedTokens().authZ)" }),
        ("one with a document type", { "<!DOCTYPE a>\(try $0.longLivedTokens().authZ)" }),
        ("a flood", { _ in String(repeating: "<signatureInfo>", count: 10_000) }),
    ]

    private static func body(expires: String, requestor: String) -> [UInt8] {
        [UInt8](
            """
            <simpleAuthorizationToken><simpleTokenRequestorID>\(requestor)</simpleTokenRequestorID>\
            <simpleTokenResourceID>TNT</simpleTokenResourceID><simpleTokenTTL>\(expires)</simpleTokenTTL>\
            <simpleTokenMsoID>SandboxMVPD</simpleTokenMsoID><simpleTokenDeviceID>\
            <simpleTokenFingerprint>00</simpleTokenFingerprint></simpleTokenDeviceID></simpleAuthorizationToken>
            """.utf8
        )
    }

    private static func trusted(_ expires: String, requestor: String = "REF30") throws -> String {
        try GateSample.trusted.get().issuer.sign(body: body(expires: expires, requestor: requestor)).raw
    }

    private static func foreign(_ expires: String) throws -> String {
        try GateSample.foreign.get().issuer.sign(body: body(expires: expires, requestor: "REF30")).raw
    }

    @Test("is not replaced by something like it", arguments: forged.map(\.name))
    func hostile(name: String) async throws {
        let make = try #require(Self.forged.first { $0.name == name }).make
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let token = try make(device)
            let answer = try device.legacy("shortAuthorize", fields: ["authz_token": token])
            #expect(answer.status == 403, "\(answer.body)")
            #expect(!answer.body.contains("authToken"))
            if name != "an authentication token" {
                #expect(
                    try device.legacy("authorize", fields: ["authentication_token": token, "resource_id": "TNT"]).status
                        == 403
                )
            }
        }
    }

    @Test func `expires, and ends with the login`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let (authN, authZ) = try device.longLivedTokens()
            let guid = ["authz_token": authZ, "session_guid": "00112233445566778899aabbccddeeff"]
            #expect(try device.legacy("shortAuthorize", fields: guid).status == 403)
            #expect(
                try device.legacy("shortAuthorize", fields: ["authz_token": authZ], requestor: "QUIET").status == 403
            )
            _ = try device.logOut()
            #expect(
                try device.legacy("shortAuthorize", fields: ["authz_token": authZ]).body.contains("<pendingLogout>")
            )
            let authorize = ["authentication_token": authN, "resource_id": "TNT"]
            #expect(try device.legacy("authorize", fields: authorize).body.contains("<pendingLogout>"))
            // A new login does not restore the old session.
            try device.logIn("bob")
            #expect(try device.legacy("authorize", fields: authorize).body.contains("<pendingLogout>"))
            // The authorization of the previous viewer is not restored either.
            #expect(
                try device.legacy("shortAuthorize", fields: ["authz_token": authZ]).body.contains("<pendingLogout>")
            )
            sandbox.advance(seconds: 6 * 3600)
            #expect(try device.legacy("shortAuthorize", fields: ["authz_token": authZ]).status == 403)
        }
    }

    @Test("ends with what it is about", arguments: ["expireAuthorization", "expireAuthentication"])
    func switches(name: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let (_, authZ) = try device.longLivedTokens()
            #expect(try device.legacy("shortAuthorize", fields: ["authz_token": authZ]).status == 200)
            try sandbox.control("{\"\(name)\":true}")
            let answer = try device.legacy("shortAuthorize", fields: ["authz_token": authZ])
            #expect(answer.body.contains("<pendingLogout>"))
            #expect(!answer.body.contains("authToken"))
        }
    }

    @Test func `is one line, however a fragment is written`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let resource = Fragment.rated("TV-PG").replacing("><", with: ">\r\n\t<")
            let (_, authZ) = try device.longLivedTokens(resource)
            #expect(authZ.hasPrefix("<signatureInfo>"))
            #expect(!authZ.utf8.contains { $0 < 0x20 })
            let answer = try device.legacy("shortAuthorize", fields: ["authz_token": authZ])
            #expect(try sandbox.verify(answer.body, resource: resource).status == .validToken)
        }
    }

    @Test func `brings a no with status 200 and the provider's words`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let (authN, _) = try device.longLivedTokens(user: "bob")
            let answer = try device.legacy("authorize", fields: ["authentication_token": authN, "resource_id": "CNN"])
            #expect(answer.status == 200)
            #expect(answer.element("details") == "Your package does not include \"CNN\".")
            let list = try sandbox.send(
                "POST",
                path: "/adobe-services/preauthorize",
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: "requestor_id=REF30&authentication_token=\(authN.percentEncoded)&resource_id=TNT&resource_id=CNN"
            )
            #expect(list.body.contains("<id>TNT</id><authorized>true</authorized>"))
            #expect(list.body.contains("<id>CNN</id><authorized>false</authorized>"))
            try sandbox.control(#"{"faults":[{"on":"authorize","code":"network_received_error","times":1}]}"#)
            let fault = try device.legacy("authorize", fields: ["authentication_token": authN, "resource_id": "TNT"])
            #expect(fault.status == 200)
            #expect(fault.element("code") == "network_received_error")
            #expect(fault.element("details")?.isEmpty == false)
        }
    }

    @Test func `is for the device that has logged in`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let (device, other) = (try sandbox.device(), try sandbox.device("other"))
            let code = try device.code()
            _ = try device.submit("alice", to: sandbox.get(device.authenticateURL(code)).location)
            #expect(try other.legacy("session", fields: ["reg_code": code], isKnown: true).status == 403)
            #expect(try device.legacy("session", fields: ["reg_code": code]).status == 401)
            let session = try device.legacy("session", fields: ["reg_code": code], isKnown: true)
            let authN = try #require(session.element("authnToken"))
            let fields = ["authentication_token": authN, "resource_id": "TNT"]
            #expect(try other.legacy("authorize", fields: fields, isKnown: true).status == 400)
            #expect(try device.legacy("authorize", fields: fields, isKnown: true).status == 200)
            #expect(try device.legacy("authorize", fields: fields.merging(["mso_id": "DTV"]) { $1 }).status == 400)
        }
    }
}
