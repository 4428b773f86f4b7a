// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import MediaTokens
package import Platform
internal import PlaybackGate
package import ReplayStores

/// The keys, times and tokens that tests of the gate share.
package struct GateSample: Sendable {
    package let keys: DevelopmentKeys
    package let issuer: Issuer

    /// 2031-01-02T10:04:05Z: the time of keys and tokens, unless a test sets another.
    package static let time = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    /// The issuer that tests trust; created once, because key generation is slow.
    package static let trusted = Result { () throws(any Error) in try GateSample(at: time) }
    /// An issuer that tests do not trust.
    package static let foreign = Result { () throws(any Error) in try GateSample(at: time) }
    /// An issuer whose keys are valid by the clock of the machine.
    package static let current = Result { () throws(any Error) in try GateSample(at: .now()) }

    private init(at time: Timestamp) throws {
        keys = try DevelopmentKeys(at: time)
        issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
    }

    package static func claims(
        resource: String = "TNT",
        requestor: String = "REF30",
        mvpd: String = "SandboxMVPD",
        proxy: String? = nil,
        session: String = "00112233445566778899aabbccddeeff",
        ttl: Int64 = 420_000
    ) -> TokenClaims {
        TokenClaims(
            requestorID: requestor,
            resourceID: resource,
            mvpdID: mvpd,
            proxyMVPDID: proxy,
            userSessionGUID: session,
            timeToLiveMilliseconds: ttl
        )
    }

    /// A token of the trusted issuer.
    package static func token(_ claims: TokenClaims = claims(), at time: Timestamp = time) throws -> String {
        try trusted.get().issuer.issue(claims, at: time).serialized
    }

    /// A verifier that trusts the trusted issuer.
    package static func verifier(requestors: [String] = ["REF30"], lateLeeway: Duration = .zero) throws -> Verifier {
        let pem = try trusted.get().keys.signerCertificate
        let trust = try TrustStore([.pem(pem, name: "signer")], at: time)
        return Verifier(trust: trust, policy: try VerificationPolicy(requestors: requestors, lateLeeway: lateLeeway))
    }

    /// The content of a token of the trusted issuer. Stores verify no tokens, so the validity of the keys is irrelevant.
    package static func content(_ claims: TokenClaims, at issued: Timestamp) throws -> MediaToken {
        try UnverifiedToken(reading: try trusted.get().issuer.issue(claims, at: issued).raw).content
    }

    /// The use of a token, with a different token for each `number`.
    package static func use(
        _ number: Int = 0,
        maximumUses: Int = 1,
        playbackID: String? = nil,
        mvpd: String = "SandboxMVPD",
        issued: Timestamp = time
    ) throws -> TokenUse {
        let known = try content(claims(mvpd: mvpd, session: "session-\(number)"), at: issued)
        return TokenUse(known, maximumUses: maximumUses, playbackID: playbackID, media: "m")
    }
}

extension Timestamp {
    /// The time `seconds` later.
    package func adding(seconds: Int64) -> Timestamp { advanced(byMilliseconds: seconds * 1000) }
}
