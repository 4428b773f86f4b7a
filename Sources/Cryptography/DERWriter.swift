// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A writer of the few DER structures (X.690) that hold keys.
enum DERWriter {
    /// Returns an element of `tag` with `content`.
    static func element(tag: UInt8, content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = [UInt8(truncatingIfNeeded: content.count)]
        if content.count > 127 {
            var rest = content.count
            length = []
            while rest > 0 {
                length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
                rest >>= 8
            }
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + content
    }

    /// Returns a sequence of encoded elements.
    static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(tag: 0x30, content: elements.flatMap(\.self)) }

    /// Returns the integer of big-endian `bytes`, which is not negative.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        return element(tag: 0x02, content: (digits.first ?? 0x80) >= 0x80 ? [0] + digits : Array(digits))
    }

    /// Returns a bit string of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { element(tag: 0x03, content: [0] + bytes) }

    /// The algorithm of RSA keys: rsaEncryption with NULL (RFC 3279 §2.3.1).
    static let rsaAlgorithm = sequence(
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01],
        [0x05, 0x00]
    )

    /// The algorithm of Ed25519 keys (RFC 8410 §3).
    static let ed25519Algorithm = sequence([0x06, 0x03, 0x2B, 0x65, 0x70])

    /// Returns the algorithm of keys of `curve`: id-ecPublicKey with the curve (RFC 5480 §2.1.1).
    static func algorithm(_ curve: EllipticCurve) -> [UInt8] {
        sequence([0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01], curve.identifier)
    }
}
