// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of an RSA private key (`EVP_PKEY`).
@safe
package final class RSAPrivateKey: @unchecked Sendable {
    // Unchecked: the key is only read after creation, and OpenSSL locks the caches in it.
    package let key: OpaquePointer  // <EVP_PKEY>

    /// Reads a private key in DER, PKCS #8 or PKCS #1.
    package init(der: [UInt8]) throws(KeyFault) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &next, bytes.count)
        }
        guard let key = unsafe key else { throw .unreadable(.drained()) }
        let guardian = unsafe KeyGuardian(key)
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA else { throw .notRSA }
        let bits = Int(unsafe EVP_PKEY_get_bits(key))
        guard bits >= 1024 else { throw .tooSmall(bits: bits, minimum: 1024) }
        guard bits <= RSAPublicKey.maximumBits else { throw .tooLarge(bits: bits) }
        unsafe self.key = guardian.release()
    }

    /// Generates a key of `bits` bits with the exponent 65537.
    package init(generatingBits bits: Int) throws(OpenSSLError) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else { throw .drained() }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw .drained() }
        unsafe self.key = key
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Returns the RSASSA-PKCS1-v1_5 signature over the SHA-256 of `bytes`.
    package func sign(_ bytes: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw .drained() }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else { throw .drained() }
        var size = Int(unsafe EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: size)
        guard unsafe EVP_DigestSign(context, &signature, &size, bytes, bytes.count) == 1 else { throw .drained() }
        return Array(signature.prefix(size))
    }

    /// Returns the key in PEM (PKCS #8, unencrypted). Secret.
    package func pem() throws(OpenSSLError) -> String {
        try unsafe PEM.text { unsafe PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    /// Returns the public key in PEM.
    package func publicPEM() throws(OpenSSLError) -> String {
        try unsafe PEM.text { unsafe PEM_write_bio_PUBKEY($0, key) }
    }
}
