// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import NIOHTTP1
import Sandbox
import Synchronization
import Testing
import ViewerTools

@testable import AccessEnabler

/// Calls and callbacks while a request is in flight.
@Suite struct `In the middle of a call` {
    private static let interfaces = ServiceProvider.Interface.allCases

    /// Creates a client with an authenticated viewer that holds each request with that name in its path.
    private static func clientHolding(
        _ name: String,
        in sandbox: SandboxFixture,
        interface: ServiceProvider.Interface = .v2
    ) async throws -> (AccessEnabler, Application, Turnstile, MemoryTokenStorage) {
        let (turnstile, storage) = (Turnstile(name), MemoryTokenStorage())
        let application = Application(.provider("SandboxMVPD"), user: "alice")
        let enabler = await sandbox.client(application, interface: interface, storage: storage) { request in
            await turnstile.pass(request)
            return nil
        }
        _ = try #require(await enabler.getAuthentication().viewer)
        await enabler.finishCallbacks()
        application.forget()
        await turnstile.close()
        return (enabler, application, turnstile, storage)
    }

    @Test("a viewer who logs out while authorized gets no token, and leaves no authorization", arguments: interfaces)
    func logsOut(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application, turnstile, storage) = try await Self.clientHolding(
                "authorize",
                in: sandbox,
                interface: interface
            )
            async let answer = enabler.checkAuthorization("TNT")
            await turnstile.hasWaiter()
            #expect(await enabler.logout() == .complete)
            // Another viewer logs in.
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            let next = await enabler.getAuthentication()
            #expect(next.viewer != nil)
            await turnstile.open()
            #expect(await answer.failure?.errorCode == .userNotAuthenticated)
            #expect(await enabler.checkAuthentication().viewer != nil)
            #expect(await storage.load().requestors["REF30"]?.authorizations["SandboxMVPD"] ?? [] == [])
            await enabler.finishCallbacks()
            #expect(application.tokens.isEmpty)
            #expect(application.events("tokenRequestFailed").count == 1)
        }
    }

    @Test("what the service says of one viewer does not log out the next", arguments: ["authorize", "preauthorize"])
    func staleFailure(name: String) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _, turnstile, _) = try await Self.clientHolding(name, in: sandbox)
            try await sandbox.control(
                #"{"faults":[{"on":"\#(name)","code":"authenticated_profile_missing","times":1}]}"#
            )
            async let token = enabler.checkAuthorization("TNT")
            async let locks = enabler.checkPreauthorizedResources(["TNT"])
            await turnstile.hasWaiter()
            _ = await enabler.logout()
            #expect(await enabler.getAuthentication().viewer != nil)
            await turnstile.open()
            _ = await (token, locks)
            #expect(await enabler.checkAuthentication().viewer != nil)
        }
    }

    @Test("a login goes on while the requestor is set again")
    func setRequestorInLogin() async throws {
        try await SandboxFixture.with { sandbox in
            let turnstile = Turnstile("configuration")
            let application = Application()
            let enabler = await sandbox.client(application) {
                await turnstile.pass($0); return nil
            }
            async let status = enabler.getAuthentication()
            await application.hears("displayProviderDialog")
            await enabler.setSelectedProvider("SandboxMVPD")
            await enabler.finishCallbacks()
            await turnstile.close()
            async let again = enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            await turnstile.hasWaiter()
            let url = try #require(application.urls.first)
            let end = try await FormBrowser(redirectURL: "adobepass://ios.app").visit(url, user: "bob", password: "bob")
            #expect(await enabler.handleExternalURL(end))
            #expect(await status.viewer?.mvpd == "SandboxMVPD")
            await turnstile.open()
            #expect(await again.status == .success)
            #expect(await enabler.checkAuthentication().viewer?.mvpd == "SandboxMVPD")
        }
    }

    @Test("another requestor ends a login, and who left the picker is answered also without a configuration")
    func otherRequestor() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            async let status = enabler.getAuthentication()
            await application.hears("displayProviderDialog")
            try await sandbox.control(#"{"faults":[{"on":"configuration","status":503}]}"#)
            await enabler.setRequestor("QUIET", serviceProviders: [sandbox.provider()])
            #expect(await status.errorCode == .genericAuthentication)
            await enabler.setSelectedProvider(nil)
            await enabler.finishCallbacks()
            #expect(application.events("setAuthenticationStatus").count == 2)
        }
    }

    @Test("a logout without a configuration removes the login all the same")
    func logoutOffline() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = await sandbox.storage(of: "alice")
            try await sandbox.control(#"{"faults":[{"on":"configuration","close":true}]}"#)
            let enabler = await sandbox.client(storage: storage)
            guard case .onlyHere = await enabler.logout() else {
                Issue.record("no service was asked")
                return
            }
            #expect(await storage.load().requestors["REF30"] == nil)
        }
    }

    @Test("every provider that a viewer logged in with is logged out")
    func severalProviders() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = MemoryTokenStorage()
            for mvpd in ["SandboxMVPD", "DTV"] {
                let enabler = await sandbox.client(Application(.provider(mvpd), user: "alice"), storage: storage)
                #expect(await enabler.getAuthentication(force: true).viewer?.mvpd == mvpd)
            }
            let enabler = await sandbox.client(Application(user: "alice"), storage: storage)
            #expect(await enabler.logout() == .complete)
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            #expect(await enabler.checkAuthentication().viewer == nil)
        }
    }

    @Test("locks of one requestor are none of another")
    func locksByRequestor() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = MemoryTokenStorage()
            for requestor in ["QUIET", "REF30"] {
                let application = Application(.provider("SandboxMVPD"), user: "alice")
                let enabler = await sandbox.client(application, requestor: requestor, storage: storage)
                _ = await enabler.getAuthentication()
            }
            let enabler = await sandbox.client(storage: storage)
            #expect(await enabler.checkPreauthorizedResources(["TNT"]) == ["TNT"])
            try await sandbox.control(#"{"denied":["TNT"]}"#)
            await enabler.setRequestor("QUIET", serviceProviders: [sandbox.provider()])
            #expect(await enabler.checkPreauthorizedResources(["TNT"]).isEmpty)
        }
    }

    @Test("logins that cannot be read are not replaced")
    func unreadableStorage() async throws {
        try await SandboxFixture.with { sandbox in
            let folder = try TemporaryFolder()
            let path = try folder.write("logins", contents: "damaged")
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, storage: FileTokenStorage(path: path, integrityCheck: .all))
            #expect(await enabler.getAuthorization("TNT").token != nil)
            #expect(try folder.text("logins") == "damaged")
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status LS011 warning"])
            let clearing = await sandbox.client(
                Application(.provider("SandboxMVPD"), user: "alice"),
                storage: FileTokenStorage(path: path, integrityCheck: .clear)
            )
            _ = await clearing.getAuthentication()
            #expect(try folder.text("logins") != "damaged")
        }
    }

    @Test("a decision that is to be asked for again is, as often as it may be", arguments: interfaces)
    func retriesDecision(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let requests = Mutex(0)
            let delays = Delays()
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: interface, delays: delays) { request in
                if request.path.contains("authorize") { requests.withLock { $0 += 1 } }
                return nil
            }
            _ = await enabler.getAuthentication()
            try await sandbox.control(#"{"faults":[{"on":"authorize","code":"network_connection_timeout"}]}"#)
            #expect(await enabler.checkAuthorization("TNT").failure?.status?.knownCode == .networkConnectionTimeout)
            #expect(requests.withLock { $0 } == 3)
            #expect(delays.all.count == 2)
            // A fault is no denial: the viewer may retry at once.
            try await sandbox.control(#"{"faults":[]}"#)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
        }
    }

    @Test("attempts do not multiply: three in all, for whatever has no answer", arguments: interfaces)
    func attempts(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let requests = Mutex<[String: Int]>([:])
            let delays = Delays()
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: interface, delays: delays) { request in
                for name in ["token", "preauthorize"] where request.path.contains(name) {
                    requests.withLock { $0[name, default: 0] += 1 }
                }
                return nil
            }
            _ = await enabler.getAuthentication()
            try await sandbox.control(#"{"faults":[{"on":"preauthorize","close":true}]}"#)
            let answer = await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"]))
            #expect(answer.value.status?.knownCode == .networkError)
            #expect(requests.withLock { $0["preauthorize"] } == 3)
            #expect(delays.all.count == 2)
            // The access token has expired, and there is no new one.
            requests.withLock { $0 = [:] }
            sandbox.clock.advance(seconds: 86_400)
            try await sandbox.control(#"{"faults":[{"on":"token","close":true}]}"#)
            #expect(await enabler.checkAuthorization("TNT").failure != nil)
            #expect(requests.withLock { $0["token"] } == 3)
            #expect(delays.all.count == 4)
        }
    }

    /// An error of REST v1 in its old form, the request that it answers, and its meaning.
    private static let oldErrors: [(name: String, status: Int, code: StatusCode, error: EntitlementErrorCode)] = [
        ("authorize", 403, .authorizationDeniedByMVPD, .userNotAuthorized),
        ("authorize", 412, .authenticationSessionMissing, .userNotAuthenticated),
        ("media", 412, .authenticationSessionMissing, .userNotAuthenticated),
    ]

    @Test("errors of the old form, with a status and a message alone, are understood", arguments: oldErrors.indices)
    func oldForm(index: Int) async throws {
        let (name, status, code, error) = Self.oldErrors[index]
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: .v1) { request in
                guard request.path.last == name else { return nil }
                let body = #"{"status":\#(status),"message":"User not authorized","details":"Not in your package."}"#
                return ServiceAnswer(
                    status: status,
                    headers: ["content-type": "application/json"],
                    body: [UInt8](body.utf8)
                )
            }
            _ = await enabler.getAuthentication()
            let failure = try #require(await enabler.checkAuthorization("TNT").failure)
            #expect(failure.errorCode == error)
            #expect(failure.status?.knownCode == code)
            #expect(failure.errorDescription == "Not in your package.")
        }
    }

    @Test("a timeout that has the status 403 logs nobody out (v1)")
    func timeoutIsNoLogout() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice", interface: .v1)
            try await sandbox.control(#"{"faults":[{"on":"profiles","code":"network_connection_timeout"}]}"#)
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(.v1)])
            #expect(await enabler.checkAuthentication().viewer != nil)
        }
    }
}
