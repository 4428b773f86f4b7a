// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// A key with all that it is bound to: an issuer, a format, an identifier, one algorithm and its operations.
///
/// A symmetric key has no signatures and an asymmetric one no authentication codes, so none can be used as the other
/// (RFC 8725 §3.1). Neither description nor reflection contains any part of a secret.
public final class TokenKey: Sendable {
    /// The issuer whose tokens the key is for.
    public let issuer: String
    /// The format of those tokens.
    public let format: TokenFormat
    /// The identifier, or `nil` if it has none.
    public let id: KeyID?
    /// The only algorithm.
    public let algorithm: KeyAlgorithm
    /// The uses that the key permits and its material allows.
    public let operations: KeyOperations
    /// The time in which the key is valid, both ends included, or `nil` for always.
    public let validity: ClosedRange<Timestamp>?
    /// The exceptions from the rules.
    public let leniency: KeyLeniency
    /// The types (`typ`) of those tokens; `nil` if they do not matter.
    public let types: JWSTypes?

    let mechanism: Mechanism
    /// The secret of a symmetric key, for policies of edges; `nil` for another key. Never for logs.
    package let secret: [UInt8]?
    /// The beginning of the envelopes that the key makes; `nil` if COSE has no identifier for its algorithm.
    let prefix: COSEPrefix?

    enum Mechanism: Sendable {
        case mac(HMACKey)
        case signature(SignatureVerifier, SignatureMaker?)
    }

    enum Material: Sendable {
        case secret([UInt8])
        case publicKey(PublicKey)
        case privateKey(PrivateKey)
    }

    init(
        _ material: Material,
        id: KeyID?,
        algorithm: KeyAlgorithm?,
        operations: KeyOperations = [.verify, .sign],
        binding: KeyBinding,
        validity: ClosedRange<Timestamp>? = nil
    ) throws(KeySetError) {
        let made = try Self.mechanism(for: material, algorithm: algorithm, binding: binding)
        guard binding.algorithms.isEmpty || binding.algorithms.contains(made.algorithm) else {
            throw KeySetError(.unusableKey, reason: "\(made.algorithm.rawValue) is none of the issuer's algorithms")
        }
        var possible: KeyOperations = [.verify, .sign]
        if case .publicKey = material { possible = .verify }
        let operations = operations.intersection(possible)
        guard !operations.isEmpty else {
            throw KeySetError(.unusableKey, reason: "the key may neither verify nor sign")
        }
        self.issuer = binding.issuer
        self.format = binding.format
        self.id = id
        self.algorithm = made.algorithm
        self.operations = operations
        self.validity = validity
        self.leniency = binding.leniency
        types = binding.types ?? (binding.format == .accessToken ? .accessTokens : nil)
        self.mechanism = made.mechanism
        if case .secret(let bytes) = material { secret = bytes } else { secret = nil }
        prefix = COSEPrefix(algorithm: made.algorithm, id: id, isUnprotected: false)
    }

    private static func mechanism(
        for material: Material,
        algorithm: KeyAlgorithm?,
        binding: KeyBinding
    ) throws(KeySetError) -> (algorithm: KeyAlgorithm, mechanism: Mechanism) {
        switch material {
        case .secret(let secret):
            let algorithm = algorithm ?? .hs256
            guard let function = algorithm.macFunction else {
                throw KeySetError(.unusableKey, reason: "a symmetric key cannot be used for \(algorithm.rawValue)")
            }
            guard secret.count >= function.size else {
                throw KeySetError(
                    .unusableKey,
                    reason:
                        "the secret has \(secret.count) bytes, fewer than the \(function.size) of \(algorithm.rawValue)"
                )
            }
            do { return (algorithm, .mac(try HMACKey(secret, function: function))) } catch {
                throw KeySetError(.unusableKey, reason: error.text)
            }
        case .publicKey(let key):
            let (algorithm, scheme) = try scheme(of: algorithm, for: key.type, binding: binding)
            guard let verifier = SignatureVerifier(key, scheme: scheme) else { throw Self.unsuited(algorithm) }
            return (algorithm, .signature(verifier, nil))
        case .privateKey(let key):
            let (algorithm, scheme) = try scheme(of: algorithm, for: key.publicKey.type, binding: binding)
            guard let verifier = SignatureVerifier(key.publicKey, scheme: scheme),
                let maker = SignatureMaker(key, scheme: scheme)
            else {
                throw Self.unsuited(algorithm)
            }
            return (algorithm, .signature(verifier, maker))
        }
    }

