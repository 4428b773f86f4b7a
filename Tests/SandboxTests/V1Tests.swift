// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Sandbox
import Testing

@Suite struct `REST API v1` {
    @Test(
        "inventory 4, 25: tells the configuration",
        arguments: [
            ("/api/v1/config/REF30", "", false), ("/api/v1/config/REF30", "application/json", true),
            ("/api/v1/config/REF30?format=json", "application/xml", true), ("/adobe-services/config/REF30", "", false),
            ("/adobe-services/config/REF30.json", "", true), ("/adobe-services/config/REF30.xml", "", false),
            ("/api/v1/config/REF30", "text/html,application/xhtml+xml,application/json;q=0.9", false),
        ]
    )
    func configuration(path: String, accept: String, isJSON: Bool) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let answer = try sandbox.get(path, headers: accept.isEmpty ? [:] : ["Accept": accept])
            #expect(answer.status == 200)
            #expect(answer.headers["playgate-sandbox"] == "stand-in")
            let bytes = [UInt8](answer.body.utf8)
            let configuration =
                isJSON
                ? try EntitlementBody.read(ServiceConfiguration.self, json: bytes)
                : try ServiceConfiguration(xml: bytes)
            #expect(configuration.id == "REF30")
            #expect(configuration.domains.map(\.name) == ["adobe.com", "playgate.example"])
            #expect(configuration.mvpds.map(\.id).contains("DTV"))
            #expect(configuration.mvpds.first { $0.id == "PlatformMVPD" }?.boardingStatus == .supported)
            #expect(configuration.mvpds.first { $0.id == "TempPass" }?.isTempPass == true)
            #expect(try sandbox.get("/api/v1/config/NOBODY").status == 404)
        }
    }

    @Test(
        "inventory 42, 43: authorizes, then hands out a media token",
        arguments: ["application/json", "application/xml"]
    )
    func authorize(accept: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logInByCode("alice", mvpd: "Cablevision")
            let isJSON = accept.hasSuffix("json")
            let authN = try device.v1("/api/v1/tokens/authn", accept: accept)
            #expect(authN.status == 200)
            let authentication =
                isJSON
                ? try EntitlementBody.read(Authentication.self, json: [UInt8](authN.body.utf8))
                : try Authentication(xml: [UInt8](authN.body.utf8))
            #expect(authentication.mvpd == "Cablevision")
            let none = try device.v1("/api/v1/tokens/media", parameters: ["resource": "TNT"])
            #expect(none.code == "authorization_not_found")
            #expect(none.status == 403)
            #expect(try device.v1("/api/v1/tokens/authz", parameters: ["resource": "TNT"]).status == 404)
            for path in ["/api/v1/authorize", "/api/v1/tokens/authz"] {
                let answer = try device.v1(path, parameters: ["resource": "TNT"], accept: accept)
                #expect(answer.status == 200)
                let authorization =
                    isJSON
                    ? try EntitlementBody.read(Authorization.self, json: [UInt8](answer.body.utf8))
                    : try Authorization(xml: [UInt8](answer.body.utf8))
                #expect(authorization.proxyMVPD == "SandboxProxy")
                #expect(authorization.resource == "TNT")
                #expect(authorization.expires.millisecondsSince1970 == 1_925_136_245_000)
            }
            for path in ["/api/v1/tokens/media", "/api/v1/mediatoken"] {
                let answer = try device.v1(path, parameters: ["resource": "TNT"], accept: accept)
                let token =
                    isJSON
                    ? try EntitlementBody.read(AuthorizedToken.self, json: [UInt8](answer.body.utf8))
                    : try AuthorizedToken(xml: [UInt8](answer.body.utf8))
                #expect(try sandbox.verify(token.serializedToken, resource: "TNT").status == .validToken)
                #expect(token.userID == authentication.userID)
            }
        }
    }

    @Test func `ends authorizations and authentications with the documented statuses`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let missing = [
                ("/api/v1/checkauthn", 403), ("/api/v1/tokens/authn", 404), ("/api/v1/authorize", 412),
                ("/api/v1/tokens/authz", 412), ("/api/v1/tokens/media", 412), ("/api/v1/tokens/usermetadata", 412),
            ]
            for (path, status) in missing {
                let answer = try device.v1(path, parameters: ["resource": "TNT"])
                #expect(answer.status == status, "\(path)")
                #expect(answer.code == "authentication_session_missing", "\(path)")
            }
            try device.logInByCode("alice")
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).status == 200)
            try sandbox.control(#"{"expireAuthorization":true}"#)
            for (path, status) in [("/api/v1/tokens/authz", 410), ("/api/v1/tokens/media", 403)] {
                let answer = try device.v1(path, parameters: ["resource": "TNT"])
                #expect(answer.status == status)
                #expect(answer.code == "authorization_expired")
                #expect(answer.json["status"] as? Int == 410)
            }
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).status == 200)
            #expect(try device.v1("/api/v1/tokens/authz", parameters: ["resource": "TNT"]).status == 200)
            try sandbox.control(#"{"expireAuthentication":true}"#)
            let expired = [
                ("/api/v1/checkauthn", 403), ("/api/v1/tokens/authn", 410), ("/api/v1/authorize", 412),
                ("/api/v1/tokens/usermetadata", 410),
            ]
            for (path, status) in expired {
                let answer = try device.v1(path, parameters: ["resource": "TNT"])
                #expect(answer.status == status, "\(path)")
                #expect(answer.code == "authentication_session_expired", "\(path)")
            }
            let xml = try device.v1("/api/v1/checkauthn", accept: "application/xml")
            let error = try Status(xml: [UInt8](xml.body.utf8))
            #expect(error.message == "Authentication token expired")
            #expect(error.status == 403)
        }
    }

    @Test func `denies with 403 and the provider's words`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logInByCode("bob")
            let answer = try device.v1("/api/v1/authorize", parameters: ["resource": "CNN"])
            #expect(answer.status == 403)
            #expect(answer.json["message"] as? String == "User not authorized")
            #expect(answer.json["details"] as? String == "Your package does not include \"CNN\".")
            #expect(answer.code == "authorization_denied_by_mvpd")
            try sandbox.control(#"{"denied":["TNT"]}"#)
            #expect(
                try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).code
                    == "authorization_denied_by_mvpd"
            )
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TBS"]).status == 200)
        }
    }

    @Test func `inventory 3: accepts the options of a client with every call`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try device.logInByCode("alice")
            let options = [
                "applicationProfile": "tv", "visitorID": "v-1", "handleSVC": "true",
                "device_info": Data(#"{"model":"TV"}"#.utf8).base64EncodedString(),
            ]
            #expect(
                try device.v1("/api/v1/authorize", parameters: options.merging(["resource": "TNT"]) { $1 }).status
                    == 200
            )
            #expect(
                try device.v1("/api/v1/checkauthn", parameters: ["device_info": "{}"]).code == "invalid_device_info"
            )
            let profiles = try device.get(
                "/api/v2/REF30/profiles",
                headers: ["X-Device-Info": options["device_info"] ?? "", "AP-Visitor-Identifier": "v-1"]
            )
            #expect(profiles.status == 200)
        }
    }
}

