// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import MediaTokens

/// A token, the key that signs it, and its parts for verification without Playgate.
struct SignedToken: @unchecked Sendable {  // Its contexts are used by one thread at a time.
    static let time = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    let certificate: String
    let issuer: Issuer
    /// The token in Base64.
    let token: [UInt8]
    /// The token without its layer of Base64.
    let raw: [UInt8]
    /// The signed bytes.
    let body: [UInt8]
    let signature: [UInt8]
    /// The key and the contexts of the bare check.
    private var rsa: OpaquePointer
    private let bits: Int

    init(bits: Int = 2048, resource: String = "TNT", requestor: String = "REF30") throws {
        self.bits = bits
        let keys = try DevelopmentKeys(bits: bits, at: Self.time)
        certificate = keys.signerCertificate
        issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
        let issued = try issuer.issue(Self.claims(resource, requestor: requestor), at: Self.time)
        token = [UInt8](issued.serialized.utf8)
        raw = [UInt8](issued.raw.utf8)
        let parts = issued.raw.split(separator: "<signatureInfo>")
        body = [UInt8](parts[1].utf8)
        guard let decoded = Data(base64Encoded: String(parts[0])) else { fatalError("no Base64") }
        signature = [UInt8](decoded)
        guard let rsa = limits_rsa_new(certificate) else { fatalError("the key cannot be read") }
        self.rsa = rsa
    }

    /// Returns tokens of `count` different viewers.
    func tokens(_ count: Int) throws -> [[UInt8]] {
        try (0..<count).map { number in
            let claims = Self.claims("TNT", session: "viewer-\(1000 + number)")
            return [UInt8](try issuer.issue(claims, at: Self.time).serialized.utf8)
        }
    }

    static func claims(
        _ resource: String,
        requestor: String = "REF30",
        session: String = "00112233445566778899aabbccddeeff"
    ) -> TokenClaims {
        TokenClaims(
            requestorID: requestor,
            resourceID: resource,
            mvpdID: "SandboxMVPD",
            userSessionGUID: session
        )
    }

    /// Returns a verifier that trusts the keys of `others` and then this key.
    func verifier(behind others: [String] = [], cache: AuthenticatedTokenCache? = nil) throws -> Verifier {
        let sources = (others + [certificate]).enumerated().map { TrustSource.pem($1, name: "signer \($0)") }
        let size: MinimumRSAKeySize = bits < 2048 ? .legacy1024 : .standard
        let trust = try TrustStore(sources, minimumKeySize: size, at: Self.time)
        let policy = try VerificationPolicy(requestors: ["REF30", "REF31"], minimumKeySize: size)
        return Verifier(trust: trust, policy: policy, cache: cache)
    }

    /// Returns a copy with contexts of its own, for another thread.
    func another() throws -> SignedToken {
        guard let rsa = limits_rsa_new(certificate) else { fatalError("the key cannot be read") }
        return SignedToken(self, rsa: rsa)
    }

    private init(_ issued: SignedToken, rsa: OpaquePointer) {
        self = issued
        self.rsa = rsa
    }

    /// Runs the bare check `n` times.
    func check(_ n: Int) {
        precondition(limits_rsa_reused(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
    }

    /// Adds the bare check and the naive check to a table.
    func addLimits(to table: Table, _ count: Int = 300) {
        table.measure("SHA-256 + EVP_PKEY_verify, reused contexts", count: count) { check($0) }
        table.measure("EVP_DigestVerify, a new context each", count: count) { n in
            precondition(limits_rsa_naive(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
        }
    }

    static func encodeBase64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
}
