// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import Platform

@testable import MediaTokens

/// The time, keys and claims that tests share.
enum Sample {
    /// 2031-01-02T10:04:05Z: every test certificate is valid at this time, and every token is issued at it.
    static let time = GateSample.time

    static let claims = GateSample.claims()

    /// A plain token of the trusted signer.
    static func token() throws -> IssuedToken { try TestSigner.main.get().issuer.issue(claims, at: time) }

    /// A token of the trusted signer with this body.
    static func token(_ body: TokenBody) throws -> String {
        try TestSigner.main.get().issuer.sign(body: body.bytes).serialized
    }

    /// A verifier that accepts tokens of the trusted signer for `REF30`.
    static func verifier(cache: AuthenticatedTokenCache? = nil) throws -> Verifier {
        Verifier(
            trust: try TestSigner.main.get().trust(),
            policy: try VerificationPolicy(requestor: "REF30"),
            cache: cache
        )
    }

    /// The result for `token` with the resource `TNT`, by default at the issue time.
    static func verify(_ token: String, at now: Timestamp = time) throws -> Verification {
        try verifier().verify(token, for: try MediaResource("TNT"), at: now)
    }
}

/// A signing key with its certificates; created once, because key generation is slow.
struct TestSigner: Sendable {
    let keys: DevelopmentKeys
    let signingKey: SigningKey
    let issuer: Issuer

    init(bits: Int = 2048) throws {
        keys = try DevelopmentKeys(bits: bits, at: Sample.time)
        signingKey = try SigningKey(pem: keys.signerKey)
        issuer = Issuer(key: signingKey)
    }

    /// The signer that tests trust.
    static let main = Result { () throws(any Error) in try TestSigner() }
    /// Another signer with the same key size.
    static let other = Result { () throws(any Error) in try TestSigner() }
    /// A signer with a 1024-bit key.
    static let small = Result { () throws(any Error) in try TestSigner(bits: 1024) }

    /// A store that trusts the certificate of this signer.
    func trust(
        name: String = "signer",
        requestors: RequestorScope = .any,
        minimumKeySize: MinimumRSAKeySize = .standard
    ) throws -> TrustStore {
        try TrustStore(
            [.pem(keys.signerCertificate, name: name, requestors: requestors)],
            minimumKeySize: minimumKeySize,
            at: Sample.time
        )
    }

    /// The bare public key, which is always valid.
    func publicKey() throws -> String { try signingKey.key.publicPEM() }
}

extension Timestamp {
    static let earliest = Timestamp(millisecondsSince1970: .min)
    static let latest = Timestamp(millisecondsSince1970: .max)
}
