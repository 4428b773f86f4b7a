// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Sandbox
import Testing

@Suite struct `The state` {
    @Test func `in a file outlives the service, and is only for its owner`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("state.sqlite")
        let bearer = try await InProcessSandbox.with(state: .file(file)) { (sandbox) throws in
            let device = try sandbox.device()
            try device.logIn("alice")
            _ = try device.authorize("TNT")
            _ = try device.token(for: "ESPN", mvpd: "TempPass")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions]
                #expect(mode as? Int == 0o600, "\(name)")
            }
            return device.bearer
        }
        try await InProcessSandbox.with(state: .file(file)) { (sandbox) throws in
            let device = TestDevice(sandbox: sandbox, name: "device-1", bearer: bearer)
            #expect(try device.token(for: "TNT") != nil)
            #expect(try device.v1("/api/v1/tokens/authz", parameters: ["resource": "TNT"]).status == 200)
            sandbox.advance(seconds: 600)
            #expect(try device.authorize("TNT", mvpd: "TempPass").anyCode == "temporary_access_duration_limit_exceeded")
        }
        // Another configuration does not have the user any more.
        let other = InProcessSandbox.configuration(replacing: "name: alice", with: "name: alicia")
        try await InProcessSandbox.with(other, state: .file(file)) { (sandbox) throws in
            let device = TestDevice(sandbox: sandbox, name: "device-1", bearer: bearer)
            #expect(try device.authorize("TNT").anyCode == "identity_not_recognized_by_mvpd")
            #expect(
                try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).code
                    == "identity_not_recognized_by_mvpd"
            )
            let list = try device.v1("/api/v1/preauthorize", parameters: ["resource": "TNT"])
            #expect(list.anyCode == "identity_not_recognized_by_mvpd")
        }
        // In another, the provider does not work with the requestor any more.
        let apart = InProcessSandbox.configuration(
            replacing: "    enhancedErrors: true\n",
            with: "    enhancedErrors: true\n    mvpds: [DTV]\n"
        )
        try await InProcessSandbox.with(apart, state: .file(file)) { (sandbox) throws in
            let device = TestDevice(sandbox: sandbox, name: "device-1", bearer: bearer)
            #expect(try device.authorize("TNT").anyCode == "invalid_integration")
            #expect(try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"]).code == "unknown_integration")
            #expect(try device.get("/api/v2/REF30/profiles").json["profiles"] as? [String: String] == [:])
        }
    }

    @Test func `has no secret in it`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("state.sqlite")
        let secrets = try await InProcessSandbox.with(state: .file(file)) { (sandbox) throws in
            let device = try sandbox.device("a-device-of-its-own")
            let page = try device.loginPage()
            let ticket = try sandbox.get(page).body.hidden("ticket") ?? ""
            try device.logIn("alice")
            return [device.bearer, ticket, device.name]
        }
        var bytes = Data()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            bytes += try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
        }
        #expect(bytes.range(of: Data("SandboxMVPD".utf8)) != nil)
        for secret in secrets { #expect(bytes.range(of: Data(secret.utf8)) == nil) }
    }

    @Test func `that cannot be opened is reported`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("state.sqlite", contents: String(repeating: "no database ", count: 1000))
        await #expect(throws: SandboxError.self) {
            try await InProcessSandbox.with(state: .file(file)) { (_) throws in }
        }
    }

    @Test func `separates two users who come at once`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let failures = try Self.atOnce(for: ["alice", "bob"]) { user, round in
                let device = try sandbox.device("\(user)-\(round)")
                try device.logIn(user)
                let answer = try device.authorize("CNN")
                let isRight = answer.anyCode == (user == "alice" ? nil : "authorization_denied_by_mvpd")
                let household = user == "alice" ? "household-1" : "household-2"
                let profiles = try device.get("/api/v2/REF30/profiles").body
                return isRight && profiles.contains(household) ? nil : "\(user): \(answer.body) \(profiles)"
            }
            #expect(failures.isEmpty, "\(failures)")
        }
    }

    /// Runs `body` ten times for each name, with one thread for each name, and returns the faults.
    private static func atOnce(
        for names: [String],
        body: @escaping @Sendable (String, Int) throws -> String?
    ) throws -> [String] {
        try concurrently(names.count) { index in
            (0..<10).compactMap { round in
                do { return try body(names[index], round) } catch { return "\(names[index]): \(error)" }
            }
        }.flatMap(\.self)
    }
}
