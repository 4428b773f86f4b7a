// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Testing

@Suite struct `Asymmetric keys` {
    @Test(arguments: [
        KeyType.ellipticCurve(.p256), .ellipticCurve(.p384), .ellipticCurve(.p521), .ed25519, .rsa(bits: 2048),
    ])
    func `are read from their numbers and from PEM`(type: KeyType) throws {
        let pair = try PrivateKey(generating: type)
        #expect(pair.publicKey.type == type)
        let again = try PublicKey(pair.publicKey.parameters)
        #expect(again.parameters == pair.publicKey.parameters && again.der == pair.publicKey.der)
        let block = try #require(try PEM.blocks([UInt8](pair.publicKey.pem().utf8)).first)
        #expect(try PublicKey(subjectPublicKeyInfo: block.der).parameters == again.parameters)
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(subjectPublicKeyInfo: block.der + [0]) }
        let secret = try #require(try PEM.blocks([UInt8](pair.pem().utf8)).first)
        #expect(try PrivateKey(der: secret.der).publicKey.parameters == again.parameters)
        // The private numbers make the same key.
        let copy = try PrivateKey(try #require(pair.parameters))
        #expect(try copy.pem() == pair.pem())
        // A public key has no private part.
        #expect(throws: KeyMaterialFault.malformed) { try PrivateKey(der: block.der) }
    }

    @Test(arguments: EllipticCurve.allCases)
    func `have points on their curves`(curve: EllipticCurve) throws {
        let pair = try PrivateKey(generating: .ellipticCurve(curve))
        guard case .ellipticCurve(_, let x, var y) = pair.publicKey.parameters else { return }
        let isOdd = y.last.map { $0 & 1 == 1 } ?? false
        #expect(try PublicKey(curve, x: x, isYOdd: isOdd).parameters == pair.publicKey.parameters)
        #expect(try PublicKey(curve, x: x, isYOdd: !isOdd).parameters != pair.publicKey.parameters)
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(.ellipticCurve(curve, x: [0] + x, y: y)) }
        #expect(throws: KeyMaterialFault.malformed) {
            try PublicKey(.ellipticCurve(curve, x: Array(x.dropFirst()), y: y))
        }
        y[y.count - 1] ^= 1
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(.ellipticCurve(curve, x: x, y: y)) }
        let zero = [UInt8](repeating: 0, count: curve.size)
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(.ellipticCurve(curve, x: zero, y: zero)) }
    }

    @Test func `have parts that belong together`() throws {
        let pairs = try (0..<2).map { _ in try PrivateKey(generating: .ellipticCurve(.p256)) }
        guard case .ellipticCurve(_, let x, let y) = pairs[0].publicKey.parameters else { return }
        let wrong = [UInt8](repeating: 1, count: 32)
        #expect(throws: KeyMaterialFault.mismatch) {
            try PrivateKey(.ellipticCurve(.p256, x: x, y: y, d: wrong))
        }
        #expect(throws: KeyMaterialFault.mismatch) {
            try PrivateKey(.ed25519(seed: wrong, publicKey: wrong))
        }
    }

    @Test func `have accepted sizes and exponents`() throws {
        let pair = try PrivateKey(generating: .rsa(bits: 2048))
        guard case .rsa(let modulus, let exponent) = pair.publicKey.parameters else { return }
        #expect(exponent == [1, 0, 1])
        for wrong: [UInt8] in [[], [1], [2], [1, 0, 0], [1, 0, 0, 0, 1]] {
            #expect(throws: KeyMaterialFault.weakExponent) { try PublicKey(.rsa(modulus: modulus, exponent: wrong)) }
        }
        #expect(throws: Never.self) { try PublicKey(.rsa(modulus: modulus, exponent: [3])) }
        let small = [UInt8](repeating: 0xFF, count: 255)
        #expect(throws: KeyMaterialFault.size(bits: 2040)) { try PublicKey(.rsa(modulus: small, exponent: [3])) }
        let large = [UInt8](repeating: 0xFF, count: 1025)
        #expect(throws: KeyMaterialFault.size(bits: 8200)) { try PublicKey(.rsa(modulus: large, exponent: [3])) }
        #expect(throws: KeyMaterialFault.size(bits: 1024)) { try PrivateKey(generating: .rsa(bits: 1024)) }
    }

    @Test func `of other types are refused`() throws {
        // X25519 (RFC 8410 §4), and secp256k1 with its generator (SEC 2 §2.4.1).
        let montgomery = [UInt8](hex: "302a300506032b656e032100" + String(repeating: "09", count: 32))
        #expect(throws: KeyMaterialFault.unsupported) { try PublicKey(subjectPublicKeyInfo: montgomery) }
        let other = [UInt8](
            hex: "3056301006072a8648ce3d020106052b8104000a03420004"
                + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
                + "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
        )
        #expect(throws: KeyMaterialFault.unsupported) { try PublicKey(subjectPublicKeyInfo: other) }
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(subjectPublicKeyInfo: []) }
        #expect(throws: KeyMaterialFault.malformed) { try PublicKey(subjectPublicKeyInfo: [0x30, 0]) }
    }
}
