// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import MediaTokens

/// A token, the key that it is signed with, and its parts for those who verify it without Playgate.
struct Issued {
    static let time = Timestamp(millisecondsSince1970: 1_925_114_645_000)

    let certificate: String
    let issuer: Issuer
    /// The token with its layer of Base64, and without.
    let token: [UInt8]
    let raw: [UInt8]
    /// What is signed.
    let body: [UInt8]
    let signature: [UInt8]
    /// For the bare check.
    let rsa: OpaquePointer

    init(bits: Int = 2048, resource: String = "TNT") throws {
        let keys = try DevelopmentKeys(bits: bits, at: Self.time)
        certificate = keys.signerCertificate
        issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
        let issued = try issuer.issue(Self.claims(resource), at: Self.time)
        token = [UInt8](issued.serialized.utf8)
        raw = [UInt8](issued.raw.utf8)
        let parts = issued.raw.split(separator: "<signatureInfo>")
        body = [UInt8](parts[1].utf8)
        signature = Self.decodeBase64(parts[0])
        guard let rsa = limits_rsa_new(certificate) else { fatalError("the key cannot be read") }
        self.rsa = rsa
    }

    static func claims(_ resource: String, requestor: String = "REF30") -> TokenClaims {
        TokenClaims(
            requestorID: requestor,
            resourceID: resource,
            mvpdID: "SandboxMVPD",
            userSessionGUID: "00112233445566778899aabbccddeeff"
        )
    }

    /// A verifier that trusts this key, behind others.
    func verifier(behind others: [String] = [], cache: AuthenticatedTokenCache? = nil) throws -> Verifier {
        let sources = (others + [certificate]).enumerated().map { TrustSource.pem($1, name: "signer \($0)") }
        let trust = try TrustStore(sources, at: Self.time)
        return Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"), cache: cache)
    }

    /// Adds the bare check, and the naive one, to a table.
    func addLimits(to table: Table, _ count: Int = 300) {
        table.measure("SHA-256 + EVP_PKEY_verify, reused contexts", count) { n in
            precondition(limits_rsa_reused(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
        }
        table.measure("EVP_DigestVerify, a new context each", count) { n in
            precondition(limits_rsa_naive(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
        }
    }

    private static func decodeBase64(_ text: some StringProtocol) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var bytes: [UInt8] = []
        var (group, bits) = (UInt32(0), 0)
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { break }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return bytes
    }
}
