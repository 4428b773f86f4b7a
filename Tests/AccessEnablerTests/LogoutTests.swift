// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Testing

@testable import AccessEnabler

@Suite struct `Logout` {
    private static let interfaces = ServiceProvider.Interface.allCases
    /// The documented status 0, which means success here.
    private static let documented = "setAuthenticationStatus 0 User Not Authenticated Error"

    @Test(
        "inventory 26, flow H: nobody is authenticated here, at the service, or at the provider",
        arguments: interfaces
    )
    func logout(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            _ = await enabler.checkAuthorization("TNT")
            await enabler.finishCallbacks()
            application.forget()
            #expect(await enabler.logout() == .complete)
            await enabler.finishCallbacks()
            #expect(application.events == ["navigateToURL", Self.documented, "logoutComplete 0"])
            #expect(await enabler.checkAuthentication().viewer == nil)
            #expect(await enabler.getSelectedProvider() == nil)
            #expect(await enabler.checkAuthorization("TNT").token == nil)
            // The viewer is logged out at the service too.
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            #expect(await enabler.checkAuthentication().viewer == nil)
        }
    }

    @Test("inventory 26: without a browser on this device, the service alone is asked", arguments: interfaces)
    func secondScreen(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let storage = MemoryTokenStorage()
            _ = try await sandbox.viewer("alice", interface: interface, storage: storage)
            let application = Application()
            let enabler = await sandbox.client(
                application,
                interface: interface,
                storage: storage,
                options: AccessEnablerOptions(login: .secondScreen(askingEvery: .seconds(5)))
            )
            #expect(await enabler.logout() == .complete)
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            #expect(await enabler.checkAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            #expect(application.events("navigateToURL").isEmpty)
            #expect(application.events("setAuthenticationStatus").first == Self.documented)
        }
    }

    @Test("inventory 26: without a viewer there is nothing to do")
    func nobody() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            #expect(await enabler.logout() == .complete)
            await enabler.finishCallbacks()
            #expect(application.events == ["setRequestorComplete 1", Self.documented, "logoutComplete 0"])
        }
    }

    @Test("inventory 26: where the service does not answer, the viewer is logged out here all the same")
    func serviceFails() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice")
            try await sandbox.control(#"{"faults":[{"on":"logout","status":503}]}"#)
            #expect(await enabler.logout().fault?.knownCode == .serverResponseFormatUnknown)
            #expect(await enabler.checkAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            #expect(application.events("setAuthenticationStatus").first == Self.documented)
        }
    }

    /// An end of a logout whose browser does not come back.
    private static let ends: [(name: String, act: @Sendable (AccessEnabler, Task<LogoutStatus, Never>) async -> Void)] =
        [
            ("the browser fails", { enabler, _ in await enabler.setSelectedProvider(nil) }),
            ("the call is given up", { _, call in call.cancel() }),
            ("another logout begins", { enabler, _ in _ = await enabler.logout() }),
        ]

    @Test("inventory 26: a browser that does not come back is reported", arguments: ends.indices)
    func browserFails(index: Int) async throws {
        try await SandboxFixture.with { sandbox in
            let storage = await sandbox.storage(of: "alice")
            // The same viewer, with an application whose browser stays closed.
            let application = Application()
            let enabler = await sandbox.client(application, storage: storage)
            let call = Task { await enabler.logout() }
            await application.hears("navigateToURL")
            await Self.ends[index].act(enabler, call)
            #expect(await call.value.fault?.code == "logout_unfinished", "\(Self.ends[index].name)")
            await enabler.finishCallbacks()
            #expect(application.events("logoutComplete").count == (index == 2 ? 2 : 1))
        }
    }

    @Test("a login that begins ends a logout that waits, and the other way round")
    func each() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = await sandbox.storage(of: "alice")
            let application = Application()
            let enabler = await sandbox.client(application, storage: storage)
            async let logout = enabler.logout()
            await application.hears("navigateToURL")
            async let login = enabler.getAuthentication()
            #expect(await logout.fault?.code == "logout_unfinished")
            await application.hears("displayProviderDialog")
            #expect(await enabler.logout() == .complete)
            #expect(await login.errorCode == .genericAuthentication)
        }
    }
}

extension LogoutStatus {
    /// The reason why the state at the service is unknown.
    fileprivate var fault: Status? {
        if case .onlyHere(let status) = self { return status }
        return nil
    }
}
