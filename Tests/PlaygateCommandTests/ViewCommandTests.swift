// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessEnabler
import ArgumentParser
import Foundation
import GateTestSupport
import Testing

@testable import playgate_sandbox

@Suite struct `playgate-sandbox view` {
    @Test("flow G: goes the way from nothing to the gate, and tells of each step") func way() async throws {
        try await onThread {
            let stage = try ViewStage()
            let run = try stage.view(
                ViewStage.login("bob") + stage.play("tnt-live")
                    + ["--show", "TNT", "--show", "CNN", "--resource", "TNT", "--logout"]
            )
            #expect(run.status == 0, "\(run.output)\(run.error)")
            let steps = run.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
                .map { $0.split(separator: "  ")[0].trimmingCharacters(in: .whitespaces) }
            #expect(
                steps == [
                    "✔ configuration", "✔ provider", "✔ login", "✔ preauthorization", "– preauthorization",
                    "✔ authorization", "✔ media token", "✔ gate", "✔ logout",
                ]
            )
            #expect(run.output.contains("Sandbox TV (SandboxMVPD)"))
            #expect(run.output.contains("tnt-live: verified"))
            #expect(run.output.contains("authorization_denied_by_mvpd"))
            // The output must contain neither the password nor the token.
            #expect(!run.output.contains("PHNpZ25hdHVyZUluZm8"))
        }
    }

    @Test("flow G: unprotected media plays without a login, and unknown media does not play")
    func protection() async throws {
        try await onThread {
            let stage = try ViewStage()
            for interface in ["v1", "v2"] {
                let free = try stage.journey(["--interface", interface] + stage.play("trailer"))
                #expect(free.exit == 0)
                #expect(free.steps == ["configuration", "media", "gate"])
                #expect(free.text("gate") == "trailer: unprotected")
            }
            let unknown = try stage.journey(stage.play("nothing") + ViewStage.login("alice"))
            #expect(unknown.exit == 1)
            #expect(unknown.steps == ["configuration", "media refused"])
            #expect(unknown.text("media") == "nothing: unknown_media unknown_media")
            // A login that is needed and not given is not asked for in JSON.
            for screen in [[], ["--second-screen"]] {
                let locked = try stage.journey(stage.play("tnt-live") + ["--provider", "SandboxMVPD"] + screen)
                #expect(locked.exit == 1)
                #expect(locked.text("login") == "a login is required; give --user and --password")
            }
        }
    }

    @Test func `says no with the words of who says no, and exits with 1`() async throws {
        try await onThread {
            let stage = try ViewStage()
            for interface in ["v1", "v2"] {
                let denied = try stage.view(
                    ViewStage.login("bob") + ["--interface", interface, "--resource", "CNN"]
                )
                #expect(denied.status == 1)
                #expect(denied.output.contains("✘ authorization"))
                #expect(denied.output.contains("authorization_denied_by_mvpd"))
            }
            let refused = try stage.view(ViewStage.login("bob") + stage.play("tbs-live") + ["--resource", "TNT"])
            #expect(refused.status == 1)
            #expect(refused.output.contains("resource_mismatch"))
        }
    }

    @Test func `prints one JSON object, with the token on request`() async throws {
        try await onThread {
            let stage = try ViewStage()
            let run = try stage.journey(ViewStage.login("alice") + ["--resource", "TNT", "--print-token"])
            #expect(run.steps == ["configuration", "provider", "login", "authorization", "media token"])
            let token = try #require(run.tokens.first)
            let trust = stage.folder.file("keys/signer.pem")
            let verified = try CommandRun(
                ["verify", token, "--trust", trust, "--requestor", "REF30", "--resource", "TNT"]
            )
            #expect(verified.status == 0)
            #expect(verified.output.contains("VALID_TOKEN"))
        }
    }

    @Test func `stores a login where its option says, and replaces it by force`() async throws {
        try await onThread {
            let stage = try ViewStage()
            let storage = ["--storage", stage.folder.file("logins")]
            #expect(try stage.view(ViewStage.login("alice") + storage).status == 0)
            let again = try stage.view(storage + ["--json", "--resource", "TNT"])
            #expect(again.status == 0, "\(again.output)\(again.error)")
            #expect(again.output.contains(#""cached":true"#))
            let forced = try stage.view(ViewStage.login("bob") + storage + ["--json", "--force", "--resource", "CNN"])
            #expect(forced.status == 1)
            #expect(forced.output.contains(#""cached":false"#))
        }
    }

    /// What to ask for beside a stored login that has ended, and the steps after the login of the storage.
    private static let expired: [(arguments: [String], steps: [String])] = [
        (["--resource", "TNT"], ["authorization", "media token"]),
        (["--show", "TNT"], ["preauthorization unlocked"]),
    ]

    @Test("flow F: logs in again if the login has ended", arguments: ["v1", "v2"], expired.indices)
    func expiry(interface: String, index: Int) async throws {
        let (arguments, steps) = Self.expired[index]
        try await onThread {
            let stage = try ViewStage()
            let login = ViewStage.login("alice") + ["--interface", interface, "--storage", stage.folder.file("logins")]
            #expect(try stage.journey(login).exit == 0)
            try stage.control(#"{"expireAuthentication":true}"#)
            let run = try stage.journey(login + arguments)
            #expect(run.exit == 0)
            #expect(run.steps == ["configuration", "login", "login missing", "provider", "login"] + steps)
        }
    }

    @Test("reports a fault in the browser of a logout", arguments: ["v1", "v2"])
    func logout(interface: String) async throws {
        try await onThread {
            let stage = try ViewStage()
            // The first request of a logout is that of the application, and the second that of the browser.
            try stage.control(
                #"{"faults":[{"on":"logout","delay":"0ms","times":1},{"on":"logout","status":503,"times":1}]}"#
            )
            let arguments = ViewStage.login("alice") + ["--interface", interface, "--logout"]
            let run = try stage.journey(arguments)
            #expect(run.exit == 1)
            #expect(run.steps.last == "logout failed")
            #expect(run.text("logout")?.contains("/adobe-services/logout: HTTP 503") == true, "\(run.texts)")
            #expect(try stage.journey(arguments).steps.last == "logout")
        }
    }

    @Test("flow H: returns to the own scheme of an application", arguments: ["v1", "v2"])
    func ownScheme(interface: String) async throws {
        try await onThread {
            let options = ["--interface", interface, "--redirect-url", "com.example.player://done", "--logout"]
            let run = try ViewStage().journey(ViewStage.login("alice") + options)
            #expect(run.exit == 0, "\(run.texts)")
            #expect(run.steps == ["configuration", "provider", "login", "logout"])
        }
    }

    @Test("prints metadata of the client and of the provider", arguments: ["v1", "v2"])
    func metadata(interface: String) async throws {
        try await onThread {
            let stage = try ViewStage()
            let run = try stage.journey(
                ViewStage.login("carol") + ["--interface", interface, "--resource", "TNT"]
                    + ["authentication", "authorization", "zip", "maxRating", "nothing", "device"].flatMap {
                        ["--metadata", $0]
                    }
            )
            #expect(run.exit == 0)
            #expect(
                run.steps.suffix(6) == ["metadata", "metadata", "metadata", "metadata", "metadata missing", "metadata"]
            )
            let texts = run.texts.suffix(6).map { $0 }
            #expect(texts[0].wholeMatch(of: /authentication: "\d{4}\/.* GMT \+0000"/) != nil, "\(texts)")
            #expect(texts[1].wholeMatch(of: /authorization: "\d{4}\/.* GMT \+0000"/) != nil, "\(texts)")
            #expect(texts[2] == #"zip: ["12345"]"#)
            #expect(texts[3].hasPrefix("maxRating: {"), "\(texts)")
            #expect(texts[4] == "nothing: no value")
            #expect(texts[5].wholeMatch(of: /device: "[0-9a-f]{32}"/) != nil, "\(texts)")
        }
    }

    /// A provider and options, and the provider of the login, or the text of the failure.
    private static let platforms: [(provider: String, options: [String], outcome: String, isListed: Bool)] = [
        ("PlatformMVPD", [], "PlatformMVPD", true),
        ("DTV", [], "DTV", true),
        // The platform does not list it: the application's own picker follows.
        ("SandboxMVPD", [], "SandboxMVPD", false),
        ("DTV", ["--filter", "PlatformMVPD"], "DTV", false),
        ("DTV", ["--filter", "PlatformMVPD", "--filter", "DTV", "--featured", "DTV"], "DTV", true),
    ]

    @Test("flow D: the platform's picker has the filtered providers", arguments: platforms.indices)
    func platform(index: Int) async throws {
        let (provider, options, outcome, isListed) = Self.platforms[index]
        try await onThread {
            let stage = try ViewStage { text in
                let name = "displayName: Plain Form TV"
                let picker =
                    "\n    enablePlatformServices: true\n    boardingStatus: PICKER\n    platformMappingId: dtv"
                return text.replacing(name, with: name + picker)
            }
            let run = try stage.journey(ViewStage.login("alice", at: provider) + ["--platform-sso"] + options)
            #expect(run.exit == 0)
            #expect(run.text("login")?.hasPrefix("with \(outcome), until ") == true, "\(run.texts)")
            // The application's own picker reports the provider.
            #expect(run.steps.contains("provider") == !isListed)
        }
    }

    @Test("prints when a retry is allowed", arguments: ["v1", "v2"])
    func throttling(interface: String) async throws {
        try await onThread {
            let stage = try ViewStage()
            try stage.control(#"{"throttling":{"rate":1,"burst":1}}"#)
            let arguments = ViewStage.login("alice") + ["--interface", interface]
            let runs = try (0..<4).map { _ in try stage.view(arguments) }
            let refused = try #require(runs.first { $0.output.contains("action: retry-after") }, "\(runs)")
            #expect(refused.status == 1)
            #expect(refused.output.contains("retry after 1 s"), "\(refused.output)")
        }
    }

    @Test func `data opens promotional access`() async throws {
        try await onThread {
            let stage = try ViewStage()
            let promotion = ViewStage.login("alice", at: "PromotionalTempPass")
            #expect(try stage.journey(promotion).exit == 1)
            #expect(try stage.journey(promotion + ["--data", "email=viewer@example.com"]).exit == 0)
        }
    }

    @Test func `options reach the client`() throws {
        let arguments = ["--visitor-id", "visitor-1", "--second-screen", "--redirect-url", "a.b://c"]
        let command = try ViewCommand.parse(arguments)
        #expect(command.options.visitorID == "visitor-1")
        #expect(command.options.login == .secondScreen(askingEvery: .seconds(5)))
        #expect(command.options.redirectURL == "a.b://c")
    }

    /// Arguments, the exit code, and the expected message.
    private static let wrong: [(arguments: [String], status: Int32, says: String)] = [
        (["--user", "alice"], 64, "--user and --password require each other"),
        (["--gate", "http://127.0.0.1:1"], 64, "--gate requires --media or --resource"),
        (["--media", "tnt-live"], 64, "--media requires --gate"),
        (["--service", "ftp://a"], 64, "http:// or https://"),
        (["--json"], 64, "--json cannot prompt"),
        (["--interface", "v3"], 64, "v3"),
        (["--platform-sso"], 64, "--platform-sso requires --user"),
        (["--filter", "A"], 64, "--filter requires --platform-sso"),
        (["--platform-sso", "--user", "a", "--password", "a", "--featured", "A"], 64, "--featured requires --filter"),
        (["--data", "email"], 64, "name=value"),
        (
            ["--service", "http://127.0.0.1:9", "--user", "a", "--password", "a"], 2,
            "http://127.0.0.1:9 did not respond; start the sandbox with: playgate-sandbox serve"
        ),
    ]

    @Test("wrong usage is told, and what cannot be done is 2", arguments: wrong.indices)
    func usage(index: Int) async throws {
        let (arguments, status, says) = Self.wrong[index]
        let run = try await onThread { try CommandRun(["view"] + arguments, of: "playgate-sandbox") }
        #expect(run.status == status, "\(run.output)\(run.error)")
        #expect((run.output + run.error).contains(says), "\(run.output)\(run.error)")
    }

    @Test func `a wrong password, an unknown provider and a silent gate are reported`() async throws {
        try await onThread {
            let stage = try ViewStage()
            let password = try stage.journey(
                ["--provider", "SandboxMVPD", "--user", "alice", "--password", "wrong"]
            )
            #expect(password.exit == 1)
            #expect(password.text("login") == "the provider rejected the user name or password")
            let provider = try stage.journey(ViewStage.login("alice", at: "Nobody"))
            #expect(provider.exit == 1)
            #expect(provider.text("login")?.hasPrefix("unknown provider Nobody; known: SandboxMVPD") == true)
            let gate = try stage.journey(
                ViewStage.login("alice") + ["--resource", "TNT", "--gate", "http://127.0.0.1:9"]
            )
            #expect(gate.exit == 2)
            #expect(gate.text("gate")?.hasPrefix("the gate at http://127.0.0.1:9 did not respond") == true)
        }
    }
}
