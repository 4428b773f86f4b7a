// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources

@testable import MediaTokens

/// Keys, and tokens made with them, that many tests share. Time stands still at ``now``.
struct Fixture: Sendable {
    let keys: DevelopmentKeys
    let other: DevelopmentKeys
    let small: DevelopmentKeys
    let issuer: Issuer
    let trust: TrustStore

    static let now = Timestamp(millisecondsSince1970: 1_925_114_645_000)
    static let shared = Result { try Fixture() }

    private init() throws {
        keys = try DevelopmentKeys(at: Self.now)
        other = try DevelopmentKeys(at: Self.now)
        small = try DevelopmentKeys(bits: 1024, at: Self.now)
        issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
        trust = try TrustStore([.pem(keys.signerCertificate, name: "signer")], at: Self.now)
    }

    static let claims = TokenClaims(
        requestorID: "REF30",
        resourceID: "TNT",
        mvpdID: "SandboxMVPD",
        userSessionGUID: "00112233445566778899aabbccddeeff"
    )

    func token(
        _ change: (inout TokenClaims) -> Void = { _ in },
        issued time: Timestamp = now
    ) throws -> IssuedToken {
        var claims = Self.claims
        change(&claims)
        return try issuer.issue(claims, at: time)
    }

    /// A token whose element is just `body`, signed as it is.
    func token(body: String) throws -> IssuedToken { try issuer.sign(body: Array(body.utf8)) }

    func verifier(_ policy: VerificationPolicy? = nil, cache: AuthenticatedTokenCache? = nil) throws -> Verifier {
        Verifier(trust: trust, policy: try policy ?? VerificationPolicy(requestor: "REF30"), cache: cache)
    }

    func verify(_ token: String, for resource: String = "TNT", at now: Timestamp = now) throws -> Verification {
        try verifier().verify(token, for: try MediaResource(resource), at: now)
    }
}

extension Timestamp {
    func plus(_ milliseconds: Int64) -> Timestamp { advanced(byMilliseconds: milliseconds) }
}

/// The elements of a token's body, for tests that damage one of them.
struct Body {
    var fields: [(String, String)] = [
        ("sessionGUID", "guid"), ("requestorID", "REF30"), ("resourceID", "TNT"), ("ttl", "420000"),
        ("issueTime", "2031-01-02 03:04:05 -0700"), ("mvpdId", "M"),
    ]

    /// The body with the element of `name` written as `element`; behind the others where there is none.
    func replacing(_ name: String, with element: String) -> String {
        var elements = fields.map { "<\($0.0)>\($0.1)</\($0.0)>" }
        if let place = fields.firstIndex(where: { $0.0 == name }) {
            elements[place] = element
        } else {
            elements.append(element)
        }
        return "<authToken>\(elements.joined())</authToken>"
    }

    var text: String { replacing("", with: "") }
}

/// SplitMix64: the same numbers on every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
