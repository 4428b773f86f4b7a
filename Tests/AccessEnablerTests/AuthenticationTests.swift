// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import Testing
import ViewerTools

@testable import AccessEnabler

@Suite struct `Authentication` {
    private static let tracked = "sendTrackingData 0 true|SandboxMVPD|"
    private static let interfaces = ServiceProvider.Interface.allCases

    @Test(
        "inventory 10, 14, 15, 16, 18, 20, flows A and C: picker, login, callbacks in their order, each once",
        arguments: interfaces
    )
    func login(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: interface)
            let status = await enabler.getAuthentication()
            let viewer = try #require(status.viewer)
            #expect(viewer.mvpd == "SandboxMVPD")
            #expect(viewer.expires > sandbox.clock.now)
            #expect(!viewer.isCached)
            await enabler.finishCallbacks()
            let names = application.events.map { $0.split(separator: " ")[0] }
            #expect(
                names == [
                    "setRequestorComplete", "displayProviderDialog", "sendTrackingData", "navigateToURL",
                    "setAuthenticationStatus", "sendTrackingData",
                ]
            )
            #expect(application.events("setAuthenticationStatus") == ["setAuthenticationStatus 1 "])
            #expect(application.events("sendTrackingData 0")[0].hasPrefix(Self.tracked))
            #expect(application.events("sendTrackingData 0")[0].hasSuffix("|false|computer|html5|Linux"))
        }
    }

    @Test("inventory 9, 46, 46a, flow B: a check asks nobody, before and after a login")
    func check() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice")
            // The service would answer no request now.
            try await sandbox.control(#"{"faults":[{"on":"any","status":500}]}"#)
            let status = await enabler.checkAuthentication()
            #expect(status.viewer?.isCached == true)
            sandbox.clock.advance(seconds: 31 * 86_400)
            #expect(await enabler.checkAuthentication().errorCode == .userNotAuthenticated)
            await enabler.finishCallbacks()
            #expect(
                application.events.filter { !$0.hasPrefix("sendTrackingData") } == [
                    "setAuthenticationStatus 1 ", "status N000 info",
                    "setAuthenticationStatus 0 User Not Authenticated Error",
                ]
            )
            #expect(application.events("sendTrackingData 0 true")[0].contains("|true|"))
            #expect(application.events("sendTrackingData 0 false") == ["sendTrackingData 0 false"])
        }
    }

    @Test("inventory 10: who is authenticated already is not asked again; inventory 11: unless it is forced")
    func again() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice")
            #expect(await enabler.getAuthentication().viewer?.isCached == true)
            #expect(application.events("displayProviderDialog").isEmpty)
            #expect(await enabler.getAuthentication(force: true).viewer?.isCached == false)
            await enabler.finishCallbacks()
            #expect(application.events("displayProviderDialog").count == 1)
            #expect(application.events("navigateToURL").count == 1)
        }
    }

    @Test("inventory 14, 15: who leaves the picker has no provider, and can begin again")
    func leavesPicker() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.nobody)
            let enabler = await sandbox.client(application)
            #expect(await enabler.getAuthentication().errorCode == .providerNotSelected)
            #expect(await enabler.getAuthentication().errorCode == .providerNotSelected)
            await enabler.finishCallbacks()
            #expect(
                application.events("setAuthenticationStatus")
                    == Array(repeating: "setAuthenticationStatus 0 Provider not Selected Error", count: 2)
            )
        }
    }

    @Test("inventory 15: a provider that the requestor does not have is not available")
    func noSuchProvider() async throws {
        try await SandboxFixture.with { sandbox in
            let enabler = await sandbox.client(Application(.provider("Nobody")))
            #expect(await enabler.getAuthentication().errorCode == .providerNotAvailable)
        }
    }

    @Test("inventory 15, 46c: choosing another provider in the middle of a login begins anew")
    func changesMind() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            async let status = enabler.getAuthentication()
            await application.hears("displayProviderDialog")
            await enabler.setSelectedProvider("Cablevision")
            await enabler.setSelectedProvider("SandboxMVPD")
            await enabler.finishCallbacks()
            let url = try #require(application.urls.last)
            let end = try await FormBrowser(redirectURL: "adobepass://ios.app").visit(url, user: "bob", password: "bob")
            #expect(await enabler.handleExternalURL(end))
            #expect(await status.viewer?.mvpd == "SandboxMVPD")
            await enabler.finishCallbacks()
            #expect(application.events("setAuthenticationStatus").count == 1)
            #expect(application.events("navigateToURL").count == 2)
            #expect(
                application.events("sendTrackingData 2").map { $0.split(separator: "|")[0] } == [
                    "sendTrackingData 2 Cablevision", "sendTrackingData 2 SandboxMVPD",
                ]
            )
        }
    }

    /// URLs that must not end a login with the redirect URL `adobepass://ios.app`.
    private static let foreign = [
        "", "adobepass://ios.application", "https://ios.app", "adobepass://", "adobepass:/ios.app/",
    ]

    @Test("inventory 16, 18: only the redirect URL ends a login, and only while one is under way")
    func externalURL() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            #expect(await enabler.handleExternalURL("adobepass://ios.app") == false)
            async let status = enabler.getAuthentication()
            await application.hears("displayProviderDialog")
            await enabler.setSelectedProvider("SandboxMVPD")
            for url in Self.foreign { #expect(await enabler.handleExternalURL(url) == false, "\(url)") }
            // The redirect URL without a login at the service.
            #expect(await enabler.handleExternalURL("adobepass://ios.app?x=1"))
            #expect(await status.errorCode == .genericAuthentication)
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status N130 error"])
        }
    }

    @Test("inventory 18, 20: a wrong password, then nobody: not authenticated", arguments: interfaces)
    func wrongPassword(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice", password: "wrong")
            let enabler = await sandbox.client(application, interface: interface)
            #expect(await enabler.getAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            #expect(application.events("browser: the provider rejected the user name or password").count == 1)
            #expect(application.events("setAuthenticationStatus").count == 1)
        }
    }

    @Test("inventory 15: temporary access needs no login; its promotional kind needs data", arguments: interfaces)
    func tempPass(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("TempPass"))
            let enabler = await sandbox.client(application, interface: interface)
            #expect(await enabler.getAuthentication().viewer?.mvpd == "TempPass")
            await enabler.finishCallbacks()
            #expect(application.events("navigateToURL").isEmpty)

            let promoted = await sandbox.client(Application(.provider("PromotionalTempPass")), interface: interface)
            #expect(await promoted.getAuthentication().viewer == nil)
            let status = await promoted.getAuthentication(data: ["email": "viewer@example.com"])
            #expect(status.viewer?.mvpd == "PromotionalTempPass", "\(status)")
        }
    }

    @Test(
        "inventory 15: temporary access needs no call of getAuthentication before its selection",
        arguments: interfaces
    )
    func onlyTempPass(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application, interface: interface)
            await enabler.setSelectedProvider("TempPass")
            #expect(await enabler.checkAuthentication().viewer?.mvpd == "TempPass")
            await enabler.finishCallbacks()
            #expect(application.events("displayProviderDialog").isEmpty)
            #expect(application.events("setAuthenticationStatus").first == "setAuthenticationStatus 1 ")
            // The promotional kind has no data this way.
            await enabler.setSelectedProvider("PromotionalTempPass")
            #expect(await enabler.checkAuthentication().viewer?.mvpd == "TempPass")
        }
    }

    @Test(
        "inventory 11: data are sent once, over v2 to temporary access alone, and are not stored",
        arguments: interfaces
    )
    func data(interface: ServiceProvider.Interface) async throws {
        let secret = ["email": "viewer@example.com"]
        let header = "AP-TempPass-Identity"
        try await SandboxFixture.with { sandbox in
            for mvpd in ["SandboxMVPD", "PromotionalTempPass"] {
                let (exchanges, storage) = (Exchanges(), MemoryTokenStorage())
                let application = Application(.provider(mvpd), user: "alice")
                let enabler = await sandbox.client(
                    application,
                    interface: interface,
                    storage: storage,
                    intercept: exchanges.pass
                )
                let viewer = await enabler.getAuthentication(data: secret).viewer
                #expect(viewer?.mvpd == mvpd)
                let sent = exchanges.all().filter { $0.header(header) == secret.base64JSON }
                #expect(sent.isEmpty == (mvpd == "SandboxMVPD"))
                if interface == .v1 {
                    let parameters = exchanges.all().compactMap { $0.parameter("generic_data") }
                    let isInURL = application.urls.contains { $0.contains("generic_data=") }
                    #expect(parameters == (mvpd == "SandboxMVPD" ? [] : [secret.json]))
                    #expect(isInURL == (mvpd == "SandboxMVPD"))
                }
                let kept = String(decoding: try EntitlementBody.json(await storage.load()), as: UTF8.self)
                #expect(!kept.contains(try #require(secret.base64JSON)) && !kept.contains("viewer@example.com"))
                exchanges.forget()
                _ = await enabler.getMetadata(.userMetadata(key: "zip"))
                _ = await enabler.checkPreauthorizedResources(["TNT"])
                _ = await enabler.checkAuthorization("TNT")
                await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
                #expect(exchanges.all().count > 3)
                #expect(exchanges.all().allSatisfy { $0.header(header) == nil && $0.parameter("generic_data") == nil })
            }
        }
    }

    @Test("inventory 14: a call that nobody can show to the viewer fails, and does not wait", arguments: interfaces)
    func noDelegate(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let enabler = await sandbox.client(nil, interface: interface)
            guard case .notAuthenticated(.genericAuthentication, let status?) = await enabler.getAuthentication() else {
                Issue.record("the login did not fail")
                return
            }
            #expect(status.code == "delegate_missing" && status.status == 0)
            #expect(await enabler.getAuthorization("TNT").failure?.status == status)
            await enabler.setSelectedProvider("SandboxMVPD")
            #expect(await enabler.login == nil)
            // Temporary access shows nothing.
            await enabler.setSelectedProvider("TempPass")
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            let unseen = await sandbox.client(nil, interface: interface, storage: await sandbox.storage(of: "alice"))
            guard case .onlyHere(let fault) = await unseen.logout() else {
                Issue.record("nobody opened a browser")
                return
            }
            #expect(fault.code == "logout_unfinished")
        }
    }

    @Test("inventory 15, flow E: on a second screen, by a code, which is asked after", arguments: interfaces)
    func secondScreen(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"))
            let options = AccessEnablerOptions(login: .secondScreen(askingEvery: .seconds(5)))
            let waits = Delays()
            let enabler = await sandbox.client(application, interface: interface, options: options, delays: waits)
            async let status = enabler.getAuthentication()
            await application.hears("status REGCODE success")
            let code = try #require(application.codes.first)
            // The other screen opens the service's page with the code.
            let path =
                interface == .v2
                ? "/api/v2/authenticate/REF30/\(code)"
                : "/api/v1/authenticate?reg_code=\(code)&requestor_id=REF30&mso_id=SandboxMVPD&redirect_url=adobepass://ios.app"
            let browser = FormBrowser(redirectURL: "adobepass://ios.app")
            _ = try await browser.visit(sandbox.url + path, user: "alice", password: "alice")
            #expect(await status.viewer?.mvpd == "SandboxMVPD")
            #expect(waits.all.allSatisfy { $0 == .seconds(5) })
            await enabler.finishCallbacks()
            #expect(application.events("navigateToURL").isEmpty)
            #expect(application.events("setAuthenticationStatus").count == 1)
        }
    }

    @Test(
        "inventory 17: providers that need the in-app browser end at the application's own URL, all others at the common one"
    )
    func redirectURLs() throws {
        var options = AccessEnablerOptions()
        options.set(["handleSVC": "true", "applicationRedirectURL": "adbe.u://adobe.com"])
        let (plain, svc) = (
            MVPD(id: "A", displayName: "A"), MVPD(id: "B", displayName: "B", requiresSVC: true)
        )
        #expect(options.redirectURL(for: plain) == AccessEnablerOptions.documentedRedirectURL)
        #expect(options.redirectURL(for: svc) == "adbe.u://adobe.com")
        #expect(options.isRedirect("adbe.u://adobe.com?x=1") && options.isRedirect("adobepass://ios.app"))
        #expect(!options.isRedirect("adbe.u://adobe.company"))
        options.set(["redirectURL": "app://end", "handleSVC": "false"])
        #expect(options.redirectURL(for: svc) == "app://end" && options.others.isEmpty)
    }

    @Test("flow E: a code that nobody uses ends with its life")
    func codeExpires() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"))
            let enabler = await sandbox.client(
                application,
                options: AccessEnablerOptions(login: .secondScreen(askingEvery: .seconds(600))),
                delays: Delays { sandbox.clock.advance(seconds: $0.components.seconds) },
                retry: .none
            )
            #expect(await enabler.getAuthentication().errorCode == .genericAuthentication)
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status REGCODE success", "status REG500 error"])
        }
    }

    @Test("inventory 4: another application of this device has logged in, or out, when the requestor is set again")
    func elsewhere() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = MemoryTokenStorage()
            let first = await sandbox.client(Application(.provider("SandboxMVPD"), user: "alice"), storage: storage)
            _ = await first.getAuthentication()
            // Another client on the same device: the records of the first one, without the login.
            var records = await storage.load()
            let known = try #require(records.requestors["REF30"])
            records.requestors = [:]
            let other = MemoryTokenStorage()
            await other.save(records)
            let second = await sandbox.client(storage: other)
            #expect(await second.checkAuthentication().viewer == nil)
            await second.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            #expect(await second.checkAuthentication().viewer?.mvpd == known.provider)
            async let logout = first.logout()
            await first.finishCallbacks()
            #expect(await logout == .complete)
            await second.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            #expect(await second.checkAuthentication().viewer == nil)
        }
    }

    @Test("inventory 23, 24, 25: the provider that is chosen")
    func selectedProvider() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application)
            #expect(await enabler.getSelectedProvider() == nil)
            _ = await enabler.getAuthentication()
            let mvpd = await enabler.getSelectedProvider()
            #expect(mvpd?.displayName == "Sandbox TV")
            #expect(mvpd?.supportsPlatformSSO == false)
            await enabler.finishCallbacks()
            #expect(
                application.events("selectedProvider") == ["selectedProvider none", "selectedProvider SandboxMVPD"]
            )
        }
    }

    @Test("several ask at once: one login, one callback, and an answer for each")
    func together() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application)
            let viewers = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<20 { group.addTask { await enabler.getAuthentication().viewer?.mvpd } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(viewers == Array(repeating: "SandboxMVPD", count: 20))
            await enabler.finishCallbacks()
            #expect(application.events("displayProviderDialog").count == 1)
        }
    }

    @Test("who waits for a login may give up; with the last the login ends")
    func givesUp() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application)
            let first = Task { await enabler.getAuthentication() }
            await application.hears("displayProviderDialog")
            let second = Task { await enabler.getAuthentication() }
            while await enabler.login?.waiters.count != 2 { await Task.yield() }
            first.cancel()
            #expect(await first.value.errorCode == .genericAuthentication)
            #expect(await enabler.login != nil)
            second.cancel()
            #expect(await second.value.errorCode == .genericAuthentication)
            #expect(await enabler.login == nil)
            await enabler.finishCallbacks()
            #expect(application.events("setAuthenticationStatus").count == 1)
        }
    }
}
