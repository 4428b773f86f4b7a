// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

/// The flows A to I of the cookbook, each twice at the same moment. Every step must succeed.
@Suite struct `All flows of a viewer` {
    /// A journey of a viewer.
    private struct Flow: Sendable {
        let name: String
        var provider = "SandboxMVPD"
        var media = "tnt-live"
        var options: [String] = []
        /// The steps between configuration and playback; a token is needed if there are any.
        let steps: [String]
        /// The steps after the playback.
        var end: [String] = []
        /// The text of the last step.
        let says: String

        var allSteps: [String] {
            let token = steps.isEmpty ? [] : ["authorization", "media token"]
            return ["configuration", "media"] + steps + token + ["gate"] + end
        }
    }

    private static let flows = [
        Flow(
            name: "A, B, C, F, G, H: log in, play, log out",
            options: ["--logout"],
            steps: ["provider", "login"],
            end: ["logout"],
            says: "logged out"
        ),
        Flow(
            name: "D, I: log in by the platform, play, log out",
            provider: "PlatformMVPD",
            options: ["--platform-sso", "--logout"],
            steps: ["login"],
            end: ["logout"],
            says: "sign out in the settings of the device too"
        ),
        Flow(
            name: "E: log in on a second screen, play",
            options: ["--platform-sso", "--second-screen"],
            steps: ["provider", "second screen", "login"],
            says: "tnt-live: verified"
        ),
        Flow(
            name: "F: the stored login has ended, so log in again, play",
            options: ["--storage"],
            steps: ["login", "login missing", "provider", "login"],
            says: "tnt-live: verified"
        ),
        Flow(name: "G: play unprotected media", media: "trailer", steps: [], says: "trailer: unprotected"),
    ]

    /// One run of a flow.
    private struct Run: Sendable {
        let flow: Flow
        let login: [String]
        let playback: [String]
    }

    @Test("ten times, over v1 and v2, twice within one second: nothing is refused that is not to be refused")
    func flows() async throws {
        try await onThread {
            let stage = try ViewStage()
            // The two runs of a flow are neighbours, so they start together.
            let runs = (0..<10).flatMap { round in
                Self.flows.flatMap { flow in
                    ["v1", "v2"].flatMap { interface in
                        (0..<2).map { copy in
                            let name = "\(round)-\(interface)-\(copy)"
                            return Self.run(of: flow, interface: interface, storage: stage.folder.file(name), on: stage)
                        }
                    }
                }
            }
            let stored = runs.filter { $0.login.contains("--storage") }
            let logins = try concurrently(stored.count) { try stage.journey(stored[$0].login).exit }
            #expect(logins == logins.map { _ in 0 })
            try stage.control(#"{"expireAuthentication":true}"#)
            let journeys = try concurrently(runs.count) { index in
                (runs[index], try stage.journey(runs[index].login + runs[index].playback))
            }
            for (run, journey) in journeys {
                let facts = "\(run.flow.name), \(run.login): \(journey.texts)"
                #expect(journey.exit == 0, "\(facts)")
                #expect(journey.steps == run.flow.allSteps, "\(facts)")
                #expect(journey.texts.last == run.flow.says, "\(facts)")
            }
            let tokens = journeys.flatMap { $1.tokens }
            #expect(tokens.count == runs.count * 4 / 5)
            #expect(Set(tokens).count == tokens.count, "two media tokens have the same bytes")
        }
    }

    private static func run(of flow: Flow, interface: String, storage: String, on stage: ViewStage) -> Run {
        let options = flow.options.flatMap { $0 == "--storage" ? [$0, storage] : [$0] }
        let login = ViewStage.login("alice", at: flow.provider) + ["--interface", interface] + options
        return Run(flow: flow, login: login, playback: stage.play(flow.media) + ["--print-token"])
    }
}
