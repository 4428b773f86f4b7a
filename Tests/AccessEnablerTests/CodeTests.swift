// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Entitlements
import Testing

@testable import AccessEnabler

@Suite struct `Codes of the service` {
    /// Each documented code with an interface that uses it.
    private static let codes: [(code: StatusCode, interface: ServiceProvider.Interface)] = StatusCode.allCases.flatMap {
        code in
        [(StatusCode.Origin.v1, ServiceProvider.Interface.v1), (.v2, .v2)].compactMap { origin, interface in
            code.documentation(origin) == nil ? nil : (code, interface)
        }
    }

    @Test("each code is understood, in authorization and preauthorization", arguments: codes.indices)
    func understood(index: Int) async throws {
        let (code, interface) = Self.codes[index]
        let documentation = try #require(code.documentation(interface == .v1 ? .v1 : .v2))
        try await SandboxFixture.with { sandbox in
            let (enabler, application) = try await sandbox.viewer("alice", interface: interface)
            try await sandbox.control(
                """
                {"faults":[{"on":"authorize","code":"\(code.rawValue)","details":"in the words of the provider"},\
                {"on":"preauthorize","code":"\(code.rawValue)"}]}
                """
            )
            let isAccess = documentation.action == .applicationRegistration
            let answer = await enabler.preauthorize(PreauthorizeRequest(resources: ["TNT"])).value
            let status = try #require(answer.status ?? answer.decisions.first?.error)
            #expect(answer.decisions.allSatisfy { !$0.isAuthorized })
            // The documents of preauthorize have one code for both.
            #expect(status.knownCode == (code == .preauthorizationDeniedByMVPD ? .authorizationDeniedByMVPD : code))
            #expect(status.action == documentation.action)
            #expect(documentation.statuses.contains(status.status))
            // The preauthorization may have ended the login.
            if await enabler.checkAuthentication().viewer == nil {
                #expect(documentation.action == .authentication)
                return
            }
            await enabler.finishCallbacks()
            application.forget()
            let failure = try #require(await enabler.checkAuthorization("TNT").failure)
            #expect(failure.status?.knownCode == code)
            #expect(failure.status?.action == documentation.action)
            if !isAccess { #expect(failure.errorDescription == "in the words of the provider") }
            switch documentation.action {
            case .authentication: #expect(failure.errorCode == .userNotAuthenticated)
            case .retry, .configuration, .applicationRegistration: #expect(failure.errorCode == .genericAuthorization)
            default: break
            }
            await enabler.finishCallbacks()
            #expect(application.events("tokenRequestFailed").count == 1)
            #expect(application.events("status").count == 1)
        }
    }

    @Test("codes and actions that nobody knows are kept")
    func unknown() async throws {
        let body = #"{"action":"dance","status":403,"code":"not_yet_invented","message":"m","trace":"t"}"#
        let status = try EntitlementBody.read(Status.self, json: [UInt8](body.utf8))
        let failure = ServiceFailure(status, httpStatus: 200)
        #expect(failure.status.code == "not_yet_invented")
        #expect(failure.status.action?.rawValue == "dance")
        #expect(!failure.isRetried)
        #expect(!failure.needsAuthentication)
    }

    /// An error of a registration, and the advanced status that reports it.
    private static let registrationErrors: [(on: String, word: String, status: String)] = [
        ("register", "invalid_request", "R400"), ("register", "invalid_redirect_uri", "R400"),
        ("register", "invalid_software_statement", "R400"), ("register", "unapproved_software_statement", "R400"),
        ("token", "invalid_request", "R401"), ("token", "invalid_client", "R401"),
        ("token", "unauthorized_client", "R401"), ("token", "unsupported_grant_type", "R401"),
    ]

    @Test("inventory 1: why an application is not let in", arguments: registrationErrors.indices)
    func registration(index: Int) async throws {
        let (on, word, status) = Self.registrationErrors[index]
        try await SandboxFixture.with { sandbox in
            try await sandbox.control(#"{"faults":[{"on":"\#(on)","code":"\#(word)"}]}"#)
            let application = Application()
            let enabler = await sandbox.client(application, requestor: nil)
            let answer = await enabler.setRequestor("REF30", serviceProviders: [sandbox.provider()])
            #expect(answer.failures.map(\.knownCode) == [.accessTokenUnavailable])
            #expect(answer.failures[0].message?.contains(word) == true)
            await enabler.finishCallbacks()
            #expect(application.events == ["status \(status) error", "setRequestorComplete 0"])
        }
    }
}
