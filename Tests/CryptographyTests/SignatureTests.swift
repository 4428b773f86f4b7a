// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Testing

@Suite struct `Signatures` {
    struct Vector: Sendable {
        let scheme: SignatureScheme
        let key: PublicKey.Parameters
        let message: String
        let signature: String
    }

    /// RFC 6979 §A.2.5 to §A.2.7, message "sample"; RFC 8032 §7.1, tests 1 to 3.
    static let vectors = [
        Vector(
            scheme: .es256,
            key: .ellipticCurve(
                .p256,
                x: [UInt8](hex: "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"),
                y: [UInt8](hex: "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
            ),
            message: "73616d706c65",
            signature: "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
                + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
        ),
        Vector(
            scheme: .es384,
            key: .ellipticCurve(
                .p384,
                x: [UInt8](
                    hex:
                        "ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea9055866064a254515480bc13"
                ),
                y: [UInt8](
                    hex:
                        "8015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720"
                )
            ),
            message: "73616d706c65",
            signature:
                "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46"
                + "99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8"
        ),
        Vector(
            scheme: .es512,
            key: .ellipticCurve(
                .p521,
                x: [UInt8](
                    hex: "01894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd"
                        + "371123d46e45db6b5d5370a7f20fb633155d38ffa16d2bd761dcac474b9a2f5023a4"
                ),
                y: [UInt8](
                    hex: "00493101c962cd4d2fddf782285e64584139c2f91b47f87ff82354d6630f746a"
                        + "28a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5"
                )
            ),
            message: "73616d706c65",
            signature: "00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f"
                + "174e25a1ee9017b5d450606add152b534931d7d4e8455cc91f9b15bf05ec36e377fa"
                + "00617cce7cf5064806c467f678d3b4080d6f1cc50af26ca209417308281b68af"
                + "282623eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a"
        ),
        Vector(
            scheme: .ed25519,
            key: .ed25519([UInt8](hex: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")),
            message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        Vector(
            scheme: .ed25519,
            key: .ed25519([UInt8](hex: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")),
            message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test(arguments: vectors)
    func `of the RFCs are valid`(vector: Vector) throws {
        let verifier = try #require(SignatureVerifier(try PublicKey(vector.key), scheme: vector.scheme))
        let (message, signature) = ([UInt8](hex: vector.message), [UInt8](hex: vector.signature))
        for _ in 0..<3 {
            #expect(verifier.isValid(signature, over: message))
            #expect(!verifier.isValid(signature, over: (message + [0])))
        }
        for bit in stride(from: 0, to: 8 * signature.count, by: 7) {
            var wrong = signature
            wrong[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!verifier.isValid(wrong, over: message))
        }
        #expect(!verifier.isValid(Array(signature.dropLast()), over: message))
        #expect(!verifier.isValid((signature + [0]), over: message))
        #expect(!verifier.isValid([UInt8](), over: message))
    }

    /// The seeds are those of RFC 8032 §7.1: Ed25519 has one signature for a message.
    @Test func `of Ed25519 are those of RFC 8032`() throws {
        let seed = [UInt8](hex: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
        let key = try PrivateKey(.ed25519(seed: seed, publicKey: nil))
        let vector = try #require(Self.vectors.last)
        #expect(key.publicKey.parameters == vector.key)
        let maker = try #require(SignatureMaker(key, scheme: .ed25519))
        #expect(try maker.sign([0xAF, 0x82]) == [UInt8](hex: vector.signature))
    }

    static let pairs: [(SignatureScheme, KeyType)] = [
        (.es256, .ellipticCurve(.p256)), (.es384, .ellipticCurve(.p384)), (.es512, .ellipticCurve(.p521)),
        (.ed25519, .ed25519), (.ps256, .rsa(bits: 2048)), (.rs256, .rsa(bits: 2048)), (.rs1, .rsa(bits: 2048)),
    ]

    @Test(arguments: pairs)
    func `are valid only for their key and message`(scheme: SignatureScheme, type: KeyType) throws {
        let keys = try (0..<2).map { _ in try PrivateKey(generating: type) }
        let maker = try #require(SignatureMaker(keys[0], scheme: scheme))
        let verifier = try #require(SignatureVerifier(keys[0].publicKey, scheme: scheme))
        let other = try #require(SignatureVerifier(keys[1].publicKey, scheme: scheme))
        for count in 0..<20 {
            let message = [UInt8](repeating: 5, count: count)
            let signature = try maker.sign(message, prefersLowS: count.isMultiple(of: 2))
            #expect(signature.count == verifier.signatureSize)
            #expect(verifier.isValid(signature, over: message))
            #expect(!other.isValid(signature, over: message))
        }
        for (wrong, _) in Self.pairs where !wrong.suits(type) {
            #expect(
                SignatureVerifier(keys[0].publicKey, scheme: wrong) == nil
                    && SignatureMaker(keys[0], scheme: wrong) == nil
            )
        }
    }

    @Test func `with one padding or digest are not valid with another`() throws {
        let key = try PrivateKey(generating: .rsa(bits: 2048))
        let message: [UInt8] = [1, 2, 3]
        let pairs = [
            (SignatureScheme.ps256, SignatureScheme.rs256), (.rs256, .ps256), (.rs1, .rs256), (.rs256, .rs1),
            (.rs1, .ps256),
        ]
        for (one, other) in pairs {
            let maker = try #require(SignatureMaker(key, scheme: one))
            let verifier = try #require(SignatureVerifier(key.publicKey, scheme: other))
            let signature = try maker.sign(message)
            #expect(!verifier.isValid(signature, over: message))
        }
    }

    @Test(arguments: EllipticCurve.allCases)
    func `of ECDSA have the lower s on request, and are valid with either`(curve: EllipticCurve) throws {
        let key = try PrivateKey(generating: .ellipticCurve(curve))
        let maker = try #require(SignatureMaker(key, scheme: curve.scheme))
        let verifier = try #require(SignatureVerifier(key.publicKey, scheme: curve.scheme))
        var seen = Set<Bool>()
        // The half of the order begins with 7F, and that of P-521 with 00 FF.
        let half: [UInt8] = curve == .p521 ? [0x00, 0xFF] : [0x7F, 0xFF]
        for number in 0..<64 {
            let message: [UInt8] = [UInt8(number)]
            let free = try maker.sign(message)
            seen.insert(half.lexicographicallyPrecedes(free[curve.size..<curve.size + 2]))
            #expect(verifier.isValid(free, over: message))
            let low = try maker.sign(message, prefersLowS: true)
            #expect(!half.lexicographicallyPrecedes(low[curve.size..<curve.size + 2]))
            #expect(verifier.isValid(low, over: message))
        }
        #expect(seen == [true, false])
    }

    @Test(arguments: EllipticCurve.allCases)
    func `of ECDSA out of range are not valid`(curve: EllipticCurve) throws {
        let key = try PrivateKey(generating: .ellipticCurve(curve))
        let maker = try #require(SignatureMaker(key, scheme: curve.scheme))
        let verifier = try #require(SignatureVerifier(key.publicKey, scheme: curve.scheme))
        let message: [UInt8] = [9]
        let good = try maker.sign(message)
        let zero = [UInt8](repeating: 0, count: curve.size)
        let most = [UInt8](repeating: 255, count: curve.size)
        let (r, s) = (Array(good[..<curve.size]), Array(good[curve.size...]))
        for wrong in [zero + zero, zero + s, r + zero, most + s, r + most, most + most] {
            #expect(!verifier.isValid(wrong, over: message))
        }
    }
}
