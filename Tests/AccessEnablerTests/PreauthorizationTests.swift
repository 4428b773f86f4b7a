// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import NIOHTTP1
import Synchronization
import Testing

@testable import AccessEnabler

@Suite struct `Preauthorization` {
    private static let interfaces = ServiceProvider.Interface.allCases

    @Test("inventory 27, 29: those that the viewer may see, in the order of the question", arguments: interfaces)
    func allowed(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("bob", interface: interface)
            #expect(await enabler.checkPreauthorizedResources(["CNN", "TBS", "TNT"]) == ["TBS", "TNT"])
            await enabler.finishCallbacks()
            #expect(application.events == ["preauthorizedResources TBS TNT"])
        }
    }

    @Test("inventory 27: too many resources at once", arguments: interfaces)
    func tooMany(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            let names = (1...6).map { "CHANNEL\($0)" }
            #expect(await enabler.checkPreauthorizedResources(names).isEmpty)
            let answer = await enabler.preauthorize(PreauthorizeRequest(resources: names))
            guard case .response(let response) = answer else {
                Issue.record("the service has answered")
                return
            }
            #expect(response.status?.knownCode == .tooManyResources)
            #expect(response.status?.action == .configuration)
            await enabler.finishCallbacks()
            #expect(application.events.prefix(2) == ["status P100 error", "preauthorizedResources "])
        }
    }

    @Test(
        "inventory 28, 32: answers are given again from memory, unless the request says not to",
        arguments: interfaces
    )
    func cache(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("bob", interface: interface)
            #expect(await enabler.checkPreauthorizedResources(["TNT", "CNN"]) == ["TNT"])
            try await sandbox.control(#"{"denied":["TNT"]}"#)
            #expect(await enabler.checkPreauthorizedResources(["TNT", "CNN"]) == ["TNT"])
            #expect(await enabler.checkPreauthorizedResources(["TNT", "CNN"], cache: false).isEmpty)
            // The decisions of that request are cached.
            #expect(await enabler.checkPreauthorizedResources(["TNT", "CNN"]).isEmpty)
            try await sandbox.control(#"{"denied":[]}"#)
            sandbox.clock.advance(seconds: 301)
            #expect(await enabler.checkPreauthorizedResources(["TNT", "CNN"]) == ["TNT"])
        }
    }

    @Test("inventory 30, 33, 34: the callback is called once, for a response and for a failure")
    func callback() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice")
            let request = PreauthorizeRequest.Builder().setResources(["TNT"]).disableFeatures([.localCache]).build()
            for (fault, wanted) in [("{}", "response"), (#"{"faults":[{"on":"preauthorize","body":"["}]}"#, "failure")]
            {
                try await sandbox.control(fault)
                let called = await withCheckedContinuation { (continuation: CheckedContinuation<String, Never>) in
                    enabler.preauthorize(
                        request,
                        didCompleteWith: AccessEnablerCallback(
                            onResponse: { _ in continuation.resume(returning: "response") },
                            onFailure: { _ in continuation.resume(returning: "failure") }
                        )
                    )
                }
                #expect(called == wanted)
            }
        }
    }

    @Test("inventory 35, 36, 37, 38, 39: decisions with and without an error of their own")
    func decisions() async throws {
        try await SandboxFixture.with { sandbox in
            let request = PreauthorizeRequest(resources: ["TNT", "CNN"])
            for (requestor, hasErrors) in [("REF30", true), ("QUIET", false)] {
                let application = Application(.provider("SandboxMVPD"), user: "bob")
                let enabler = await sandbox.client(application, interface: .v1, requestor: requestor)
                _ = await enabler.getAuthentication()
                let response = await enabler.preauthorize(request).value
                #expect(response.status == nil)
                #expect(response.decisions.map(\.id) == ["TNT", "CNN"])
                #expect(response.decisions.map(\.isAuthorized) == [true, false])
                #expect(response.decisions[0].error == nil)
                #expect((response.decisions[1].error != nil) == hasErrors)
                guard let error = response.decisions[1].error else { continue }
                #expect(error.status == 403)
                #expect(error.knownCode == .authorizationDeniedByMVPD)
                #expect(error.action == .noAction)
            }
        }
    }

    /// Failures that the client itself reports.
    private static let failures: [(code: StatusCode, action: StatusAction)] = [
        (.requestorNotConfigured, .retry), (.authenticationSessionMissing, .authentication),
        (.authenticationSessionExpired, .authentication), (.accessTokenUnavailable, .noAction),
        (.serverResponseFormatUnknown, .noAction), (.networkError, .noAction),
    ]

    @Test("inventory 41: failures of the client, with the status 0", arguments: failures.indices)
    func clientFailure(index: Int) async throws {
        let (code, action) = Self.failures[index]
        try await SandboxFixture.with { sandbox in
            let enabler: AccessEnabler
            switch code {
            case .requestorNotConfigured: enabler = await sandbox.client(requestor: nil)
            case .authenticationSessionMissing: enabler = await sandbox.client()
            default: enabler = try await sandbox.viewer("alice").enabler
            }
            switch code {
            case .authenticationSessionExpired: sandbox.clock.advance(seconds: 40 * 86_400)
            case .accessTokenUnavailable:
                // The access token of the client is refused, and it gets no other.
                try await sandbox.control(
                    """
                    {"faults":[{"on":"preauthorize","code":"invalid_access_token_client_application"},\
                    {"on":"token","status":400},{"on":"register","status":400}]}
                    """
                )
            case .serverResponseFormatUnknown:
                try await sandbox.control(#"{"faults":[{"on":"preauthorize","body":"<html></html>"}]}"#)
            case .networkError: try await sandbox.control(#"{"faults":[{"on":"preauthorize","close":true}]}"#)
            default: break
            }
            guard case .failure(let answer) = await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"])) else {
                Issue.record("\(code): not a failure")
                return
            }
            #expect(answer.decisions.isEmpty)
            let status = try #require(answer.status)
            #expect(status.knownCode == code)
            #expect(status.status == 0)
            #expect(status.action == action)
            // The fifth of the documented shapes.
            let json = String(decoding: try EntitlementBody.json(answer), as: UTF8.self)
            #expect(json.hasPrefix(#"{"action":"\#(action.rawValue)","code":"\#(code.rawValue)","message":"#))
            #expect(json.hasSuffix(#","status":0}"#))
        }
    }

    /// A configuration that is not there, and the reason: the client's own or the service's.
    private static let unconfigured:
        [(name: String, control: String?, requestor: String?, code: String, isResponse: Bool)] = [
            ("not asked for", nil, nil, "requestor_not_configured", false),
            ("refused", nil, "NOBODY", "invalid_parameter_service_provider", true),
            ("unreachable", #"{"faults":[{"on":"configuration","close":true}]}"#, "REF30", "network_error", false),
            (
                "garbage", #"{"faults":[{"on":"configuration","body":"["}]}"#, "REF30",
                "server_response_format_unknown", false
            ),
            ("throttled", #"{"faults":[{"on":"configuration","status":429}]}"#, "REF30", "too_many_requests", true),
            ("no access", #"{"faults":[{"on":"token","status":400}]}"#, "REF30", "access_token_unavailable", false),
        ]

    @Test(
        "inventory 8, 41: a configuration that failed is not one that nobody asked for",
        arguments: unconfigured.indices
    )
    func notConfigured(index: Int) async throws {
        let (name, control, requestor, code, isResponse) = Self.unconfigured[index]
        try await SandboxFixture.with { sandbox in
            if let control { try await sandbox.control(control) }
            let enabler = await sandbox.client(requestor: requestor)
            let answer = await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"]))
            #expect(answer.value.status?.code == code, "\(name)")
            #expect(answer == (isResponse ? .response(answer.value) : .failure(answer.value)), "\(name)")
        }
    }

    @Test("inventory 35: too many requests keep their code and action, and the time to wait", arguments: interfaces)
    func throttled(interface: ServiceProvider.Interface) async throws {
        let own = #"{"status":429,"code":"slow_down","message":"m","action":"retry-after"}"#
        for (headers, body, code, wait) in [
            (["retry-after": "7"], own, "slow_down", 7),
            (["content-type": "text/html"], "<html>", "too_many_requests", 1),
        ] as [(HTTPHeaders, String, String, Int64)] {
            let exchanges = Exchanges([("authorize", 429, headers, body)])
            try await SandboxFixture.with { sandbox in
                let (enabler, application) = try await sandbox.viewer(
                    "alice",
                    interface: interface,
                    exchanges: exchanges
                )
                let answer = await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"]))
                for status in [answer.value.status, await enabler.checkAuthorization("TNT").failure?.status] {
                    #expect(status?.code == code && status?.status == 429 && status?.action == .retryAfter)
                    #expect(status?.retryAfter == .seconds(wait))
                }
                await enabler.finishCallbacks()
                #expect(application.events("status") == ["status P100 error", "status Z100 error"])
                #expect(exchanges.all("authorize").count == 2)
            }
        }
    }

    @Test("inventory 32: a cache of the service is left out by a parameter", arguments: interfaces)
    func remoteCache(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let exchanges = Exchanges()
            let (enabler, _) = try await sandbox.viewer("alice", interface: interface, exchanges: exchanges)
            for features in [[], [.localCache], [.remoteCache]] as [Set<PreauthorizeRequest.Feature>] {
                _ = await enabler.preauthorize(PreauthorizeRequest(resources: ["\(features)"], disabling: features))
            }
            #expect(exchanges.all("preauthorize").map { $0.parameter("remoteCache") } == [nil, nil, "false"])
        }
    }

    @Test("only those marked to be asked again are, and not for ever", arguments: interfaces)
    func retries(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let delays = Delays()
            let (enabler, _) = try await sandbox.viewer("alice", interface: interface, delays: delays)
            try await sandbox.control(#"{"faults":[{"on":"preauthorize","code":"network_received_error","times":1}]}"#)
            #expect(await enabler.checkPreauthorizedResources(["TNT"]) == ["TNT"])
            #expect(delays.all.count == 1)
            try await sandbox.control(#"{"faults":[{"on":"preauthorize","code":"network_received_error"}]}"#)
            #expect(await enabler.checkPreauthorizedResources(["TBS"]).isEmpty)
            #expect(delays.all.count == 3)
            #expect(delays.all[2] > delays.all[1] / 2)
            // The fault is not cached as a denial.
            try await sandbox.control(#"{"faults":[]}"#)
            #expect(await enabler.checkPreauthorizedResources(["TBS"]) == ["TBS"])
        }
    }

    @Test("inventory 31: a resource with a comma, and one of fragments, arrive whole", arguments: interfaces)
    func spelling(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice", interface: interface)
            let names = ["A, B & C", "<rss><channel><title>TNT, East</title></channel></rss>", "TNT"]
            let answer = await enabler.preauthorize(PreauthorizeRequest(resources: names)).value
            #expect(answer.decisions.map(\.id) == names)
            #expect(answer.decisions.map(\.isAuthorized) == [false, false, true])
            for name in names {
                let uncached = PreauthorizeRequest(resources: [name], disabling: [.localCache])
                #expect(await enabler.preauthorize(uncached).value.decisions.map(\.id) == [name])
            }
        }
    }
}
