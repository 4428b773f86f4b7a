// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of a private key (`EVP_PKEY`) of RSA, of a curve for ECDSA, or of Ed25519.
@safe
package final class PrivateKey: @unchecked Sendable {
    // Unchecked: the key is only read after creation, to copy it.
    private let key: OpaquePointer  // <EVP_PKEY>

    /// The public part of the key.
    package let publicKey: PublicKey

    /// The numbers of a private key, big-endian. Secret.
    package enum Parameters: Sendable {
        /// The public point and the secret number, which has the curve's size.
        case ellipticCurve(EllipticCurve, x: [UInt8], y: [UInt8], d: [UInt8])
        /// The seed of 32 bytes, and the public key if it is known.
        case ed25519(seed: [UInt8], publicKey: [UInt8]?)
        /// The numbers n, e, d, p, q, dP, dQ and qInv of RFC 8017 §3.2, in this order.
        case rsa([[UInt8]])
    }

    /// Assumes ownership of a key, and frees it on failure too.
    @unsafe
    private init(owning pointer: OpaquePointer) throws(KeyMaterialFault) {
        let guardian = unsafe KeyGuardian(pointer)
        defer { OpenSSLError.forget() }
        guard let copy = unsafe EVP_PKEY_dup(pointer) else { throw .malformed }
        // The copy has the private part too: only its public one is read.
        publicKey = try unsafe Self.publicKey(owning: copy)
        guard unsafe Self.isPair(pointer) else { throw .mismatch }
        unsafe self.key = guardian.release()
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Returns the public key of a pair, without the private one.
    @unsafe
    private static func publicKey(owning pair: OpaquePointer) throws(KeyMaterialFault) -> PublicKey {
        try PublicKey(try unsafe PublicKey(owning: pair).parameters)
    }

    /// True if the private part belongs to the public one.
    @unsafe
    private static func isPair(_ key: OpaquePointer) -> Bool {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        return unsafe EVP_PKEY_pairwise_check(context) == 1
    }

    /// Reads a private key in DER: PKCS #8, PKCS #1 or SEC 1.
    package convenience init(der: [UInt8]) throws(KeyMaterialFault) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &next, bytes.count)
        }
        guard let key = unsafe key else {
            OpenSSLError.forget()
            throw .malformed
        }
        try unsafe self.init(owning: key)
    }

    /// Creates a key from its numbers. Throws `mismatch` if they do not belong together.
    package convenience init(_ parameters: Parameters) throws(KeyMaterialFault) {
        switch parameters {
        case .ellipticCurve(let curve, let x, let y, let d):
            guard x.count == curve.size, y.count == curve.size, d.count == curve.size else { throw .malformed }
            // RFC 5915 §3.
            let content = DERWriter.sequence(
                DERWriter.integer([1]),
                DERWriter.element(tag: 0x04, content: d),
                DERWriter.element(tag: 0xA0, content: curve.identifier),
                DERWriter.element(tag: 0xA1, content: DERWriter.bitString([4] + x + y))
            )
            try self.init(der: content)
        case .ed25519(let seed, let publicKey):
            guard seed.count == 32 else { throw .malformed }
            // RFC 8410 §7.
            let content = DERWriter.sequence(
                DERWriter.integer([0]),
                DERWriter.ed25519Algorithm,
                DERWriter.element(tag: 0x04, content: DERWriter.element(tag: 0x04, content: seed))
            )
            try self.init(der: content)
            guard publicKey == nil || self.publicKey.parameters == publicKey.map({ .ed25519($0) }) else {
                throw .mismatch
            }
        case .rsa(let numbers):
            guard numbers.count == 8, numbers.allSatisfy({ $0.count <= 1024 }) else { throw .malformed }
            let content = numbers.flatMap { DERWriter.integer($0) }
            try self.init(der: DERWriter.element(tag: 0x30, content: DERWriter.integer([0]) + content))
        }
    }

    /// Generates a key of `type`. Throws if OpenSSL fails, or the size of an RSA key is not accepted.
    package convenience init(generating type: KeyType) throws(KeyMaterialFault) {
        var key: OpaquePointer?
        switch type {
        case .ellipticCurve(let curve):
            unsafe key = Self.generate("EC") { unsafe EVP_PKEY_CTX_set_group_name($0, curve.groupName) }
        case .ed25519: unsafe key = Self.generate("ED25519") { _ in 1 }
        case .rsa(let bits):
            guard PublicKey.rsaBits ~= bits else { throw .size(bits: bits) }
            unsafe key = Self.generate("RSA") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) }
        }
        guard let key = unsafe key else {
            OpenSSLError.forget()
            throw .unsupported
        }
        try unsafe self.init(owning: key)
    }

    @unsafe
    private static func generate(_ name: String, configure set: (OpaquePointer) -> Int32) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil) else { return nil }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe set(context) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1
        else { return nil }
        return unsafe key
    }

    /// Returns the key in PEM (PKCS #8, unencrypted). Secret.
    package func pem() throws(OpenSSLError) -> String {
        try unsafe PEM.text { unsafe PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    /// The numbers of the key, or `nil` if OpenSSL fails. Secret.
    package var parameters: Parameters? {
        defer { OpenSSLError.forget() }
        switch publicKey.parameters {
        case .ellipticCurve(let curve, let x, let y):
            guard let d = unsafe PublicKey.number(of: key, named: OSSL_PKEY_PARAM_PRIV_KEY, size: curve.size) else {
                return nil
            }
            return .ellipticCurve(curve, x: x, y: y, d: d)
        case .ed25519(let publicKey):
            var seed = [UInt8](repeating: 0, count: 32)
            var count = seed.count
            guard unsafe EVP_PKEY_get_raw_private_key(key, &seed, &count) == 1, count == 32 else { return nil }
            return .ed25519(seed: seed, publicKey: publicKey)
        case .rsa(let modulus, let exponent):
            // The numbers d, p, q, dP, dQ and qInv, by OpenSSL's names.
            let names = ["d", "rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2", "rsa-coefficient1"]
            let others = names.compactMap { unsafe PublicKey.number(of: key, named: $0, size: nil) }
            return others.count == names.count ? .rsa([modulus, exponent] + others) : nil
        }
    }

    /// Returns a copy of the key, or `nil` if that fails.
    @unsafe
    func copy() -> OpaquePointer? { unsafe EVP_PKEY_dup(key) }
}
