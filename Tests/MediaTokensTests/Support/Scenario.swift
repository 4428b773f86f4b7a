// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Platform
import Testing

@testable import MediaTokens

/// A verification and its expected result.
struct Scenario: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The expected reason of a refusal; `nil` for a valid token.
    let expected: RefusalReason?
    private var token: @Sendable () throws -> String = { try Sample.token().serialized }
    private var trust: @Sendable () throws -> TrustStore = { try TestSigner.main.get().trust() }
    private var policy: @Sendable () throws -> VerificationPolicy = { try VerificationPolicy(requestor: "REF30") }
    private var resource = "TNT"
    private var requestor: String?
    private var now = Sample.time

    /// Returns the results of a new verifier.
    func verify(cache: AuthenticatedTokenCache? = nil, times: Int = 1) throws -> [Verification] {
        let verifier = Verifier(trust: try trust(), policy: try policy(), cache: cache)
        let (token, resource) = (try token(), try MediaResource(resource))
        return (0..<times).map { _ in verifier.verify(token, for: resource, requestor: requestor, at: now) }
    }

    /// Returns the status of the legacy verifier; `nil` if it does not support the policy.
    func legacyStatus() throws -> VerificationStatus? {
        guard try policy() == VerificationPolicy(requestor: "REF30"), requestor == nil else { return nil }
        let now = now
        var legacy = LegacyTokenVerifier(requestorID: "REF30", token: try token(), trust: try trust()) { now }
        return legacy.isValid(resourceID: resource)
    }

    init(_ name: String, expected: RefusalReason?) {
        testDescription = name
        self.expected = expected
    }

    func token(_ token: @escaping @Sendable () throws -> String) -> Scenario { with { $0.token = token } }
    func body(_ body: TokenBody) -> Scenario { token { try Sample.token(body) } }
    func trust(_ trust: @escaping @Sendable () throws -> TrustStore) -> Scenario { with { $0.trust = trust } }
    func policy(_ policy: @escaping @Sendable () throws -> VerificationPolicy) -> Scenario {
        with { $0.policy = policy }
    }
    func resource(_ resource: String) -> Scenario { with { $0.resource = resource } }
    func requestor(_ requestor: String) -> Scenario { with { $0.requestor = requestor } }
    func later(_ milliseconds: Int64) -> Scenario {
        with { $0.now = Sample.time.advanced(byMilliseconds: milliseconds) }
    }
    func at(_ now: Timestamp) -> Scenario { with { $0.now = now } }

    private func with(_ change: (inout Scenario) -> Void) -> Scenario {
        var copy = self
        change(&copy)
        return copy
    }
}
