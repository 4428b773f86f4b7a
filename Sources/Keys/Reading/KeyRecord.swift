// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography

/// An entry of a key set, in either notation.
struct KeyRecord {
    let id: KeyID?
    let material: TokenKey.Material
    let algorithm: KeyAlgorithm?
    let operations: KeyOperations
}

/// The numbers of an entry, before it is known whether they are a key. Big-endian.
enum KeyNumbers {
    case secret([UInt8])
    case ellipticCurve(EllipticCurve, x: [UInt8], y: Ordinate, d: [UInt8]?)
    case ed25519(x: [UInt8], d: [UInt8]?)
    case rsa(modulus: [UInt8], exponent: [UInt8], others: [[UInt8]]?)

    /// The second coordinate of a point, or its sign (RFC 9053 §7.1.1).
    enum Ordinate {
        case coordinate([UInt8])
        case isOdd(Bool)
    }

    func material() throws(KeyMaterialFault) -> TokenKey.Material {
        switch self {
        case .secret(let secret): return .secret(secret)
        case .ellipticCurve(let curve, let x, let y, let d):
            let key: PublicKey
            switch y {
            case .coordinate(let y): key = try PublicKey(.ellipticCurve(curve, x: x, y: y))
            case .isOdd(let isOdd): key = try PublicKey(curve, x: x, isYOdd: isOdd)
            }
            guard let d else { return .publicKey(key) }
            guard case .ellipticCurve(_, let x, let y) = key.parameters else { throw .malformed }
            return .privateKey(try PrivateKey(.ellipticCurve(curve, x: x, y: y, d: d)))
        case .ed25519(let x, let d):
            guard let d else { return .publicKey(try PublicKey(.ed25519(x))) }
            return .privateKey(try PrivateKey(.ed25519(seed: d, publicKey: x)))
        case .rsa(let modulus, let exponent, let others):
            let key = try PublicKey(.rsa(modulus: modulus, exponent: exponent))
            guard let others else { return .publicKey(key) }
            return .privateKey(try PrivateKey(.rsa([modulus, exponent] + others)))
        }
    }
}

/// A reason why an entry is skipped, and the others of its set are not.
struct EntryFault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

extension KeyNumbers {
    /// Returns the key of these numbers. Throws if they are none.
    func entryMaterial() throws(EntryFault) -> TokenKey.Material {
        do throws(KeyMaterialFault) { return try material() } catch { throw EntryFault(KeySetError(error).reason) }
    }
}