    private static func scheme(
        of algorithm: KeyAlgorithm?,
        for type: KeyType,
        binding: KeyBinding
    ) throws(KeySetError) -> (KeyAlgorithm, SignatureScheme) {
        guard let algorithm = algorithm ?? .only(for: type) ?? binding.rsaAlgorithm else {
            throw KeySetError(
                .unusableKey,
                reason: "an RSA key names no algorithm, and its issuer's configuration neither"
            )
        }
        guard let scheme = algorithm.scheme, scheme.suits(type) else { throw unsuited(algorithm) }
        return (algorithm, scheme)
    }

    private static func unsuited(_ algorithm: KeyAlgorithm) -> KeySetError {
        KeySetError(.unusableKey, reason: "a key of this type cannot be used for \(algorithm.rawValue)")
    }

    /// True if the key is valid at `now`.
    public func isValid(at now: Timestamp) -> Bool { validity?.contains(now) ?? true }

    /// The public key of an asymmetric one.
    var publicKey: PublicKey? {
        if case .signature(let verifier, _) = mechanism { verifier.key } else { nil }
    }

    /// True if both are the same key for the same use. Symmetric ones are never found to be.
    func hasSamePublicKey(as other: TokenKey) -> Bool {
        guard let own = publicKey, let its = other.publicKey else { return false }
        return own.parameters == its.parameters && operations == other.operations
    }
}

extension TokenKey: CustomStringConvertible, CustomReflectable {
    /// The identifier and the algorithm.
    public var description: String { "\(id?.description ?? "key") (\(algorithm.rawValue))" }
    /// A `Mirror` without children, so that reflection contains no part of a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TokenKey {
    /// Creates a symmetric key for HS256, HS384 or HS512.
    ///
    /// - Parameters:
    ///   - secret: Random bytes: at least 32, 48 or 64.
    ///   - id: The identifier, or `nil` for none.
    ///   - algorithm: The algorithm.
    ///   - binding: The issuer and the format that the key is bound to.
    ///   - validity: The time in which the key is valid, or `nil` for always.
    /// - Throws: KeySetError with code KeySetError/Code/unusableKey.
    public convenience init(
        secret: [UInt8],
        id: KeyID?,
        algorithm: KeyAlgorithm = .hs256,
        binding: KeyBinding,
        validity: ClosedRange<Timestamp>? = nil
    ) throws(KeySetError) {
        try self.init(.secret(secret), id: id, algorithm: algorithm, binding: binding, validity: validity)
    }

    /// Reads a certificate, a public key or an unencrypted private key in PEM.
    ///
    /// Of several certificates, the first is used, and is valid for as long as it says at most. Chains are not checked:
    /// the operator names the certificate.
    ///
    /// - Parameters:
    ///   - text: PEM with one key, or with certificates.
    ///   - id: The identifier, or `nil` for none.
    ///   - algorithm: The algorithm, or `nil` for the only one of the key, or the binding's for RSA.
    ///   - binding: The issuer and the format that the key is bound to.
    ///   - validity: The time in which the key is valid, or `nil` for always.
    /// - Throws: KeySetError with code KeySetError/Code/malformed or KeySetError/Code/unusableKey.
    public convenience init(
        pem text: [UInt8],
        id: KeyID?,
        algorithm: KeyAlgorithm? = nil,
        binding: KeyBinding,
        validity: ClosedRange<Timestamp>? = nil
    ) throws(KeySetError) {
        let read = try PEMKey.read(text)
        var period = validity
        if let own = read.validity {
            guard validity.map({ $0.overlaps(own) }) ?? true else {
                throw KeySetError(.unusableKey, reason: "certificate and key have no common validity period")
            }
            period = validity.map { own.clamped(to: $0) } ?? own
        }
        try self.init(read.material, id: id, algorithm: algorithm, binding: binding, validity: period)
    }

