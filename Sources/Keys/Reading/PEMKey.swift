// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A reader of the one key in a PEM text.
enum PEMKey {
    typealias Read = (material: TokenKey.Material, validity: ClosedRange<Timestamp>?)

    static func read(_ text: [UInt8]) throws(KeySetError) -> Read {
        let blocks: [PEM.Block]
        do { blocks = try PEM.blocks(text) } catch {
            throw KeySetError(.malformed, reason: "a PEM block is damaged: \(error.text)")
        }
        // openssl ecparam writes the parameters of a curve before the key.
        let keys = blocks.filter { $0.label != "EC PARAMETERS" }
        guard let first = keys.first else { throw KeySetError(.malformed, reason: "there is no PEM block with a key") }
        guard keys.count == 1 || keys.allSatisfy({ $0.label == "CERTIFICATE" }) else {
            throw KeySetError(.malformed, reason: "there are several keys: give each its own identifier")
        }
        do throws(KeyMaterialFault) { return try read(first) } catch { throw KeySetError(error) }
    }

    private static func read(_ block: PEM.Block) throws(KeyMaterialFault) -> Read {
        switch block.label {
        case "CERTIFICATE":
            guard let certificate = Certificate(der: block.der), let validity = certificate.validity else {
                OpenSSLError.forget()
                throw .malformed
            }
            return (.publicKey(try certificate.anyPublicKey()), validity)
        case "PUBLIC KEY": return (.publicKey(try PublicKey(subjectPublicKeyInfo: block.der)), nil)
        case "RSA PUBLIC KEY": return (.publicKey(try PublicKey(pkcs1: block.der)), nil)
        case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY":
            guard !block.isEncrypted else { throw .unsupported }
            return (.privateKey(try PrivateKey(der: block.der)), nil)
        default: throw .unsupported
        }
    }
}
