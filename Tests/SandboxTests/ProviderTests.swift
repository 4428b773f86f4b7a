// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `A provider` {
    @Test func `inventory 25: has a logo in the configuration, which the service has`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let v1 = try sandbox.get("/api/v1/config/REF30").body
            let v2 = try device.get("/api/v2/REF30/configuration").body
            let configurations = [
                try ServiceConfiguration(xml: [UInt8](v1.utf8)),
                try EntitlementBody.read(ServiceConfiguration.self, json: [UInt8](v2.utf8)),
            ]
            for configuration in configurations {
                #expect(configuration.mvpds.count == 6)
                for mvpd in configuration.mvpds {
                    let logo = try sandbox.get(try #require(mvpd.logoURL))
                    #expect(logo.status == 200)
                    #expect(logo.headers["content-type"] == "image/svg+xml")
                    #expect(logo.body.hasPrefix("<svg ") && logo.body.utf8.count < 1000)
                    #expect(logo.body.contains("aria-label=\"\(mvpd.displayName)\""))
                }
            }
            #expect(try sandbox.get("/sandbox/logos/Nobody.svg").status == 404)
            #expect(try sandbox.send("HEAD", path: "/sandbox/logos/DTV.svg").status == 200)
        }
    }

    @Test func `inventory 17: asks for the in-app browser if its configuration says so`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let v1 = try ServiceConfiguration(xml: [UInt8](try sandbox.get("/api/v1/config/REF30").body.utf8))
            let v2 = try EntitlementBody.read(
                ServiceConfiguration.self,
                json: [UInt8](try device.get("/api/v2/REF30/configuration").body.utf8)
            )
            for configuration in [v1, v2] {
                #expect(configuration.mvpds.filter(\.requiresSVC).map(\.id) == ["Cablevision"])
            }
        }
    }

    @Test func `serves a logo that its configuration names`() async throws {
        let configuration = InProcessSandbox.configuration(
            replacing: "displayName: Plain Form TV",
            with: "displayName: \"<b>\"\n    logo: https://cdn.example/dtv.png"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            let v1 = try ServiceConfiguration(xml: [UInt8](try sandbox.get("/api/v1/config/REF30").body.utf8))
            #expect(v1.mvpds.first { $0.id == "DTV" }?.logoURL == "https://cdn.example/dtv.png")
            let page = try sandbox.get(
                sandbox.get(sandbox.device().session("DTV").json["url"] as? String ?? "").location
            )
            #expect(!page.body.contains("<img"))
            #expect(try sandbox.get("/sandbox/logos/DTV.svg").body.contains("aria-label=\"&lt;b&gt;\""))
        }
    }

    @Test func `has a login page with its logo and the demonstration accounts`() async throws {
        let configuration = InProcessSandbox.configuration(replacing: "password: bob", with: "password: hidden-word")
        try await InProcessSandbox.withDevice(configuration) { (sandbox, device) throws in
            let page = try sandbox.get(device.loginPage()).body
            #expect(page.contains("src=\"/sandbox/logos/SandboxMVPD.svg\""))
            // A password that is not the name is not shown, nor hinted at.
            #expect(page.contains("Demonstration accounts: alice, carol. Each password is the name."))
            #expect(!page.contains("bob") && !page.contains("hidden-word"))
        }
    }
}

@Suite struct `A logout over REST API v1` {
    private static func logOut(_ device: TestDevice, requestor: String = "REF30") throws -> TestDevice.Response {
        #expect(try device.v1("/api/v1/logout", method: "DELETE").status == 204)
        let fields = ["requestor_id": requestor, "mso_id": "SandboxMVPD", "redirect_url": "com.programmer.tv://done"]
        return try device.sandbox.get("/adobe-services/logout?\(InProcessSandbox.query(fields))")
    }

    @Test func `inventory 26, H: leads back to the scheme that the application has registered`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let other = try sandbox.device()
            try other.logInByCode("alice")
            #expect(try Self.logOut(other).status == 400)
            let bearer = try sandbox.bearer(redirect: "com.programmer.tv://done")
            let device = TestDevice(sandbox: sandbox, name: "tv", bearer: bearer)
            try device.logInByCode("alice")
            let begun = try Self.logOut(device)
            #expect(begun.status == 302)
            #expect(try sandbox.get(begun.location).location == "com.programmer.tv://done")
            #expect(try device.v1("/api/v1/checkauthn").status == 403)
            #expect(try Self.logOut(device, requestor: "NOBODY").status == 400)
        }
    }

    @Test func `does not lead to the scheme of another programmer's application`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let statement = InProcessSandbox.statement(#"{"aud":"QUIET"}"#)
            _ = try sandbox.bearer(statement: statement, redirect: "com.programmer.tv://done")
            let device = try sandbox.device()
            #expect(try Self.logOut(device).status == 400)
            #expect(try Self.logOut(device, requestor: "QUIET").status == 302)
        }
    }
}

@Suite struct `A throttled client` {
    @Test func `inventory 35: learns when to retry, and why`() async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            try sandbox.control(#"{"throttling":{"rate":1,"burst":1}}"#)
            _ = try sandbox.get("/api/v1/config/REF30")
            let plain = try sandbox.get("/api/v1/config/REF30")
            #expect(plain.status == 429)
            #expect(plain.headers["retry-after"] == "1")
            #expect(plain.headers["content-type"] == "text/html")
            let json = try device.get("/api/v2/REF30/profiles", headers: ["Accept": "application/json"])
            #expect(json.status == 429)
            #expect(json.headers["retry-after"] == "1")
            let status = try EntitlementBody.read(Status.self, json: [UInt8](json.body.utf8))
            #expect(status.status == 429)
            #expect(status.code == "too_many_requests")
            #expect(status.action == .retryAfter)
            #expect(status.trace?.count == 36)
            sandbox.advance(seconds: 1)
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
            try sandbox.control(#"{"throttling":null,"faults":[{"on":"any","status":429,"times":1}]}"#)
            #expect(try sandbox.get("/api/v1/config/REF30").headers["retry-after"] == "1")
            #expect(try sandbox.get("/api/v1/config/REF30").status == 200)
        }
    }
}
