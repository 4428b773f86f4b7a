// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A curve for ECDSA.
package enum EllipticCurve: String, Sendable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The size of a coordinate, and of each half of a signature, in bytes.
    package var size: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// The name that OpenSSL reports for the group.
    var groupName: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }

    /// The object identifier in DER (RFC 5480 §2.1.1.1).
    var identifier: [UInt8] {
        switch self {
        case .p256: [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .p384: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x23]
        }
    }

    /// The scheme of signatures with this curve.
    package var scheme: SignatureScheme {
        switch self {
        case .p256: .es256
        case .p384: .es384
        case .p521: .es512
        }
    }
}

/// The type of an asymmetric key, with the facts that determine its schemes.
package enum KeyType: Equatable, Sendable {
    case ellipticCurve(EllipticCurve)
    case ed25519
    /// An RSA key with a modulus of this many bits.
    case rsa(bits: Int)
}

/// A scheme of signatures, by the names of RFC 7518, RFC 8812 and RFC 9864.
package enum SignatureScheme: Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256
    /// RSASSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 bytes.
    case ps256
    /// ECDSA, as r and s of the curve's size one after the other.
    case es256, es384, es512
    /// Ed25519 (RFC 8032).
    case ed25519
    /// RSASSA-PKCS1-v1_5 with SHA-1, which is weak: only for vendors' formats.
    case rs1

    /// The hash function of the message, or `nil` if the scheme signs the message itself.
    var function: MessageDigest? {
        switch self {
        case .rs256, .ps256, .es256: .sha256
        case .es384: .sha384
        case .es512: .sha512
        case .rs1: .sha1
        case .ed25519: nil
        }
    }

    var curve: EllipticCurve? { EllipticCurve.allCases.first { $0.scheme == self } }

    /// True if keys of `type` sign with this scheme.
    package func suits(_ type: KeyType) -> Bool {
        switch type {
        case .ellipticCurve(let curve): curve.scheme == self
        case .ed25519: self == .ed25519
        case .rsa: self == .rs256 || self == .ps256 || self == .rs1
        }
    }

    /// Returns the size of every signature by a key of `type`, in bytes.
    package func signatureSize(_ type: KeyType) -> Int {
        switch type {
        case .ellipticCurve(let curve): 2 * curve.size
        case .ed25519: 64
        case .rsa(let bits): (bits + 7) / 8
        }
    }
}