@Suite struct `A registration code` {
    @Test func `inventory 15, E: is made, returned and removed`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let bearer = device.authorization
            let browser = ["Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]
            let made = try sandbox.form(
                to: "/reggie/v1/REF30/regcode",
                fields: ["deviceId": device.name, "format": "json", "mvpd": "DTV", "ttl": "60"],
                headers: bearer.merging(browser) { $1 }
            )
            #expect(made.status == 201)
            #expect(made.json["requestor"] as? String == "REF30")
            #expect(made.json["mvpd"] as? String == "DTV")
            #expect(made.json["generated"] as? Int == 1_925_114_645_000)
            #expect(made.json["expires"] as? Int == 1_925_114_705_000)
            #expect((made.json["info"] as? [String: Any])?["authorizationType"] as? String == "OAUTH2")
            let code = try #require(made.json["code"] as? String)
            let path = "/reggie/v1/REF30/regcode/\(code)"
            let answer = try sandbox.get(path, headers: bearer)
            #expect(answer.body.hasPrefix(#"<ns2:regcode xmlns:ns2="model.mvc.reggie.pass.adobe.com">"#))
            #expect(answer.body.contains("<code>\(code)</code>"))
            #expect(try sandbox.get("\(path)?format=json", headers: bearer).json["code"] as? String == code)
            #expect(try sandbox.get("/reggie/v1/QUIET/regcode/\(code)", headers: bearer).status == 404)
            #expect(try sandbox.send("DELETE", path: path, headers: bearer).status == 204)
            #expect(try sandbox.send("DELETE", path: path, headers: bearer).status == 404)
            #expect(try sandbox.get(path, headers: bearer).status == 404)
        }
    }

    @Test(
        "is refused with what is wrong",
        arguments: [
            ([:], 400, "Required 'deviceId' is not present"),
            (["deviceId": "d", "ttl": "36001"], 400, "'ttl' must be from 1 to 36000 seconds"),
            (["deviceId": "d", "ttl": "soon"], 400, "'ttl' must be from 1 to 36000 seconds"),
            (["deviceId": "d", "redirect_url": "https://evil.example"], 400, "'redirect_url'"),
        ]
    )
    func refused(fields: [String: String], status: Int, message: String) async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let bearer = ["Authorization": "Bearer \(try sandbox.bearer())"]
            let answer = try sandbox.form(to: "/reggie/v1/REF30/regcode", fields: fields, headers: bearer)
            #expect(answer.status == status)
            #expect(answer.json["status"] as? Int == status)
            #expect((answer.json["message"] as? String)?.hasPrefix(message) ?? false)
            #expect(try sandbox.form(to: "/reggie/v1/REF30/regcode", fields: ["deviceId": "d"]).status == 401)
        }
    }
}

