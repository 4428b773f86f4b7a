// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
package import Platform

/// The key that the stand-in signs with, and its certificate.
package struct SandboxKeys: Sendable {
    /// The certificate, in PEM: what a gate trusts.
    package let certificate: String
    let signer: SigningKey
    /// That certificate, for the tokens that come back.
    let trust: TrustStore

    /// Reads a certificate and its key from PEM.
    ///
    /// - Parameter now: When the certificate must be valid.
    /// - Throws: ``SandboxError`` where they are unusable, or do not belong to each other.
    package init(certificate: String, key: String, at now: Timestamp) throws(SandboxError) {
        do throws(TrustError) {
            signer = try SigningKey(pem: key, name: "signer.key")
            trust = try TrustStore([.pem(certificate, name: "signer")], at: now)
        } catch { throw SandboxError("\(error)") }
        self.certificate = certificate
        guard let probe = try? Issuer(key: signer).sign(body: [UInt8]("<probe></probe>".utf8)),
            SignedElement(raw: probe.raw, trustedBy: trust, at: now) != nil
        else {
            throw SandboxError("signer.key is not the key of signer.pem: make both with `playgate keys new`")
        }
    }

    /// Reads `signer.pem` and `signer.key`, as `playgate keys new` makes them.
    ///
    /// - Throws: ``SandboxError`` where they are missing, unusable, or do not belong to each other.
    package init(folder: String, at now: Timestamp) throws(SandboxError) {
        var texts: [String] = []
        for name in ["signer.pem", "signer.key"] {
            let path = folder + "/" + name
            do throws(FileFault) { texts.append(try path.contentsOfFile(limit: 1 << 20)) } catch {
                throw SandboxError("\(path): \(error.reason); make keys with: playgate keys new --out \(folder)")
            }
        }
        try self.init(certificate: texts[0], key: texts[1], at: now)
    }

    /// Makes keys that nobody has seen before. Takes a good part of a second.
    ///
    /// - Throws: ``SandboxError`` where OpenSSL cannot.
    package static func development(at now: Timestamp) throws(SandboxError) -> SandboxKeys {
        let keys: DevelopmentKeys
        do throws(TrustError) { keys = try DevelopmentKeys(at: now) } catch { throw SandboxError("\(error)") }
        return try SandboxKeys(certificate: keys.signerCertificate, key: keys.signerKey, at: now)
    }

    /// A key that nobody trusts.
    static func stranger(at now: Timestamp) throws(SandboxError) -> SigningKey {
        try development(at: now).signer
    }
}

/// Why the stand-in cannot run; says what to do.
package struct SandboxError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
