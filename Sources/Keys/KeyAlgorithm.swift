// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// An algorithm that authenticates tokens. Its raw value is the name of RFC 7518 §3.1.
@nonexhaustive
public enum KeyAlgorithm: String, Sendable, CaseIterable {
    /// HMAC with SHA-256, and a key of at least 32 bytes.
    case hs256 = "HS256"
    /// HMAC with SHA-384, and a key of at least 48 bytes.
    case hs384 = "HS384"
    /// HMAC with SHA-512, and a key of at least 64 bytes.
    case hs512 = "HS512"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// ECDSA with P-384 and SHA-384.
    case es384 = "ES384"
    /// ECDSA with P-521 and SHA-512.
    case es512 = "ES512"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// RSASSA-PKCS1-v1_5 with SHA-256. Not for COSE.
    case rs256 = "RS256"
    /// Ed25519 (RFC 8032), the only curve for it here.
    case edDSA = "EdDSA"

    /// Creates an algorithm from a name of RFC 7518, or `Ed25519` (RFC 9864). Returns `nil` for others, `none` among them.
    public init?(name: String) {
        guard let algorithm = name == "Ed25519" ? .edDSA : KeyAlgorithm(rawValue: name) else { return nil }
        self = algorithm
    }

    /// Creates an algorithm from a COSE identifier (RFC 9053). Returns `nil` for others, RS256 and `HMAC 256/64` among them.
    public init?(coseIdentifier: Int64) {
        switch coseIdentifier {
        case 5: self = .hs256
        case 6: self = .hs384
        case 7: self = .hs512
        case -7: self = .es256
        case -35: self = .es384
        case -36: self = .es512
        case -37: self = .ps256
        case -8, -19: self = .edDSA
        default: return nil
        }
    }

    /// The COSE identifier that is written, or `nil` for RS256.
    public var coseIdentifier: Int64? {
        switch self {
        case .hs256: 5
        case .hs384: 6
        case .hs512: 7
        case .es256: -7
        case .es384: -35
        case .es512: -36
        case .ps256: -37
        case .edDSA: -8
        case .rs256: nil
        }
    }

    /// True for HMAC.
    public var isMAC: Bool { macFunction != nil }

    var macFunction: MessageDigest? {
        switch self {
        case .hs256: .sha256
        case .hs384: .sha384
        case .hs512: .sha512
        default: nil
        }
    }

    var scheme: SignatureScheme? {
        switch self {
        case .hs256, .hs384, .hs512: nil
        case .es256: .es256
        case .es384: .es384
        case .es512: .es512
        case .ps256: .ps256
        case .rs256: .rs256
        case .edDSA: .ed25519
        }
    }

    /// Returns the only algorithm of a type of key, or `nil` for RSA, which has several.
    static func only(for type: KeyType) -> KeyAlgorithm? {
        switch type {
        case .ellipticCurve(.p256): .es256
        case .ellipticCurve(.p384): .es384
        case .ellipticCurve(.p521): .es512
        case .ed25519: .edDSA
        case .rsa: nil
        }
    }
}