@Suite struct `User metadata` {
    @Test func `inventory 44, 44a: is what the provider tells of a viewer`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let expected: [(user: String, id: String, household: String, zip: String)] = [
                ("alice", "household-1", "household-1", "12345"), ("bob", "household-2", "household-2", "67890"),
                ("carol", "user-carol", "household-1", "12345"),
            ]
            for (user, id, household, zip) in expected {
                let device = try sandbox.device(user)
                try device.logInByCode(user)
                let answer = try device.v1("/api/v1/tokens/usermetadata")
                #expect(answer.status == 200)
                let metadata = try EntitlementBody.read(UserMetadata.self, json: [UInt8](answer.body.utf8))
                #expect(metadata.data["userID"] == .text(id))
                #expect(metadata.data["householdID"] == .text(household))
                #expect(metadata.data["zip"] == .list([.text(zip)]))
                #expect(metadata.encrypted.isEmpty)
                if user == "bob" {
                    #expect(metadata.data["maxRating"] == .map(["VCHIP": .text("TV-PG"), "MPAA": .text("PG")]))
                    #expect(metadata.data["channelID"] == .list([.text("TBS"), .text("TNT")]))
                }
            }
        }
    }

    @Test func `inventory 44: is encrypted where the programmer wants it`() async throws {
        let folder = try TemporaryFolder()
        let keys = try GateSample.foreign.get().keys
        try folder.write("programmer.pem", contents: keys.signerCertificate)
        let configuration = InProcessSandbox.configuration(
            replacing: "    enhancedErrors: true\n",
            with: """
                    enhancedErrors: true
                    encryptedMetadata: { certificate: "\(folder.file("programmer.pem"))", keys: [zip, userID] }

                """
        )
        try await InProcessSandbox.withDevice(configuration, user: "alice") { (sandbox, device) throws in
            let answer = try device.v1("/api/v1/tokens/usermetadata")
            let metadata = try EntitlementBody.read(UserMetadata.self, json: [UInt8](answer.body.utf8))
            #expect(metadata.encrypted == ["zip", "userID"])
            let key = try MetadataKey(pem: keys.signerKey)
            guard case .text(let zip)? = metadata.data["zip"], case .text(let id)? = metadata.data["userID"] else {
                Issue.record("not encrypted: \(answer.body)")
                return
            }
            #expect(key.decrypt(zip) == #"["12345"]"#)
            #expect(key.decrypt(id) == "household-1")
            let profiles = try EntitlementBody.read(
                Profiles.self,
                json: [UInt8](try device.get("/api/v2/REF30/profiles").body.utf8)
            )
            let attributes = try #require(profiles.profiles["SandboxMVPD"]?.attributes)
            #expect(attributes["zip"]?.state == .encrypted)
            #expect(attributes["householdID"]?.state == .plain)
        }
    }
}
