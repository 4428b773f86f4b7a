// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import GateTestSupport
import MediaResources
import MediaTokens
import Testing

@testable import AccessEnabler

@Suite struct `Authorization and media tokens` {
    private static let interfaces = ServiceProvider.Interface.allCases

    @Test("inventory 42, 43a, 46b, flow F: a token for a viewer, which the verifier takes", arguments: interfaces)
    func token(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            let answer = await enabler.checkAuthorization("TNT")
            let token = try #require(answer.token, "\(answer)")
            let verifier = try sandbox.verifier()
            let resource = try MediaResource("TNT")
            for text in [try #require(token.raw), token.serializedToken] {
                #expect(verifier.verify(text, for: resource, at: sandbox.clock.now).reason == nil)
            }
            await enabler.finishCallbacks()
            #expect(application.events.filter { !$0.hasPrefix("sendTrackingData") } == ["setToken TNT"])
            #expect(application.tokens == [token.raw])
            let tracked = try #require(application.events("sendTrackingData 1").first)
            #expect(tracked.hasPrefix("sendTrackingData 1 true|SandboxMVPD|"))
            #expect(tracked.hasSuffix("|false|||computer|html5|Linux"))
        }
    }

    @Test(
        "inventory 43: the authorization is kept, the media token never: each call gets a new one",
        arguments: interfaces
    )
    func newToken(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let storage = MemoryTokenStorage()
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: interface, storage: storage)
            _ = await enabler.getAuthentication()
            let first = try #require(await enabler.checkAuthorization("TNT").token)
            sandbox.clock.advance(seconds: 1)
            let second = try #require(await enabler.checkAuthorization("TNT").token)
            #expect(first.serializedToken != second.serializedToken)
            let kept = await storage.load()
            #expect(kept.requestors["REF30"]?.authorizations["SandboxMVPD"]?.map(\.resource) == ["TNT"])
            let written = String(decoding: try EntitlementBody.json(kept), as: UTF8.self)
            for token in [first, second] {
                #expect(!written.contains(token.serializedToken))
                #expect(!written.contains("signatureInfo"))
            }
        }
    }

    @Test("inventory 43, flow F: authenticates first where that is needed", arguments: interfaces)
    func authenticatesFirst(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("SandboxMVPD"), user: "alice")
            let enabler = await sandbox.client(application, interface: interface)
            #expect(await enabler.getAuthorization("TNT").token != nil)
            await enabler.finishCallbacks()
            #expect(application.events("displayProviderDialog").count == 1)
            #expect(application.events("setAuthenticationStatus") == ["setAuthenticationStatus 1 "])
            #expect(application.events("setToken") == ["setToken TNT"])
            // An authenticated viewer only needs the token.
            application.forget()
            #expect(await enabler.getAuthorization("TBS").token != nil)
            await enabler.finishCallbacks()
            #expect(application.events.map { $0.split(separator: " ")[0] } == ["setToken", "sendTrackingData"])
        }
    }

    @Test("inventory 43b: without a viewer, and with one who gave up")
    func notAuthenticated() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.nobody)
            let enabler = await sandbox.client(application)
            #expect(await enabler.checkAuthorization("TNT").failure?.errorCode == .userNotAuthenticated)
            #expect(await enabler.getAuthorization("TNT").failure?.errorCode == .providerNotSelected)
            await enabler.finishCallbacks()
            #expect(
                application.events("tokenRequestFailed") == [
                    "tokenRequestFailed TNT User Not Authenticated Error",
                    "tokenRequestFailed TNT Provider not Selected Error",
                ]
            )
        }
    }

    @Test(
        "inventory 46b: the whole array of a token and of a denial, with the flag of the authorization",
        arguments: interfaces
    )
    func tracking(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("bob", interface: interface)
            let guid = try #require(await enabler.checkAuthentication().viewer?.tracked.hashedGUID)
            #expect(guid.count == 32)
            for resource in ["TNT", "TNT", "CNN"] { _ = await enabler.checkAuthorization(resource) }
            let denial = try #require(await enabler.checkAuthorization("CNN").failure)
            await enabler.finishCallbacks()
            let end = "computer|html5|Linux"
            let denied = "false|SandboxMVPD|\(guid)|false|User not Authorized Error|\(denial.errorDescription)|\(end)"
            let second = interface == .v1 ? "true" : "false"
            #expect(!denial.errorDescription.isEmpty)
            #expect(
                application.events("sendTrackingData 1").map { $0.replacing("sendTrackingData 1 ", with: "") } == [
                    "true|SandboxMVPD|\(guid)|false|||\(end)", "true|SandboxMVPD|\(guid)|\(second)|||\(end)", denied,
                    denied,
                ]
            )
        }
    }

    @Test("inventory 42, 43: data of both calls go with that call", arguments: interfaces)
    func data(interface: ServiceProvider.Interface) async throws {
        let data = ["reason": "playback"]
        try await SandboxFixture.with { sandbox in
            for mvpd in ["SandboxMVPD", "TempPass"] {
                let exchanges = Exchanges()
                let (enabler, _) = try await sandbox.viewer(
                    "alice",
                    at: mvpd,
                    interface: interface,
                    exchanges: exchanges
                )
                exchanges.forget()
                #expect(await enabler.checkAuthorization("TNT", data: data).token != nil)
                #expect(await enabler.getAuthorization("TBS", data: data).token != nil)
                let requests = exchanges.all()
                #expect(requests.count == (interface == .v1 ? 4 : 2))
                let isForTempPass = mvpd == "TempPass"
                for request in requests {
                    #expect(request.parameter("generic_data") == data.json)
                    #expect(request.header("AP-TempPass-Identity") == (isForTempPass ? data.base64JSON : nil))
                }
            }
        }
    }

    /// A viewer, a resource, the code, and the advanced status that reports it.
    private static let denials: [(user: String, resource: String, code: StatusCode, v1: StatusCode, status: String)] = [
        ("bob", "CNN", .authorizationDeniedByMVPD, .authorizationDeniedByMVPD, "Z100"),
        (
            "bob", episode("TV-MA"), .authorizationDeniedByParentalControls, .authorizationDeniedByParentalControls,
            "Z100"
        ),
        ("alice", "<rss><channel>", .invalidParameterResources, .malformedAuthorizationRequest, "Z130"),
    ]

    private static func episode(_ rating: String) -> String {
        """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item><title>Late</title>\
        <guid>1</guid><media:rating scheme="urn:v-chip">\(rating)</media:rating></item></channel></rss>
        """
    }

    @Test("inventory 43b: refusals, with the words of the provider", arguments: denials.indices, interfaces)
    func refused(index: Int, interface: ServiceProvider.Interface) async throws {
        let (user, resource, v2, v1, status) = Self.denials[index]
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer(user, interface: interface)
            let failure = try #require(await enabler.checkAuthorization(resource).failure)
            #expect(failure.status?.knownCode == (interface == .v2 ? v2 : v1))
            #expect(failure.status?.trace?.isEmpty == false)
            #expect(failure.errorCode == (status == "Z130" ? .genericAuthorization : .userNotAuthorized))
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status \(status) error"])
            #expect(application.events("tokenRequestFailed").count == 1)
            // The viewer is still authenticated.
            #expect(await enabler.checkAuthentication().viewer != nil)
        }
    }

    @Test("a resource of a fragment comes back byte for byte", arguments: interfaces)
    func fragment(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice", interface: interface)
            let resource = Self.episode("TV-PG")
            let token = try #require(await enabler.checkAuthorization(resource).token)
            let answer = try sandbox.verifier().verify(
                token.serializedToken,
                for: try MediaResource(resource),
                at: sandbox.clock.now
            )
            #expect(answer.token?.resourceID == resource)
        }
    }

    @Test("what the service has forgotten is authorized once more (v1: authorization_not_found)")
    func forgotten() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: .v1)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            try await sandbox.control(#"{"expireAuthorization":true}"#)
            #expect(await enabler.checkAuthorization("TNT").token != nil)
            await enabler.finishCallbacks()
            #expect(application.events("setToken").count == 2)
            #expect(application.events("tokenRequestFailed").isEmpty)
        }
    }

    @Test("a login that the service has ended is over here too", arguments: interfaces)
    func ended(interface: ServiceProvider.Interface) async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            try await sandbox.control(#"{"expireAuthentication":true}"#)
            let failure = try #require(await enabler.checkAuthorization("TNT").failure)
            #expect(failure.errorCode == .userNotAuthenticated, "\(failure)")
            #expect(failure.status?.action == .authentication)
            #expect(await enabler.checkAuthentication().viewer == nil)
            await enabler.finishCallbacks()
            #expect(application.events("tokenRequestFailed").count == 1)
        }
    }

    /// A degradation rule, and its effect on a viewer whom the provider would deny.
    private static let rules: [(rule: String, code: StatusCode?, status: String)] = [
        ("authZAll", nil, "Z010 warning"), ("authZNone", .authorizationDeniedByDegradationRule, "Z169 error"),
    ]

    @Test("inventory 47: rules of degradation", arguments: rules.indices)
    func degradation(index: Int) async throws {
        let (rule, code, status) = Self.rules[index]
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("bob")
            try await sandbox.control(
                #"{"degradation":[{"requestor":"REF30","mvpd":"SandboxMVPD","rule":"\#(rule)"}]}"#
            )
            let answer = await enabler.checkAuthorization("CNN")
            #expect(answer.failure?.status?.knownCode == code)
            #expect((answer.token == nil) == (code != nil))
            await enabler.finishCallbacks()
            #expect(application.events("status") == ["status \(status)"])
        }
    }

    @Test("inventory 47: temporary access, and its end")
    func tempPass() async throws {
        try await SandboxFixture.with { sandbox in
            let application = Application(.provider("TempPass"))
            let enabler = await sandbox.client(application)
            #expect(await enabler.getAuthorization("TNT").token != nil)
            sandbox.clock.advance(seconds: 601)
            let failure = try #require(await enabler.getAuthorization("TNT").failure)
            #expect(failure.errorCode != .userAuthenticated)
            await enabler.finishCallbacks()
            let reported = application.events("status").map { $0.split(separator: " ")[1] }
            #expect(reported.prefix(2) == ["N011", "Z011"])
            #expect(reported.contains("N111"))
        }
    }

    /// A fault of the service instead of a token, and the resulting code.
    private static let faults: [(name: String, control: String, code: StatusCode)] = [
        ("garbage", #"{"faults":[{"on":"authorize","body":"{"}]}"#, .serverResponseFormatUnknown),
        (
            "half a body", #"{"faults":[{"on":"authorize","body":"{\"decisions\":[{}]}"}]}"#,
            .serverResponseFormatUnknown
        ),
        ("nothing", #"{"faults":[{"on":"authorize","close":true}]}"#, .networkError),
        ("a token that is none", #"{"malformedTokens":true}"#, .serverResponseFormatUnknown),
    ]

    @Test("faults of the service are faults, and no refusal of the provider", arguments: faults.indices)
    func fault(index: Int) async throws {
        let fault = Self.faults[index]
        try await SandboxFixture.with { sandbox in
            let delays = Delays()
            let (enabler, application) = try await sandbox.viewer("alice", delays: delays)
            try await sandbox.control(fault.control)
            let answer = await enabler.checkAuthorization("TNT")
            if fault.control.contains("malformedTokens"), let token = answer.token {
                // A malformed token may decode; then the verifier refuses it.
                let verdict = try sandbox.verifier().authenticate(token.serializedToken, at: sandbox.clock.now)
                #expect(verdict.reason != nil)
                return
            }
            let failure = try #require(answer.failure)
            #expect(failure.status?.knownCode == fault.code, "\(fault.name): \(failure)")
            #expect(failure.errorCode == .genericAuthorization)
            #expect(delays.all.count == (fault.code == .networkError ? 2 : 0))
            await enabler.finishCallbacks()
            #expect(application.events("tokenRequestFailed").count == 1)
        }
    }

    @Test("a token of the wrong key, and one of a wrong clock, are for the gate to refuse")
    func wrongKey() async throws {
        try await SandboxFixture.with { sandbox in
            let (enabler, _) = try await sandbox.viewer("alice")
            let verifier = try sandbox.verifier()
            try await sandbox.control(#"{"wrongKey":true}"#)
            let forged = try #require(await enabler.checkAuthorization("TNT").token)
            #expect(verifier.authenticate(forged.serializedToken, at: sandbox.clock.now).reason == .untrustedSignature)
            try await sandbox.control(#"{"wrongKey":false,"clockSkew":"-1h"}"#)
            let old = try #require(await enabler.checkAuthorization("TNT").token)
            #expect(verifier.authenticate(old.serializedToken, at: sandbox.clock.now).reason == .expired)
        }
    }
}
