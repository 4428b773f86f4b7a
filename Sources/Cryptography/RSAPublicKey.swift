// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of an RSA public key (`EVP_PKEY`) that is fit for verifying signatures.
@safe
package struct RSAPublicKey: ~Copyable, @unchecked Sendable {  // Read only after creation.
    private let key: OpaquePointer  // <EVP_PKEY>

    /// The size of the modulus in bits.
    package let bits: Int

    /// The DER form (`SubjectPublicKeyInfo`), which identifies the key.
    package let der: [UInt8]

    /// The largest key that is accepted, in bits. A check with it costs about 16 times one with 2048 bits.
    package static let maximumBits = 8192

    /// The smallest public exponent that is accepted (FIPS 186-5 §5.1). Real keys have exactly this one.
    package static let minimumExponent = 65_537

    /// Assumes ownership of a key, and frees it on failure too.
    @unsafe
    package init(owning pointer: OpaquePointer, minimumBits: Int) throws(KeyFault) {
        let guardian = unsafe KeyGuardian(pointer)
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA else { throw .notRSA }
        let bits = Int(unsafe EVP_PKEY_get_bits(pointer))
        guard bits >= minimumBits else { throw .tooSmall(bits: bits, minimum: minimumBits) }
        guard bits <= Self.maximumBits else { throw .tooLarge(bits: bits) }
        var exponent: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_RSA_E, &exponent) == 1 else {
            throw .unreadable(.drained())
        }
        defer { unsafe BN_free(exponent) }
        guard unsafe BN_is_odd(exponent) == 1, unsafe BN_num_bits(exponent) > 16 else { throw .weakExponent }
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PUBKEY(pointer, &buffer)
        guard length > 0, let start = unsafe buffer else { throw .unreadable(.drained()) }
        defer { unsafe CRYPTO_free(start, nil, 0) }
        self.bits = bits
        self.der = unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(length)))
        unsafe self.key = guardian.release()
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// The size of the modulus, and therefore of every signature, in bytes.
    package var signatureSize: Int { (bits + 7) / 8 }

    /// Calls `body` with the key, for a call of OpenSSL.
    @unsafe
    package func withKey<Value>(_ body: (OpaquePointer) -> Value) -> Value { unsafe body(key) }

    /// Creates a verification context with a copy of this key, so that threads share no lock and no counter in OpenSSL.
    package func makeVerificationContext() throws(OpenSSLError) -> VerificationKeyContext {
        guard let copy = unsafe EVP_PKEY_dup(key) else { throw .drained() }
        return try unsafe VerificationKeyContext(owning: copy, .rs256)
    }
}

/// A reason why a key is not fit for verifying media tokens.
package enum KeyFault: Error {
    case notRSA
    case tooSmall(bits: Int, minimum: Int)
    case tooLarge(bits: Int)
    case weakExponent
    case unreadable(OpenSSLError)
}

/// A guard that frees a key unless it is released.
@safe
package struct KeyGuardian: ~Copyable {
    private var key: OpaquePointer?

    @unsafe
    package init(_ key: OpaquePointer) { unsafe self.key = key }

    deinit { unsafe EVP_PKEY_free(key) }

    @unsafe
    package consuming func release() -> OpaquePointer {
        let key = unsafe key.take()
        // The initialiser sets the key. Only this function removes it, and it consumes the guardian.
        guard let key = unsafe key else { preconditionFailure("the key was released before") }
        return unsafe key
    }
}

/// A reader of public keys in DER.
package enum PublicKeyReader {
    /// Reads a `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7), as in a PEM block `PUBLIC KEY`.
    package static func key(subjectPublicKeyInfo der: [UInt8], minimumBits: Int) throws(KeyFault) -> RSAPublicKey {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &next, bytes.count)
        }
        guard let key = unsafe key else { throw .unreadable(.drained()) }
        return try unsafe RSAPublicKey(owning: key, minimumBits: minimumBits)
    }

    /// Reads an `RSAPublicKey` (RFC 8017 §A.1.1), as in a PEM block `RSA PUBLIC KEY`.
    package static func key(pkcs1 der: [UInt8], minimumBits: Int) throws(KeyFault) -> RSAPublicKey {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_PublicKey(EVP_PKEY_RSA, nil, &next, bytes.count)
        }
        guard let key = unsafe key else { throw .unreadable(.drained()) }
        return try unsafe RSAPublicKey(owning: key, minimumBits: minimumBits)
    }
}
