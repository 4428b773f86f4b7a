// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessEnabler
import Entitlements
import GateTestSupport
import Integrator
import MediaResources
import MediaTokens
import Platform
import Testing
import ViewerTools

typealias Published = Integrator.Application

/// Runs code that is written to the documents: the sources of the package Tests/Integrator.
@MainActor @Suite struct `Code of integrators` {
    /// A browser in which alice logs in.
    private static func browse(_ url: String) async -> String? {
        try? await FormBrowser(redirectURL: Published.end).visit(url, user: "alice", password: "alice")
    }

    /// The callbacks of the whole cookbook with SandboxMVPD, without tracking.
    private static let callbacks = [
        "setRequestorComplete success",
        "status N000 info", "setAuthenticationStatus error USER_NOT_AUTHENTICATED_ERROR",
        "displayProviderDialog SandboxMVPD Sandbox TV", "navigateToUrl",
        "setAuthenticationStatus success USER_AUTHENTICATED",
        "selectedProvider SandboxMVPD false false",
        "preauthorizedResources TNT,CNN", "preauthorizedResources TNT,CNN",
        "setToken TNT", "setToken TNT", "setToken TBS", "setToken TBS",
        "setMetadataStatus authentication - true 2031/02/01 10:04:05 GMT +0000",
        "setMetadataStatus authorization TBS true 2031/01/02 16:04:05 GMT +0000",
        "setMetadataStatus device - true nil",
        #"setMetadataStatus user zip true ["12345"]"#,
        "setMetadataStatus -1 - false nil",
        "navigateToUrl", "setAuthenticationStatus error USER_NOT_AUTHENTICATED_ERROR",
    ]

    @Test("inventory 1 to 47, flows A, B, C, F and H: every documented call, callback and constant by its name")
    func journey() async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let application = Published(
                AccessEnabler(SandboxFixture.statement, storage: MemoryTokenStorage()),
                browser: Self.browse
            )
            await application.journey(at: sandbox.url, provider: "SandboxMVPD")
            #expect(application.untracked == Self.callbacks)
            #expect(
                application.tracked == [
                    "sendTrackingData authentication false", "sendTrackingData selection SandboxMVPD",
                    "sendTrackingData authentication true",
                ] + Array(repeating: "sendTrackingData authorization true", count: 4)
            )
            let token = try #require(application.mediaToken)
            let answer = try sandbox.verifier().verify(token, for: try MediaResource("TBS"), at: sandbox.clock.now)
            #expect(answer.reason == nil)
        }
    }

    @Test("inventory 30 to 41: the published sample, in both spellings", arguments: [true, false])
    func sample(hasLabel: Bool) async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let storage = MemoryTokenStorage()
            _ = try await sandbox.viewer("bob", storage: storage)
            let enabler = await sandbox.client(requestor: nil, storage: storage)
            let early = await Self.preauthorize(by: enabler, hasLabel: hasLabel)
            #expect(!early.isResponse && early.lines[0].hasPrefix("0 requestor_not_configured | retry | No requestor"))
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(.v1)])
            let answer = await Self.preauthorize(by: enabler, hasLabel: hasLabel)
            #expect(answer.isResponse)
            #expect(answer.lines == ["TNT true ", "TBS true ", "CNN false authorization_denied_by_mvpd"])
        }
    }

    private static func preauthorize(
        by enabler: AccessEnabler,
        hasLabel: Bool
    ) async -> (isResponse: Bool, lines: [String]) {
        await withCheckedContinuation { continuation in
            preauthorizeAsPublished(enabler, hasLabel: hasLabel) {
                continuation.resume(returning: ($0, describe($1)))
            }
        }
    }

    @Test("inventory 31: the setters of a builder change it, and it builds equal, independent requests")
    func builder() {
        #expect(
            requestsOfOneBuilder() == [
                PreauthorizeRequest(resources: ["TNT"]),
                PreauthorizeRequest(resources: ["TNT"], disabling: [.remoteCache]),
                PreauthorizeRequest(resources: ["TNT"], disabling: [.remoteCache]),
            ]
        )
    }

    @Test(
        "inventory 11, 12, 13, 21, 22: the other forms of getAuthentication, with the platform's picker",
        arguments: Published.Login.allCases
    )
    func login(form: Published.Login) async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let platform = ScriptedPlatform(.otherProvider)
            let enabler = await sandbox.client(nil, platform: platform)
            let application = Published(enabler, browser: Self.browse)
            await application.wait(for: "setAuthenticationStatus") {
                application.logIn(form, provider: "SandboxMVPD")
            }
            #expect(
                application.untracked == [
                    "presentTvProviderDialog", "dismissTvProviderDialog", "status N003 info",
                    "displayProviderDialog SandboxMVPD Sandbox TV", "navigateToUrl",
                    "setAuthenticationStatus success USER_AUTHENTICATED",
                ]
            )
            #expect(platform.offered.all == ["PlatformMVPD"])
            let isDictionary = form == .filter || form == .withDataAndFilter
            #expect(platform.offered.featured == (isDictionary ? ["PlatformMVPD"] : []))
        }
    }

    @Test("inventory 6, 7, 13, 19: what is deprecated compiles, and the signature is not needed")
    func deprecated() async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let application = Published(AccessEnabler(SandboxFixture.statement, storage: MemoryTokenStorage())) { _ in
                nil
            }
            let calls: any DeprecatedCalls = application
            await application.wait(for: "setRequestorComplete") { calls.setRequestorSigned(at: [sandbox.url]) }
            // The second call overtakes the first one, which is answered first.
            await application.wait(for: "setRequestorComplete") {}
            #expect(application.events == ["setRequestorComplete error", "setRequestorComplete success"])
        }
    }

    @Test("inventory 14, 16, 43b: who goes back, and a login that fails")
    func goesBack() async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let enabler = await sandbox.client(nil)
            let application = Published(enabler) { _ in nil }
            for provider in ["Nobody", "SandboxMVPD"] {
                await application.wait(for: "setAuthenticationStatus") {
                    application.logIn(.withData, provider: provider)
                }
            }
            let failed = "setAuthenticationStatus error PROVIDER_NOT_SELECTED_ERROR"
            #expect(application.events.filter { $0.hasPrefix("setAuthenticationStatus") } == [failed, failed])
        }
    }

    @Test("inventory 1: the package depends on the library product alone, and has the sources of these tests")
    func package() throws {
        let folder = repository + "/Tests/Integrator"
        let manifest = try CommandRun(
            "/usr/bin/env",
            arguments: ["swift", "package", "--package-path", folder, "dump-package"]
        )
        #expect(manifest.status == 0, "\(manifest.error)")
        let text = manifest.output.filter { !$0.isWhitespace }
        #expect(text.contains(#""dependencies":[{"product":["AccessEnabler","playgate""#))
        #expect(text.ranges(of: #"{"product":["#).count == 1)
    }

    @Test("the delegate is not retained, and without it no call waits")
    func released() async throws {
        try await SandboxFixture.with { @MainActor sandbox in
            let enabler = await sandbox.client(nil)
            var application: Published? = Published(enabler) { _ in nil }
            #expect(enabler.delegate === application)
            application = nil
            #expect(enabler.delegate == nil)
            #expect(await enabler.getAuthentication().errorCode == .genericAuthentication)
        }
    }
}

extension Integrator.Application {
    fileprivate var tracked: [String] { events.filter { $0.hasPrefix("sendTrackingData") } }
    fileprivate var untracked: [String] { events.filter { !$0.hasPrefix("sendTrackingData") } }
}
