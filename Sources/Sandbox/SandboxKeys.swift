// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
package import Platform

/// The signing key of the sandbox and its certificate.
package struct SandboxKeys: Sendable {
    /// The certificate in PEM, for a gate to trust.
    package let certificate: String
    let signer: SigningKey
    /// A trust store with that certificate, for verifying the long-lived tokens that clients return.
    let trust: TrustStore

    /// Creates keys from a certificate and its private key in PEM.
    ///
    /// - Parameter now: The time at which the certificate must be valid.
    /// - Throws: ``SandboxError`` if they are unusable or do not match.
    package init(certificate: String, key: String, at now: Timestamp) throws(SandboxError) {
        do throws(TrustError) {
            signer = try SigningKey(pem: key, name: "signer.key")
            trust = try TrustStore([.pem(certificate, name: "signer")], at: now)
        } catch { throw SandboxError("\(error)") }
        self.certificate = certificate
        guard let probe = try? Issuer(key: signer).sign(body: [UInt8]("<probe></probe>".utf8)),
            SignedElement(raw: probe.raw, trustedBy: trust, at: now) != nil
        else {
            throw SandboxError("signer.key is not the key of signer.pem: create both with `playgate keys new`")
        }
    }

    /// Reads the files `signer.pem` and `signer.key`, which `playgate keys new` creates.
    ///
    /// - Throws: ``SandboxError`` if a file is missing or unusable, or if they do not match.
    package init(folder: String, at now: Timestamp) throws(SandboxError) {
        var texts: [String] = []
        for name in ["signer.pem", "signer.key"] {
            let path = folder + "/" + name
            do throws(FileFault) { texts.append(try path.contentsOfFile(limit: 1 << 20)) } catch {
                throw SandboxError("\(path): \(error.reason); create keys with: playgate keys new --out \(folder)")
            }
        }
        try self.init(certificate: texts[0], key: texts[1], at: now)
    }

    /// Creates a new key and certificate. Needs a large part of a second.
    ///
    /// - Throws: ``SandboxError`` if OpenSSL fails.
    package static func development(at now: Timestamp) throws(SandboxError) -> SandboxKeys {
        let keys: DevelopmentKeys
        do throws(TrustError) { keys = try DevelopmentKeys(at: now) } catch { throw SandboxError("\(error)") }
        return try SandboxKeys(certificate: keys.signerCertificate, key: keys.signerKey, at: now)
    }

    /// Creates a key that no gate trusts.
    static func stranger(at now: Timestamp) throws(SandboxError) -> SigningKey {
        try development(at: now).signer
    }
}

/// An error that prevents the start of the sandbox.
package struct SandboxError: Error, CustomStringConvertible {
    /// The cause, and advice if there is any.
    package let description: String

    init(_ description: String) { self.description = description }
}
