// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Keys
import Testing

/// Every algorithm × every key × both tags × every location of the algorithm: only what agrees passes (RFC 8725 §2.1).
@Suite struct `Confused algorithms` {
    struct Signer {
        let name: String
        let key: TokenKey
        let algorithm: Int64?
        let isMAC: Bool
        let sign: (MessagePieces) throws -> [UInt8]
    }

    static func signers() throws -> [Signer] {
        func signer(_ name: String, identifier: Int64?, type: KeyType, algorithm: KeyAlgorithm) throws -> Signer {
            let pair = try PrivateKey(generating: type)
            let scheme = try #require(
                SignatureScheme.allCases.first { $0.suits(type) && (algorithm == .ps256) == ($0 == .ps256) }
            )
            let maker = try #require(SignatureMaker(pair, scheme: scheme))
            let key = try TokenKey(
                pem: [UInt8](pair.publicKey.pem().utf8),
                id: KeyID(name),
                algorithm: algorithm,
                binding: Example.binding
            )
            return Signer(name: name, key: key, algorithm: identifier, isMAC: false) { try maker.sign($0) }
        }
        let mac = try HMACKey(Example.secret, function: .sha256)
        return [
            Signer(
                name: "HS256",
                key: try TokenKey(secret: Example.secret, id: KeyID("HS256"), binding: Example.binding),
                algorithm: 5,
                isMAC: true
            ) { mac.code(of: $0) ?? [] },
            try signer("ES256", identifier: -7, type: .ellipticCurve(.p256), algorithm: .es256),
            try signer("PS256", identifier: -37, type: .rsa(bits: 2048), algorithm: .ps256),
            try signer("RS256", identifier: nil, type: .rsa(bits: 2048), algorithm: .rs256),
            try signer("EdDSA", identifier: -8, type: .ed25519, algorithm: .edDSA),
        ]
    }

    static func envelope(
        tag: UInt64,
        id: String,
        protectedAlgorithm: Int64?,
        unprotectedAlgorithm: Int64?,
        sign: (MessagePieces) throws -> [UInt8]
    ) throws -> [UInt8] {
        func item(_ body: (inout CBORWriter) -> Void) throws -> [UInt8] {
            var writer = CBORWriter()
            body(&writer)
            return try writer.finish()
        }
        let header = try item { writer in
            writer.map { map in
                if let protectedAlgorithm { map.entry(1) { $0.write(protectedAlgorithm) } }
                map.entry(4) { $0.write([UInt8](id.utf8)) }
            }
        }
        let unprotected = try item { writer in
            writer.map { map in
                if let unprotectedAlgorithm { map.entry(1) { $0.write(unprotectedAlgorithm) } }
            }
        }
        let (protected, payload) = (try item { $0.write(header) }, try item { $0.write([0xA0]) })
        let head = [UInt8](hex: tag == 17 ? "84644d414330" : "846a5369676e617475726531")
        let none: [UInt8] = [0x40]
        let signature = try sign(
            MessagePieces(first: head.span, second: protected.span, third: none.span, fourth: payload.span)
        )
        return try item { writer in
            writer.write(tag: 61)
            writer.write(tag: tag)
            writer.write(arrayOf: 4)
            for part in [protected, unprotected, payload] { writer.write(encoded: part.span) }
            writer.write(signature)
        }
    }

    @Test func `are refused, all but the diagonal`() throws {
        let signers = try Self.signers()
        let keys = try KeySet(signers.map(\.key))
        var passed: [String] = []
        for signer in signers {
            for key in signers {
                for tag: UInt64 in [17, 18] {
                    for algorithm: Int64? in [5, -7, -37, -257, -8, -19, 0, nil] {
                        for isProtected in [true, false] {
                            let bytes = try Self.envelope(
                                tag: tag,
                                id: key.name,
                                protectedAlgorithm: isProtected ? algorithm : nil,
                                unprotectedAlgorithm: isProtected ? nil : algorithm,
                                sign: signer.sign
                            )
                            guard (try? keys.payload(bytes)) != nil else { continue }
                            passed.append(key.name)
                            #expect(signer.name == key.name && (tag == 17) == key.isMAC && key.algorithm != nil)
                            let agrees =
                                algorithm == nil || algorithm == key.algorithm
                                || (key.name, algorithm) == ("EdDSA", -19)
                            #expect(agrees, "\(key.name) \(algorithm ?? 0)")
                        }
                    }
                    let both = try Self.envelope(
                        tag: tag,
                        id: key.name,
                        protectedAlgorithm: key.algorithm ?? -257,
                        unprotectedAlgorithm: key.algorithm ?? -257,
                        sign: signer.sign
                    )
                    #expect(throws: COSERefusal.malformed) { try keys.payload(both) }
                }
            }
        }
        // Protected, unprotected, and absent twice; EdDSA has two identifiers.
        #expect(
            passed
                == signers.flatMap {
                    [String](repeating: $0.name, count: $0.name == "EdDSA" ? 6 : $0.algorithm == nil ? 0 : 4)
                }
        )
    }

    /// The attack of old JWT libraries: an authentication code made with the public key as the secret.
    @Test func `are refused with a public key as the secret`() throws {
        for signer in try Self.signers().dropFirst() {
            let keys = try KeySet([signer.key])
            let secrets = [[UInt8](keys.publishedJWKSet.utf8), keys.publishedCOSEKeySet]
            for secret in secrets {
                let mac = try HMACKey(secret, function: .sha256)
                for algorithm: Int64? in [5, nil, signer.algorithm] {
                    let bytes = try Self.envelope(
                        tag: 17,
                        id: signer.name,
                        protectedAlgorithm: algorithm,
                        unprotectedAlgorithm: nil
                    ) { mac.code(of: $0) ?? [] }
                    #expect(throws: COSERefusal.algorithmRefused) { try keys.payload(bytes) }
                }
            }
        }
    }
}
