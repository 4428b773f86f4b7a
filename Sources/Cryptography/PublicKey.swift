// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import COpenSSL

/// The owner of a public key (`EVP_PKEY`) of RSA, of a curve for ECDSA, or of Ed25519.
@safe
package final class PublicKey: @unchecked Sendable {
    // Unchecked: the key is only read after creation, to copy it.
    private let key: OpaquePointer  // <EVP_PKEY>

    /// The type of the key.
    package let type: KeyType

    /// The numbers of the key.
    package let parameters: Parameters

    /// The numbers of a public key, big-endian.
    package enum Parameters: Equatable, Sendable {
        /// The coordinates of the point, each of the curve's size.
        case ellipticCurve(EllipticCurve, x: [UInt8], y: [UInt8])
        /// The 32 bytes of RFC 8032 §5.1.5.
        case ed25519([UInt8])
        /// Modulus and exponent without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
    }

    /// The sizes of RSA keys that are accepted, in bits.
    package static let rsaBits = 2048...8192

    /// Assumes ownership of a key, and frees it on failure too.
    @unsafe
    init(owning pointer: OpaquePointer) throws(KeyMaterialFault) {
        let guardian = unsafe KeyGuardian(pointer)
        parameters = try unsafe Self.parameters(pointer)
        switch parameters {
        case .ellipticCurve(let curve, _, _): type = .ellipticCurve(curve)
        case .ed25519: type = .ed25519
        case .rsa(let modulus, let exponent):
            type = .rsa(bits: try Self.checkedBits(modulus: modulus, exponent: exponent))
        }
        unsafe self.key = guardian.release()
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Reads a `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7) without trailing bytes.
    package convenience init(subjectPublicKeyInfo der: [UInt8]) throws(KeyMaterialFault) {
        let key: OpaquePointer? = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let read = unsafe d2i_PUBKEY(nil, &next, bytes.count) else { return nil }
            guard unsafe next == bytes.baseAddress?.advanced(by: bytes.count) else {
                unsafe EVP_PKEY_free(read)
                return nil
            }
            return unsafe read
        }
        guard let key = unsafe key else {
            OpenSSLError.forget()
            throw .malformed
        }
        try unsafe self.init(owning: key)
    }

    /// Reads an `RSAPublicKey` (RFC 8017 §A.1.1), as in a PEM block `RSA PUBLIC KEY`.
    package convenience init(pkcs1 der: [UInt8]) throws(KeyMaterialFault) {
        try self.init(subjectPublicKeyInfo: DERWriter.sequence(DERWriter.rsaAlgorithm, DERWriter.bitString(der)))
    }

    /// Creates a key from its numbers: coordinates of exactly the curve's size, of a point on the curve.
    package convenience init(_ parameters: Parameters) throws(KeyMaterialFault) {
        switch parameters {
        case .ellipticCurve(let curve, let x, let y):
            guard x.count == curve.size, y.count == curve.size else { throw .malformed }
            try self.init(curve, point: [4] + x + y)
        case .ed25519(let bytes):
            guard bytes.count == 32 else { throw .malformed }
            try self.init(
                subjectPublicKeyInfo: DERWriter.sequence(DERWriter.ed25519Algorithm, DERWriter.bitString(bytes))
            )
        case .rsa(let modulus, let exponent):
            _ = try Self.checkedBits(modulus: modulus, exponent: exponent)
            let numbers = DERWriter.sequence(DERWriter.integer(modulus), DERWriter.integer(exponent))
            try self.init(
                subjectPublicKeyInfo: DERWriter.sequence(DERWriter.rsaAlgorithm, DERWriter.bitString(numbers))
            )
        }
    }

    /// Creates a key of one coordinate and the sign of the other (RFC 9053 §7.1.1).
    package convenience init(_ curve: EllipticCurve, x: [UInt8], isYOdd: Bool) throws(KeyMaterialFault) {
        guard x.count == curve.size else { throw .malformed }
        try self.init(curve, point: [isYOdd ? 3 : 2] + x)
    }

    private convenience init(_ curve: EllipticCurve, point: [UInt8]) throws(KeyMaterialFault) {
        try self.init(
            subjectPublicKeyInfo: DERWriter.sequence(DERWriter.algorithm(curve), DERWriter.bitString(point))
        )
    }

    /// The DER form (`SubjectPublicKeyInfo`), or `nil` if OpenSSL fails.
    package var der: [UInt8]? {
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PUBKEY(key, &buffer)
        guard length > 0, let start = unsafe buffer else { return nil }
        defer { unsafe CRYPTO_free(start, nil, 0) }
        return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(length)))
    }

    /// Returns the key in PEM.
    package func pem() throws(OpenSSLError) -> String {
        try unsafe PEM.text { unsafe PEM_write_bio_PUBKEY($0, key) }
    }

    /// Returns a copy of the key, so that threads share no lock and no counter in OpenSSL, or `nil` if that fails.
    @unsafe
    func copy() -> OpaquePointer? { unsafe EVP_PKEY_dup(key) }
}

/// A reason why bytes or numbers are not a key that is accepted.
package enum KeyMaterialFault: Error, Equatable, Sendable {
    /// The bytes are not a key, a coordinate has another size than the curve's, or the point is not on the curve.
    case malformed
    /// A type of key or a curve other than RSA, P-256, P-384, P-521 and Ed25519.
    case unsupported
    /// An RSA key with a modulus of this many bits, which is not within PublicKey/rsaBits.
    case size(bits: Int)
    /// An RSA key with an exponent that is even, 1, or longer than 32 bits.
    case weakExponent
    /// The private part does not belong to the public one.
    case mismatch
}

extension PublicKey {
    /// Returns the size of a modulus in bits. Throws if it or the exponent is not accepted.
    private static func checkedBits(modulus: [UInt8], exponent: [UInt8]) throws(KeyMaterialFault) -> Int {
        let digits = modulus.drop { $0 == 0 }
        guard let first = digits.first else { throw .malformed }
        let bits = 8 * digits.count - first.leadingZeroBitCount
        guard rsaBits ~= bits else { throw .size(bits: bits) }
        let low = exponent.drop { $0 == 0 }
        guard let last = low.last, last & 1 == 1, low.count <= 4, low.count > 1 || last >= 3 else {
            throw .weakExponent
        }
        return bits
    }

    @unsafe
    private static func parameters(_ key: OpaquePointer) throws(KeyMaterialFault) -> Parameters {
        defer { OpenSSLError.forget() }
        switch unsafe EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_EC:
            let curve = try unsafe curve(key)
            guard let x = unsafe number(of: key, named: OSSL_PKEY_PARAM_EC_PUB_X, size: curve.size),
                let y = unsafe number(of: key, named: OSSL_PKEY_PARAM_EC_PUB_Y, size: curve.size)
            else { throw .malformed }
            return .ellipticCurve(curve, x: x, y: y)
        case EVP_PKEY_ED25519:
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            guard unsafe EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == 32 else { throw .malformed }
            return .ed25519(bytes)
        case EVP_PKEY_RSA:
            guard let modulus = unsafe number(of: key, named: OSSL_PKEY_PARAM_RSA_N, size: nil),
                let exponent = unsafe number(of: key, named: OSSL_PKEY_PARAM_RSA_E, size: nil)
            else { throw .malformed }
            return .rsa(modulus: modulus, exponent: exponent)
        default: throw .unsupported
        }
    }

    @unsafe
    private static func curve(_ key: OpaquePointer) throws(KeyMaterialFault) -> EllipticCurve {
        var name = [CChar](repeating: 0, count: 32)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { throw .unsupported }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let curve = EllipticCurve.allCases.first(where: { $0.groupName == text }) else { throw .unsupported }
        return curve
    }

    /// Returns a number of the key, of `size` bytes, or without leading zeros if that is `nil`.
    @unsafe
    static func number(of key: OpaquePointer, named name: String, size: Int?) -> [UInt8]? {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1 else { return nil }
        defer { unsafe BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: size ?? max(1, Int((unsafe BN_num_bits(number) + 7) / 8)))
        guard unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(bytes.count) else { return nil }
        return bytes
    }
}

extension Certificate {
    /// Returns the public key of the certificate.
    package func anyPublicKey() throws(KeyMaterialFault) -> PublicKey {
        guard let key = unsafe X509_get_pubkey(certificate) else {
            OpenSSLError.forget()
            throw .unsupported
        }
        return try unsafe PublicKey(owning: key)
    }
}
