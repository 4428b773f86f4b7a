// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import NIOHTTP1
import Synchronization
import Testing

@testable import AccessEnabler

/// A platform with a scripted outcome.
final class ScriptedPlatform: PlatformSignOn {
    private let outcome: PlatformSignOnOutcome
    private let assertion: @Sendable (MVPD, String) async -> String?
    private let seen = Mutex<(all: [String], featured: [String])>(([], []))

    init(
        _ outcome: PlatformSignOnOutcome,
        assertion: @escaping @Sendable (MVPD, String) async -> String? = { _, _ in nil }
    ) {
        self.outcome = outcome
        self.assertion = assertion
    }

    /// The providers that its picker showed.
    var offered: (all: [String], featured: [String]) { seen.withLock { $0 } }

    func currentProvider() async -> String? {
        if case .signedOn(let mvpd) = outcome { return mvpd }
        return nil
    }

    func present(_ mvpds: [MVPD], featured: [MVPD]) async -> PlatformSignOnOutcome {
        seen.withLock { $0 = (mvpds.map(\.id), featured.map(\.id)) }
        return outcome
    }

    func assertion(_ mvpd: MVPD, request: String) async -> String? { await assertion(mvpd, request) }
}

@Suite struct `Sign-on of a platform` {
    @Test(
        "inventory 21, flow D and I: a viewer of the platform is authenticated, and signs out in its settings",
        arguments: ServiceProvider.Interface.allCases
    )
    func signedOn(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let platform = ScriptedPlatform(.signedOn(mvpd: "PlatformMVPD")) { mvpd, request in
                guard !request.isEmpty else { return nil }
                var signIn = ServiceRequest(
                    method: .POST,
                    path: ["sandbox", "platform", "sign-in"],
                    isAuthorized: false
                )
                signIn.form = [("mvpd", mvpd.id), ("username", "alice"), ("password", "alice")]
                let answer = try? await HTTPTransport().send(signIn, to: sandbox.url, within: .seconds(20))
                let said = answer.flatMap { try? EntitlementBody.read([String: String].self, json: $0.body) }
                return said?["SAMLResponse"]
            }
            // The user is for the browser in the logout.
            let application = Application(user: "alice")
            let enabler = await sandbox.client(application, interface: interface, platform: platform)
            let status = await enabler.getAuthentication()
            #expect(status.viewer?.mvpd == "PlatformMVPD", "\(status)")
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            #expect(await enabler.logout() == .signOutOfPlatform)
            await enabler.finishCallbacks()
            #expect(
                application.events.filter { $0.contains("TvProviderDialog") || $0.hasPrefix("status") } == [
                    "presentTvProviderDialog", "dismissTvProviderDialog", "status VSA203 info",
                ]
            )
            #expect(application.events("displayProviderDialog").isEmpty)
        }
    }

    /// The outcome of the platform's picker, and the following steps.
    private static let outcomes: [(PlatformSignOnOutcome, status: String, goesOn: Bool)] = [
        (.cancelled, "N005", false), (.otherProvider, "N003", true), (.unsupported(mvpd: "SandboxMVPD"), "N004", true),
        (.notPermitted, "VSA404", true), (.unavailable, "VSA503", true),
        (.signedOn(mvpd: "Nobody"), "N004", true), (.signedOn(mvpd: "PlatformMVPD"), "VSA503", true),
    ]

    @Test("inventory 22: the platform's picker is left", arguments: outcomes.indices)
    func left(index: Int) async throws {
        let (outcome, status, goesOn) = Self.outcomes[index]
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, platform: ScriptedPlatform(outcome))
            let answer = await enabler.getAuthentication()
            #expect(goesOn ? answer.viewer?.mvpd == "SandboxMVPD" : answer.errorCode == .providerNotSelected)
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status \(status) info"])
            #expect(application.events("dismissTvProviderDialog").count == 1)
            #expect(application.events("setAuthenticationStatus").count == 1)
        }
    }

    private static let mvpds = [
        MVPD(id: "A", displayName: "A", enablePlatformServices: true, boardingStatus: .supported),
        MVPD(id: "B", displayName: "B"),
        MVPD(id: "C", displayName: "C", enablePlatformServices: true, boardingStatus: .picker),
        MVPD(id: "D", displayName: "D", enablePlatformServices: true, boardingStatus: .init(rawValue: "LATER")),
    ]

    /// A filter, and the providers that the picker then shows.
    private static let filters: [(name: String, ProviderFilter?, all: [String], featured: [String])] = [
        ("none", nil, ["A", "C"], []),
        ("the order of the filter is kept", .init(providers: ["C", "A"], featured: ["A"]), ["C", "A"], ["A"]),
        ("those without sign-on are passed over", .init(providers: ["D", "B", "C"]), ["C"], []),
        ("featured must be a subset", .init(providers: ["C"], featured: ["A", "C"]), ["C"], ["C"]),
        ("where none has sign-on, the filter is ignored", .init(providers: ["B"], featured: ["B"]), ["A", "C"], []),
    ]

    @Test("inventory 12: filters of the platform's picker", arguments: filters.indices)
    func filter(index: Int) async throws {
        let (name, filter, all, featured) = Self.filters[index]
        let offered = ProviderFilter.apply(filter, to: Self.mvpds)
        #expect(offered.all.map(\.id) == all, "\(name)")
        #expect(offered.featured.map(\.id) == featured, "\(name)")
    }

    @Test("inventory 12: where no provider has sign-on, the platform is not asked")
    func noProvider() async throws {
        try await SandboxFixture.with { sandbox in
            let platform = ScriptedPlatform(.cancelled)
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, requestor: "QUIET", platform: platform)
            #expect(await enabler.getAuthentication().viewer?.mvpd == "SandboxMVPD")
            #expect(platform.offered.all.isEmpty)
        }
    }
}
