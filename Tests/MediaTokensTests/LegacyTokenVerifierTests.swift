// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite struct `The old contract` {
    private static func verifier(
        _ token: String,
        requestorID: String = "REF30",
        later: Int64 = 0
    ) throws -> LegacyTokenVerifier {
        let now = Sample.time.advanced(byMilliseconds: later)
        return LegacyTokenVerifier(
            requestorID: requestorID,
            token: token,
            trust: try TestSigner.main.get().trust(),
            clock: { now }
        )
    }

    @Test(arguments: Scenario.all)
    func `has the status of the verifier`(scenario: Scenario) throws {
        if let status = try scenario.legacyStatus() {
            #expect(status == scenario.expected?.status ?? .validToken)
        }
    }

    @Test func `has six statuses`() throws {
        var legacy = try Self.verifier(try Sample.token().serialized)
        var seen = [legacy.status]
        seen.append(legacy.isValid(resourceID: "TNT"))
        seen.append(legacy.isValid(resourceID: "TBS"))
        var late = try Self.verifier(try Sample.token().serialized, later: 420_001)
        seen.append(late.isValid(resourceID: "TNT"))
        var broken = try Self.verifier("?")
        seen.append(broken.isValid(resourceID: "TNT"))
        var forged = try Self.verifier(try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).raw)
        seen.append(forged.isValid(resourceID: "TNT"))
        #expect(
            seen.map(\.rawValue) == [
                "ERROR_UNKNOWN", "VALID_TOKEN", "INVALID_RESOURCE_ID", "TOKEN_EXPIRED", "INVALID_TOKEN_FORMAT",
                "INVALID_SIGNATURE",
            ]
        )
        #expect(Set(seen) == Set(VerificationStatus.allCases))
        #expect(legacy.status == .invalidResourceID && forged.status == .invalidSignature)
    }

    @Test func `says nothing before a trusted signature`() throws {
        func says(_ legacy: LegacyTokenVerifier) -> Bool {
            legacy.resourceID != nil || legacy.timeIssued != nil || legacy.timeToLive != nil
                || legacy.userSessionGUID != nil || legacy.mvpdID != nil || legacy.proxyMVPDID != nil
        }
        var legacy = try Self.verifier(try Sample.token(.plain.appending("<proxyMvpdId>P</proxyMvpdId>")))
        #expect(!says(legacy))
        #expect(legacy.isValid(resourceID: "TBS") == .invalidResourceID)
        #expect(legacy.resourceID == "TNT")
        #expect(legacy.timeIssued == Sample.time)
        #expect(legacy.timeToLive == .seconds(420))
        #expect(legacy.userSessionGUID == "00112233445566778899aabbccddeeff")
        #expect(legacy.mvpdID == "SandboxMVPD")
        #expect(legacy.proxyMVPDID == "P")
        var forged = try Self.verifier(try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).raw)
        #expect(forged.isValid(resourceID: "TNT") == .invalidSignature)
        #expect(!says(forged))
    }

    @Test(arguments: ["", " ", "\n", "\0"])
    func `never plays an empty resource`(resource: String) throws {
        var legacy = try Self.verifier(try Sample.token().raw)
        #expect(legacy.isAuthentic() == .validToken)
        #expect(legacy.isValid(resourceID: resource) == .invalidResourceID)
        #expect(legacy.status == .invalidResourceID)
        // Other faults of the token take precedence.
        var late = try Self.verifier(try Sample.token().raw, later: 420_001)
        #expect(late.isValid(resourceID: resource) == .tokenExpired)
    }

    @Test func `compares even what is no resource byte for byte`() throws {
        let odd = "<rss><channel>"
        var claims = Sample.claims
        claims.resourceID = odd
        var legacy = try Self.verifier(try TestSigner.main.get().issuer.issue(claims, at: Sample.time).raw)
        #expect(legacy.isValid(resourceID: odd) == .validToken)
        #expect(legacy.isValid(resourceID: odd + " ") == .invalidResourceID)
    }

    @Test(arguments: ["", " "])
    func `accepts no token for an empty requestor`(requestorID: String) throws {
        var legacy = try Self.verifier(try Sample.token().raw, requestorID: requestorID)
        #expect(legacy.isValid(resourceID: "TNT") == .invalidResourceID)
        #expect(legacy.isAuthentic() == .invalidResourceID)
        #expect(legacy.resourceID == nil)
    }
}
