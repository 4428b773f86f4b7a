// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Testing

@testable import AccessEnabler

@Suite struct `Logout` {
    @Test(
        "inventory 26, flow H: nobody is authenticated here, at the service, or at the provider",
        arguments: ServiceProvider.Interface.allCases
    )
    func logout(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            _ = await enabler.checkAuthorization("TNT")
            #expect(await enabler.logout() == .complete)
            #expect(await enabler.checkAuthentication().viewer == nil)
            #expect(await enabler.getSelectedProvider() == nil)
            #expect(await enabler.checkAuthorization("TNT").token == nil)
            // The viewer is logged out at the service too.
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            #expect(await enabler.checkAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            // Documented: 0 means success here.
            #expect(application.events("logoutComplete") == ["logoutComplete 0"])
            #expect(application.events("navigateToURL").count == 1)
        }
    }

    @Test("inventory 26: without a viewer there is nothing to do")
    func nobody() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            #expect(await enabler.logout() == .complete)
            await enabler.finishCallbacks()
            #expect(application.events("navigateToURL").isEmpty)
        }
    }

    @Test("inventory 26: where the service does not answer, the viewer is logged out here all the same")
    func serviceFails() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice")
            try await sandbox.control(#"{"faults":[{"on":"logout","status":503}]}"#)
            guard case .onlyHere = await enabler.logout() else {
                Issue.record("the service has not answered")
                return
            }
            #expect(await enabler.checkAuthentication().viewer == nil)
        }
    }

    @Test("a browser that never comes back holds up nobody who gives up")
    func givesUp() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = await sandbox.storage(of: "alice")
            // The same viewer, with an application whose browser stays closed.
            let application = Application()
            let enabler = await sandbox.client(application, storage: storage)
            let call = Task { await enabler.logout() }
            await application.hears("navigateToURL")
            call.cancel()
            #expect(await call.value == .complete)
            await enabler.finishCallbacks()
            #expect(application.events("logoutComplete").count == 1)
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
            #expect(await logout == .complete)
            await application.hears("displayProviderDialog")
            #expect(await enabler.logout() == .complete)
            #expect(await login.errorCode == .genericAuthentication)
        }
    }
}
