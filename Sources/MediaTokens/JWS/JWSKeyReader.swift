// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// A reader of the keys of JWS media tokens: P-256 for `ES256`, Ed25519 for `EdDSA`.
enum JWSKeyReader {
    /// Returns the verifier of a key.
    static func key(
        from source: String,
        read: () throws(KeyMaterialFault) -> PublicKey
    ) throws(TrustError) -> SignatureVerifier {
        do throws(KeyMaterialFault) {
            let key = try read()
            guard let scheme = SignatureScheme(mediaTokenKey: key.type),
                let verifier = SignatureVerifier(key, scheme: scheme)
            else { throw .unsupported }
            return verifier
        } catch { throw TrustError(error, source: source) }
    }

    /// Returns the size of a key, and its DER form.
    static func numbers(
        from source: String,
        read: () throws(KeyMaterialFault) -> PublicKey
    ) throws(TrustError) -> (bits: Int, der: [UInt8]) {
        let key = try key(from: source, read: read).key
        guard let der = key.der else {
            throw TrustError(.internalFailure, source: source, reason: "OpenSSL cannot write the key")
        }
        return (256, der)
    }
}

extension SignatureScheme {
    /// Creates the scheme of media tokens by keys of `type`, or `nil` if there is none.
    init?(mediaTokenKey type: KeyType) {
        switch type {
        case .ellipticCurve(.p256): self = .es256
        case .ed25519: self = .ed25519
        default: return nil
        }
    }
}

extension TrustError {
    init(_ fault: KeyMaterialFault, source: String) {
        switch fault {
        case .malformed, .mismatch: self.init(.malformedPEM, source: source, reason: "the key cannot be read")
        case .unsupported, .size, .weakExponent:
            self.init(
                .unsupportedKey,
                source: source,
                reason: "keys of JWS media tokens are P-256 (ES256) or Ed25519 (EdDSA)"
            )
        }
    }
}
