// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform

/// A new certificate authority and a signing key with a certificate of that authority, for development and tests.
///
/// The authority's private key is discarded at once, so it can sign no other certificate.
public struct DevelopmentKeys: Sendable {
    /// The certificate of the authority, in PEM: an anchor for a trust store.
    public let authorityCertificate: String
    /// The certificate of the signing key, in PEM: a source for a trust store.
    public let signerCertificate: String
    /// The signing key, in PEM (PKCS #8, unencrypted). Secret.
    public let signerKey: String

    /// The period for which the certificates are valid: 398 days.
    public static let validity = Duration.seconds(398 * 86_400)

    /// Creates new keys. Needs a large part of a second, and several seconds for large keys.
    ///
    /// - Parameters:
    ///   - bits: The size of both RSA keys, from 1024 to 8192. Verifiers accept fewer than 2048 only by a named opt-in.
    ///   - now: The start of the validity, less five minutes to allow for clock skew.
    /// - Throws: ``TrustError`` with code ``TrustError/Code/keyTooSmall``, ``TrustError/Code/keyTooLarge`` or
    ///   ``TrustError/Code/internalFailure``.
    public init(bits: Int = 2048, at now: Timestamp) throws(TrustError) {
        guard bits >= 1024 else { throw TrustError(.tooSmall(bits: bits, minimum: 1024), source: "") }
        guard bits <= RSAPublicKey.maximumBits else { throw TrustError(.tooLarge(bits: bits), source: "") }
        do throws(OpenSSLError) {
            let authority = try RSAPrivateKey(generatingBits: bits)
            let signer = try RSAPrivateKey(generatingBits: bits)
            let start = now.advanced(byMilliseconds: -300_000)
            let end = now.advanced(byMilliseconds: Self.validity.components.seconds * 1000)
            let root = try Certificate(
                CertificateRequest(
                    commonName: "Playgate development CA",
                    key: authority,
                    isAuthority: true,
                    validity: start...end
                ),
                issuer: nil,
                issuerKey: authority
            )
            let leaf = try Certificate(
                CertificateRequest(
                    commonName: "Playgate development signer",
                    key: signer,
                    isAuthority: false,
                    validity: start...end
                ),
                issuer: root,
                issuerKey: authority
            )
            authorityCertificate = try root.pem()
            signerCertificate = try leaf.pem()
            signerKey = try signer.pem()
        } catch {
            throw TrustError(.internalFailure, source: "", reason: "OpenSSL could not make keys: \(error.text)")
        }
    }
}
