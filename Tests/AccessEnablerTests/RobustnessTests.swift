// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

@testable import AccessEnabler

@Suite struct `Services that misbehave, and many at once` {
    @Test("a service that stalls: every call ends, and is called back once")
    func stalls() async throws {
        try await SandboxFixture.with { sandbox in
            let storage = await sandbox.storage(of: "alice")
            let application = Application()
            // Long enough for the start on a busy machine; there are no retries.
            let enabler = await sandbox.client(application, storage: storage, retry: .none, timeout: .seconds(3))
            #expect(await enabler.checkAuthentication().viewer != nil)
            try await sandbox.control(#"{"faults":[{"on":"any","stall":true}]}"#)
            async let authorization = enabler.checkAuthorization("TNT")
            async let resources = enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"]))
            async let metadata = enabler.getMetadata(.userMetadata(key: "zip"))
            #expect(await authorization.failure?.status?.knownCode == .networkError)
            #expect(await resources.value.status?.knownCode == .networkError)
            #expect(await metadata.value == nil)
            guard case .onlyHere(let status) = await enabler.logout() else {
                Issue.record("the service has not answered")
                return
            }
            #expect(status.knownCode == .networkError)
            await enabler.finishCallbacks()
            for name in ["tokenRequestFailed", "setMetadataStatus", "logoutComplete"] {
                #expect(application.events(name).count == 1)
            }
        }
    }

    /// The bodies that a faulty service sends as every response.
    private static let bodies = [
        "", "null", "[]", "{}", "<", "<html>", #"{"decisions":[],"decisions":[]}"#, #"{"profiles":{"A":1}}"#,
        String(repeating: "[", count: 100_000), #"{"requestor":{"id":"OTHER","mvpds":[]}}"#,
        #"{"requestor":{"id":"REF30"}}"#, #"{"access_token":"a b"}"#,
        #"{"access_token":"","client_id":"","client_secret":""}"#,
    ]

    @Test("garbage in place of every answer is no crash, no yes and no hang", arguments: bodies.indices)
    func garbage(index: Int) async throws {
        let escaped = String(decoding: try EntitlementBody.json(Self.bodies[index]), as: UTF8.self)
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice")
            try await sandbox.control(#"{"faults":[{"on":"any","body":\#(escaped)}]}"#)
            #expect(await enabler.checkAuthorization("TNT").failure != nil)
            #expect(await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"])).value.decisions.isEmpty)
            #expect(await enabler.getMetadata(.userMetadata(key: "zip")).value == nil)
            async let login = enabler.getAuthentication(force: true)
            await application.hears("displayProviderDialog")
            #expect(await login.viewer == nil)
            _ = await enabler.logout()
            #expect(await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()]).status == .error)
            // A new client cannot register either.
            let second = await sandbox.client(Application(), requestor: nil)
            #expect(await second.setRequestor("REF30", serviceProviders: [sandbox.provider()]).status == .error)
        }
    }

    @Test("a service that restarts, and has forgotten the application, is registered with anew")
    func restarts() async throws {
        let folder = try TemporaryFolder()
        let clock = TestClock()
        let storage = MemoryTokenStorage()
        try await SandboxFixture.with(state: .file(folder.file("state")), clock: clock) { sandbox in
            let enabler = await sandbox.client(Application(.provider("SandboxMVPD"), user: "alice"), storage: storage)
            #expect(await enabler.getAuthentication().viewer != nil)
        }
        let kept = await storage.load()
        try await SandboxFixture.with(state: .file(folder.file("state")), clock: clock) { sandbox in
            // The restarted service has another address; the stored records have the old one.
            await storage.save(kept.moved(to: sandbox.url))
            let enabler = await sandbox.client(storage: storage)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            #expect(
                await storage.load().registrations[sandbox.url]?.clientID == kept.registrations.values.first?.clientID
            )
        }
        try await SandboxFixture.with(clock: clock) { sandbox in
            await storage.save(kept.moved(to: sandbox.url))
            let application = Application()
            let enabler = await sandbox.client(application, storage: storage)
            await enabler.finishCallbacks()
            #expect(application.events == ["setRequestorComplete 1"])
            #expect(
                await storage.load().registrations[sandbox.url]?.clientID != kept.registrations.values.first?.clientID
            )
            // The service has lost the viewer, too.
            #expect(await enabler.checkAuthorization("TNT").failure?.errorCode == .userNotAuthenticated)
        }
    }

    @Test("an access token that the service withdraws is replaced, once")
    func withdrawn() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice")
            try await sandbox.control(
                #"{"faults":[{"on":"authorize","code":"invalid_access_token_client_application","times":1}]}"#
            )
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            try await sandbox.control(
                #"{"faults":[{"on":"authorize","code":"invalid_access_token_client_application"}]}"#
            )
            let failure = await enabler.checkAuthorization("TNT").failure
            #expect(failure?.status?.knownCode == .invalidAccessTokenClientApplication)
            // The token is renewed before it expires.
            try await sandbox.control(#"{"faults":[]}"#)
            sandbox.clock.advance(seconds: 86_400)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
        }
    }

    @Test("two viewers at once, each with what is theirs")
    func twoViewers() async throws {
        try await SandboxFixture.with { sandbox in
            let (alice, _) = try await sandbox.viewer("alice")
            let (bob, _) = try await sandbox.viewer("bob")
            for _ in 0..<10 {
                async let hers = alice.checkPreauthorizedResources(["TNT", "CNN"], cache: false)
                async let his = bob.checkPreauthorizedResources(["TNT", "CNN"], cache: false)
                #expect(await hers == ["TNT", "CNN"])
                #expect(await his == ["TNT"])
            }
            _ = await alice.logout()
            #expect(await bob.checkAuthorization("TNT").token != nil)
            let verifier = try sandbox.verifier()
            let token = try #require(await bob.checkAuthorization("TNT").token)
            #expect(verifier.authenticate(token.serializedToken, at: sandbox.clock.now).token != nil)
        }
    }

    @Test("a hundred clients at once, from nothing to a token", arguments: ServiceProvider.Interface.allCases)
    func hundred(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let users = ["alice", "bob", "carol"]
            let results = await withTaskGroup(of: ([Int], Bool).self) { group in
                for number in 0..<100 {
                    let user = users[number % users.count]
                    group.addTask {
                        let application = Application(.provider("SandboxMVPD"), user: user)
                        let enabler = await sandbox.client(application, interface: interface)
                        let token = await enabler.getAuthorization("TNT").token
                        await enabler.finishCallbacks()
                        let counted = ["setRequestorComplete", "displayProviderDialog", "navigateToURL", "setToken"]
                        return (counted.map { application.events($0).count }, token != nil)
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count == 100)
            #expect(results.allSatisfy { $0.0 == [1, 1, 1, 1] && $0.1 })
        }
    }
}

extension TokenRecords {
    /// The records, moved to a service at another address.
    fileprivate func moved(to url: String) -> TokenRecords {
        var records = self
        records.registrations = registrations.values.first.map { [url: $0] } ?? [:]
        for (requestor, known) in requestors {
            for mvpd in known.viewers.keys { records.requestors[requestor]?.viewers[mvpd]?.service = url }
        }
        return records
    }
}
