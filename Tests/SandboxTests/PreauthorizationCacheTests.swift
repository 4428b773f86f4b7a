// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `The cache of preauthorizations` {
    /// Preauthorizes TNT in one of the APIs, and returns the code of the denial.
    private static func preauthorize(
        by device: TestDevice,
        in api: String,
        authN: String,
        usesCache: Bool = true
    ) throws -> String? {
        let parameter = usesCache ? [:] : ["remoteCache": "false"]
        switch api {
        case "v1":
            return try device.v1("/api/v1/preauthorize", parameters: parameter.merging(["resource": "TNT"]) { $1 })
                .anyCode
        case "v2":
            let path = "/api/v2/REF30/decisions/preauthorize/SandboxMVPD?\(InProcessSandbox.query(parameter))"
            return try device.sandbox.json(to: path, body: #"{"resources":["TNT"]}"#, headers: device.headers).anyCode
        default:
            let fields = parameter.merging(["authentication_token": authN, "resource_id": "TNT"]) { $1 }
            let answer = try device.legacy("preauthorize", fields: fields)
            return answer.body.contains("<authorized>true</authorized>") ? nil : "network_connection_timeout"
        }
    }

    @Test("inventory 32: is bypassed where a client disables REMOTE_CACHE", arguments: ["v1", "v2", "legacy"])
    func bypassed(api: String) async throws {
        try await InProcessSandbox.withDevice { (sandbox, device) throws in
            let code = try device.code()
            _ = try device.submit("alice", to: sandbox.get(device.authenticateURL(code)).location)
            let authN =
                try device.legacy("session", fields: ["reg_code": code], isKnown: true).element("authnToken") ?? ""
            func preauthorize(usesCache: Bool = true) throws -> String? {
                try Self.preauthorize(by: device, in: api, authN: authN, usesCache: usesCache)
            }
            #expect(try preauthorize() == nil)
            // The provider is unreachable. A cached decision needs no provider.
            try sandbox.control(#"{"faults":[{"on":"mvpd","code":"network_connection_timeout"}]}"#)
            #expect(try preauthorize() == nil)
            #expect(try preauthorize(usesCache: false) == "network_connection_timeout")
            #expect(try preauthorize() == nil)
            // A login of another viewer, and the end of its life, end a cached decision.
            try device.logInByCode("bob")
            if api != "legacy" { #expect(try preauthorize() == "network_connection_timeout") }
            try sandbox.control(#"{"faults":[]}"#)
            if api != "legacy" { #expect(try preauthorize() == nil) }
            sandbox.advance(seconds: 300)
            try sandbox.control(#"{"faults":[{"on":"mvpd","code":"network_connection_timeout"}]}"#)
            if api != "legacy" { #expect(try preauthorize() == "network_connection_timeout") }
        }
    }

    @Test func `is not for authorizations, which ask the provider each time`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            #expect(try device.authorize("TNT").anyCode == nil)
            try sandbox.control(#"{"faults":[{"on":"mvpd","code":"network_received_error","details":"d","times":1}]}"#)
            let refused = try device.authorize("TNT")
            #expect(refused.anyCode == "network_received_error")
            #expect((refused.list("decisions").first?["error"] as? [String: Any])?["action"] as? String == "retry")
            #expect(try device.authorize("TNT").anyCode == nil)
            // A fault of every operation is not one of the provider.
            try sandbox.control(#"{"faults":[{"on":"any","delay":"1ms","times":1},{"on":"any","status":503}]}"#)
            #expect(try device.authorize("TNT").status == 200)
            #expect(try device.authorize("TNT").status == 503)
        }
    }
}