    /// Creates a key that only verifies, from the DER of a `SubjectPublicKeyInfo`.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/malformed`` or ``KeySetError/Code/unusableKey``.
    package convenience init(
        publicKeyInfo der: [UInt8],
        id: KeyID?,
        algorithm: KeyAlgorithm,
        binding: KeyBinding,
        validity: ClosedRange<Timestamp>? = nil
    ) throws(KeySetError) {
        let key: PublicKey
        do throws(KeyMaterialFault) { key = try PublicKey(subjectPublicKeyInfo: der) } catch {
            throw KeySetError(error)
        }
        try self.init(.publicKey(key), id: id, algorithm: algorithm, binding: binding, validity: validity)
    }

    /// The DER of the `SubjectPublicKeyInfo`; `nil` for a symmetric key.
    package var publicKeyInfo: [UInt8]? { publicKey?.der }

    /// Returns the public key of a certificate, a public or a private key in PEM, as DER of a `SubjectPublicKeyInfo`.
    ///
    /// - Throws: KeySetError with code KeySetError/Code/malformed or KeySetError/Code/unusableKey.
    package static func publicKeyInfo(pem text: [UInt8]) throws(KeySetError) -> [UInt8] {
        let key: PublicKey?
        switch try PEMKey.read(text).material {
        case .publicKey(let read): key = read
        case .privateKey(let read): key = read.publicKey
        case .secret: key = nil
        }
        guard let der = key?.der else { throw KeySetError(.unusableKey, reason: "the key cannot be written") }
        return der
    }

    /// Generates a key: 32, 48 or 64 random bytes for HMAC, a pair for ECDSA or Ed25519, 3072 bits for RSA.
    ///
    /// - Throws: KeySetError with code KeySetError/Code/unusableKey if OpenSSL fails.
    public static func generate(
        _ algorithm: KeyAlgorithm,
        id: KeyID?,
        binding: KeyBinding
    ) throws(KeySetError) -> GeneratedKey {
        if let function = algorithm.macFunction {
            let secret: [UInt8]
            do { secret = try RandomBytes.make(function.size) } catch {
                throw KeySetError(.unusableKey, reason: error.text)
            }
            let key = try TokenKey(.secret(secret), id: id, algorithm: algorithm, binding: binding)
            return GeneratedKey(key: key, secret: .bytes(secret))
        }
        let type: KeyType =
            switch algorithm {
            case .es384: .ellipticCurve(.p384)
            case .es512: .ellipticCurve(.p521)
            case .edDSA: .ed25519
            case .ps256, .rs256: .rsa(bits: 3072)
            default: .ellipticCurve(.p256)
            }
        let pair: PrivateKey
        do { pair = try PrivateKey(generating: type) } catch { throw KeySetError(error) }
        let pem: String
        do { pem = try pair.pem() } catch { throw KeySetError(.unusableKey, reason: error.text) }
        let key = try TokenKey(.privateKey(pair), id: id, algorithm: algorithm, binding: binding)
        return GeneratedKey(key: key, secret: .pem(pem))
    }
}

/// A key that was generated, with its secret to be stored.
public struct GeneratedKey: Sendable {
    /// The key, which verifies and signs.
    public let key: TokenKey
    /// The secret part.
    public let secret: Secret

    /// The secret part of a generated key.
    public enum Secret: Sendable {
        /// The bytes of a symmetric key.
        case bytes([UInt8])
        /// A private key in PEM (PKCS #8, unencrypted).
        case pem(String)
    }
}

extension GeneratedKey: CustomStringConvertible, CustomReflectable {
    /// The identifier and the algorithm.
    public var description: String { key.description }
    /// A `Mirror` without children, so that reflection contains no part of the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
