// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import MediaResources
import MediaTokens
import NIOHTTP1
import Synchronization
import Testing

@testable import AccessEnabler

@Suite struct `Requestor and configuration` {
    @Test("inventory 1, 4, 8: a requestor is set, by each interface", arguments: ServiceProvider.Interface.allCases)
    func setRequestor(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application()
            let enabler = await sandbox.client(application, requestor: nil)
            let status = await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            #expect(status.status == .success)
            #expect(status.mvpds.map(\.id).prefix(2) == ["SandboxMVPD", "Cablevision"])
            #expect(status.failures.isEmpty)
            await enabler.finishCallbacks()
            #expect(application.events == ["setRequestorComplete 1"])
        }
    }

    /// A fault of the service, and the advanced status that reports it.
    static let faults: [(name: String, control: String, status: String)] = [
        ("an unknown requestor", #"{}"#, "CFG400"),
        ("no service", #"{"faults":[{"on":"configuration","close":true}]}"#, "CFG404"),
        ("not found", #"{"faults":[{"on":"configuration","status":404}]}"#, "CFG404"),
        ("gone", #"{"faults":[{"on":"configuration","status":410}]}"#, "CFG410"),
        ("too many calls", #"{"faults":[{"on":"configuration","status":429}]}"#, "CFG429"),
        ("a fault of the service", #"{"faults":[{"on":"configuration","status":503}]}"#, "CFG5xx"),
        ("garbage", #"{"faults":[{"on":"configuration","body":"<!doctype html>"}]}"#, "CFG5xx"),
        ("not allowed", #"{"faults":[{"on":"configuration","status":403}]}"#, "SEC403"),
        ("a statement that is refused", #"{"faults":[{"on":"register","status":400}]}"#, "R400"),
        ("no access token", #"{"faults":[{"on":"token","status":400}]}"#, "R401"),
    ]

    @Test("inventory 4, 8: why there is no configuration", arguments: faults.indices)
    func noConfiguration(index: Int) async throws {
        let fault = Self.faults[index]
        try await SandboxFixture.with { sandbox in
            try await sandbox.control(fault.control)
            let application = Application()
            let enabler = await sandbox.client(application, requestor: index == 0 ? "NOBODY" : "REF30")
            await enabler.finishCallbacks()
            #expect(application.events == ["status \(fault.status) error", "setRequestorComplete 0"], "\(fault.name)")
            // Calls that wait for the failed configuration return.
            #expect(await enabler.checkAuthentication().errorCode == .genericAuthentication)
            #expect(await enabler.checkAuthorization("TNT").failure?.errorCode == .genericAuthorization)
        }
    }

    @Test("inventory 5: of several services, the first to name a provider keeps it")
    func severalServices() throws {
        func configuration(_ ids: String...) -> Result<ServiceConfiguration, ServiceFailure> {
            .success(
                ServiceConfiguration(
                    id: "REF30",
                    name: "Reference",
                    domains: [.init(name: "\(ids[0]).example")],
                    mvpds: ids.map { MVPD(id: $0, displayName: $0) }
                )
            )
        }
        let (late, early) = (ServiceProvider(url: "http://late"), ServiceProvider(url: "http://early"))
        let answers = [(early, configuration("B", "C")), (late, configuration("A", "B"))]
        let (requestor, failures) = AccessEnabler.merge(answers, requestor: "REF30")
        let found = try #require(requestor)
        #expect(failures.isEmpty)
        #expect(found.mvpds.map(\.id) == ["B", "C", "A"])
        #expect(found.services == ["A": late, "B": early, "C": early])
        #expect(found.domains == [early: "B.example", late: "A.example"])
    }

    @Test("inventory 5: all that concerns a provider is asked at the service that named it")
    func boundService() async throws {
        try await SandboxFixture.with { first in
            try await SandboxFixture.with(Self.otherService) { second in
                let application = Application(.provider("OnlyHere"), user: "alice")
                let enabler = await first.client(application, requestor: nil)
                let status = await enabler.setRequestor(
                    "REF30",
                    serviceProviders: [first.provider(), second.provider()]
                )
                #expect(Set(status.mvpds.map(\.id)).isSuperset(of: ["SandboxMVPD", "Cablevision", "OnlyHere"]))
                #expect(status.mvpds.filter { $0.id == "SandboxMVPD" }.count == 1)
                #expect(await enabler.getAuthentication().viewer?.mvpd == "OnlyHere")
                let token = try #require(await enabler.checkAuthorization("TNT").token)
                #expect(application.urls.allSatisfy { $0.hasPrefix(second.url) })
                let resource = try MediaResource("TNT")
                let answer = try second.verifier().verify(token.serializedToken, for: resource, at: second.clock.now)
                #expect(answer.reason == nil)
            }
        }
    }

    static let otherService = """
        requestors: [{ id: REF30, name: Other, domains: [other.example] }]
        mvpds:
          - { id: SandboxMVPD, displayName: The same }
          - { id: OnlyHere, displayName: Only here }
        packages: [{ id: all, channels: [TNT] }]
        households: [{ id: h, packages: [all], users: [{ name: alice, password: alice, userID: h }] }]
        """

    @Test("inventory 5: one service that is out of order does not hold up the others")
    func oneOfTwo() async throws {
        try await SandboxFixture.with { sandbox in
            let enabler = await sandbox.client(requestor: nil)
            let status = await enabler.setRequestor(
                "REF30",
                serviceProviders: [ServiceProvider(url: "http://127.0.0.1:9"), sandbox.provider()]
            )
            #expect(status.status == .success)
            #expect(status.failures.map(\.knownCode) == [.networkError])
        }
    }

    @Test("inventory 4: without services, that of production is asked; staging has its own")
    func defaultService() async throws {
        let exchanges = Exchanges([("", 503, [:], "")])
        try await SandboxFixture.with { sandbox in
            let enabler = await sandbox.client(requestor: nil, intercept: exchanges.pass)
            _ = await enabler.setRequestor("REF30")
            _ = await enabler.setRequestor("REF30", serviceProviders: [.staging])
            // The documented call, which returns at once.
            func documented(_ enabler: AccessEnabler) { enabler.setRequestor("REF30") }
            documented(enabler)
            await enabler.finishCallbacks()
            while exchanges.all().count < 3 { await Task.yield() }
            #expect(
                exchanges.all().map(\.service) == [
                    "https://sp.auth.adobe.com", "https://sp.auth-staging.adobe.com", "https://sp.auth.adobe.com",
                ]
            )
        }
    }

    @Test("inventory 8: calls before the configuration wait for it, and are answered in order")
    func queue() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.nobody)
            let enabler = await sandbox.client(application, requestor: nil)
            async let login = enabler.getAuthentication()
            async let token = enabler.getAuthorization("TBS")
            async let authentication = enabler.checkAuthentication()
            async let authorization = enabler.checkAuthorization("TNT")
            async let resources = enabler.checkPreauthorizedResources(["TNT"])
            async let metadata = enabler.getMetadata(.authentication)
            async let provider = enabler.getSelectedProvider()
            async let logout = enabler.logout()
            while await enabler.waiting < 8 { await Task.yield() }
            #expect(application.events.isEmpty)
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            #expect(await authentication.errorCode == .userNotAuthenticated)
            #expect(await authorization.failure?.errorCode == .userNotAuthenticated)
            #expect(await resources.isEmpty)
            #expect(await metadata.value == nil)
            #expect(await provider == nil)
            #expect(await logout == .complete)
            // A logout among the calls may have ended the login first.
            #expect([.providerNotSelected, .genericAuthentication].contains(await login.errorCode))
            #expect(await token.failure?.resource == "TBS")
            await enabler.finishCallbacks()
            #expect(application.events.first == "setRequestorComplete 1")
            #expect(application.events("tokenRequestFailed").count == 2)
            for name in ["preauthorizedResources", "setMetadataStatus", "selectedProvider", "logoutComplete"] {
                #expect(application.events(name).count == 1)
            }
        }
    }

    @Test("a call that waits for a configuration can be given up")
    func cancelled() async throws {
        let enabler = AccessEnabler(softwareStatement: SandboxFixture.statement)
        let call = Task { await enabler.checkAuthentication() }
        while await enabler.waiting < 1 { await Task.yield() }
        call.cancel()
        #expect(await call.value.errorCode == .genericAuthentication)
        #expect(await Task { await enabler.checkAuthorization("TNT") }.cancelledValue.failure != nil)
    }

    @Test("the last requestor that is set counts; the call that it overtakes is answered first")
    func setTwice() async throws {
        try await SandboxFixture.with { sandbox in
            let turnstile = Turnstile("QUIET")
            await turnstile.close()
            let application = Application()
            let enabler = await sandbox.client(application, requestor: nil) {
                await turnstile.pass($0); return nil
            }
            async let first = enabler.setRequestor("QUIET", serviceProviders: [sandbox.provider()])
            await turnstile.hasWaiter()
            #expect(await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()]).status == .success)
            await turnstile.open()
            #expect(await first.status == .error)
            #expect(await enabler.requestorID == "REF30")
            await enabler.finishCallbacks()
            #expect(application.events == ["setRequestorComplete 0", "setRequestorComplete 1"])
        }
    }

    @Test("inventory 4: what is configured stays, while the requestor is set again and where that fails")
    func setAgain() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice")
            try await sandbox.control(#"{"faults":[{"on":"configuration","status":503}]}"#)
            #expect(await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()]).status == .error)
            #expect(await enabler.checkAuthentication().viewer != nil)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            // Another requestor has no access to the authentication.
            #expect(await enabler.setRequestor("QUIET", serviceProviders: [sandbox.provider()]).status == .error)
            #expect(await enabler.checkAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            #expect(application.events("setRequestorComplete") == ["setRequestorComplete 0", "setRequestorComplete 0"])
        }
    }

    @Test("inventory 5: a service that stalls holds up the others for a little while only")
    func stalledService() async throws {
        try await SandboxFixture.with { sandbox in
            let enabler = await sandbox.client(requestor: nil, timeout: .seconds(600))
            try await sandbox.control(#"{"faults":[{"on":"configuration","stall":true,"times":1}]}"#)
            let status = await enabler.setRequestor(
                "REF30",
                serviceProviders: [sandbox.provider(.v1), sandbox.provider(.v2)]
            )
            #expect(status.status == .success)
            #expect(status.failures.map(\.knownCode) == [.networkError])
        }
    }

    @Test(
        "inventory 3: options go along with every call, also for access, and none can end a line of a header",
        arguments: ServiceProvider.Interface.allCases
    )
    func options(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let exchanges = Exchanges()
            var options = AccessEnablerOptions(deviceAddress: "203.0.113.7")
            options.set(["applicationProfile": "tv", "visitorID": "v 1", "device_info": "e30=", "campaign": "a&b"])
            let (enabler, application) = try await sandbox.viewer(
                "alice",
                interface: interface,
                options: options,
                exchanges: exchanges
            )
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            for path in ["/o/client/register", "/o/client/token", "/api/v"] { #expect(!exchanges.all(path).isEmpty) }
            for request in exchanges.all() {
                #expect(request.header("AP-Application-Profile") == "tv")
                #expect(request.header("AP-Visitor-Identifier") == "v 1")
                #expect(request.header("X-Forwarded-For") == "203.0.113.7")
                #expect(request.header("X-Device-Info") == "e30=")
                #expect(request.target.contains("?campaign=a%26b"))
            }
            _ = await enabler.logout()
            await enabler.finishCallbacks()
            #expect(application.urls.count == 2)
            for url in application.urls {
                #expect(
                    url.contains("?device_info=e30%3D&visitorID=v%201&applicationProfile=tv&campaign=a%26b"),
                    "\(url)"
                )
            }
            exchanges.forget()
            await enabler.setOptions(
                AccessEnablerOptions(
                    visitorID: "v\r\nX-Evil: 1",
                    deviceInformation: ["model": "tests"],
                    deviceAddress: "203.0.113.8, 10.0.0.1"
                )
            )
            await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider(interface)])
            let last = try #require(exchanges.all().last)
            #expect(last.header("X-Device-Info") == "eyJtb2RlbCI6InRlc3RzIn0=")
            #expect([last.header("AP-Visitor-Identifier"), last.header("X-Forwarded-For")] == [nil, nil])
            #expect(last.header("AP-Device-Identifier")?.hasPrefix("fingerprint ") == true)
            #expect(last.header("Authorization")?.hasPrefix("Bearer ") == true)
        }
    }

    @Test("inventory 3, 3b, 17: the in-app browser is for providers that need it, if the application handles it")
    func inAppBrowser() async throws {
        for (handles, requires) in [(false, false), (false, true), (true, false), (true, true)] {
            let provider = #"{"id":"SandboxMVPD","displayName":"TV"\#(requires ? #","requiresSVC":true"# : "")}"#
            let body =
                #"{"requestor":{"id":"REF30","domains":[{"name":"adobe.com","mvpdInitiated":false}],"mvpds":[\#(provider)]}}"#
            let exchanges = Exchanges([("configuration", 200, [:], body)])
            try await SandboxFixture.with { sandbox in
                let options = AccessEnablerOptions(handleSVC: handles)
                let application = Application(.provider("SandboxMVPD"), user: "alice")
                let enabler = await sandbox.client(application, options: options, intercept: exchanges.pass)
                _ = try #require(await enabler.getAuthentication().viewer)
                _ = await enabler.logout()
                await enabler.finishCallbacks()
                let called = handles && requires ? "navigateToURL SVC" : "navigateToURL"
                #expect(application.events("navigateToURL") == [called, called])
            }
        }
    }
}

extension AccessEnabler {
    /// The number of calls that wait for a configuration.
    var waiting: Int { configurationWaiters.count }
}

extension Task where Failure == Never {
    /// The value of the task after an immediate cancellation.
    var cancelledValue: Success {
        get async {
            cancel()
            return await value
        }
    }
}
