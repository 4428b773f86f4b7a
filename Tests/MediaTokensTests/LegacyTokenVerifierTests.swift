// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaTokens

@Suite struct `The contract of the old library` {
    private let fixture: Fixture

    init() throws { fixture = try Fixture.shared.get() }

    private func verifier(_ token: String, requestor: String = "REF30", at offset: Int64 = 0) -> LegacyTokenVerifier {
        LegacyTokenVerifier(requestorID: requestor, token: token, trust: fixture.trust) { Fixture.now.plus(offset) }
    }

    @Test func `gives the six statuses`() throws {
        let token = try fixture.token().serialized
        var fresh = verifier(token)
        #expect(fresh.status == .errorUnknown)
        #expect(fresh.resourceID == nil && fresh.timeIssued == nil && fresh.timeToLive == nil && fresh.mvpdID == nil)
        #expect(fresh.isValid(resourceID: "TNT") == .validToken && fresh.status == .validToken)
        #expect(fresh.resourceID == "TNT" && fresh.mvpdID == "SandboxMVPD" && fresh.proxyMVPDID == nil)
        #expect(fresh.timeIssued == Fixture.now && fresh.timeToLive == .seconds(420))
        #expect(fresh.userSessionGUID == "00112233445566778899aabbccddeeff")
        #expect(fresh.isValid(resourceID: "TBS") == .invalidResourceID)
        let foreign = try Issuer(key: SigningKey(pem: fixture.other.signerKey)).issue(Fixture.claims, at: Fixture.now)
        for (token, requestor, offset, status) in [
            ("garbage", "REF30", 0, .invalidTokenFormat), (foreign.serialized, "REF30", 0, .invalidSignature),
            (token, "REF30", 420_001, .tokenExpired), (token, "OTHER", 0, .invalidResourceID),
            (token, "", 0, .invalidResourceID),
        ] as [(String, String, Int64, VerificationStatus)] {
            var verifier = verifier(token, requestor: requestor, at: offset)
            #expect(verifier.isValid(resourceID: "TNT") == status)
        }
        var expired = verifier(token, at: 420_001)
        #expect(expired.isValid(resourceID: "TNT") == .tokenExpired && expired.resourceID == "TNT")
        var forged = verifier(foreign.serialized)
        #expect(forged.isValid(resourceID: "TNT") == .invalidSignature && forged.resourceID == nil)
    }

    @Test(arguments: ["", " ", "\n\t"])
    func `matches no token with an empty resource`(resource: String) throws {
        var verifier = verifier(try fixture.token().serialized)
        #expect(verifier.isValid(resourceID: resource) == .invalidResourceID)
        #expect(verifier.status == .invalidResourceID)
        #expect(verifier.isAuthentic() == .validToken)
        var broken = self.verifier("garbage")
        #expect(broken.isValid(resourceID: resource) == .invalidTokenFormat)
    }

    @Test func `compares the bytes of what is no resource`() throws {
        let text = "<rss><channel>"
        var verifier = verifier(try fixture.token { $0.resourceID = text }.serialized)
        #expect(verifier.isValid(resourceID: text) == .validToken)
        #expect(verifier.isValid(resourceID: text + " ") == .invalidResourceID)
    }
}

@Suite struct `The policy` {
    @Test func `keeps its values within their ranges`() throws {
        for (requestors, early, late, life, error) in [
            ([], 60, 0, 900, .noRequestor), ([""], 60, 0, 900, .noRequestor), (["A", " "], 60, 0, 900, .noRequestor),
            (["A"], -1, 0, 900, .earlyLeewayOutOfRange), (["A"], 121, 0, 900, .earlyLeewayOutOfRange),
            (["A"], 60, -1, 900, .lateLeewayOutOfRange), (["A"], 60, 121, 900, .lateLeewayOutOfRange),
            (["A"], 60, 0, 0, .maximumTimeToLiveOutOfRange), (["A"], 60, 0, 86_401, .maximumTimeToLiveOutOfRange),
        ] as [([String], Int, Int, Int, PolicyError)] {
            #expect(throws: error) {
                try VerificationPolicy(
                    requestors: requestors,
                    earlyLeeway: .seconds(early),
                    lateLeeway: .seconds(late),
                    maximumTimeToLive: .seconds(life)
                )
            }
            #expect(error.description.contains(error.rawValue))
        }
        let policy = try VerificationPolicy(requestor: "A")
        #expect(policy.earlyLeeway == .seconds(60) && policy.lateLeeway == .zero)
        #expect(policy.maximumTimeToLive == .seconds(900) && policy.minimumKeySize == .standard)
        #expect(MinimumRSAKeySize.atLeast(1).bits == 2048 && MinimumRSAKeySize.legacy1024.bits == 1024)
    }
}
