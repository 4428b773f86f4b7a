// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
package import Encodings

// Key sets for publishing: only public keys. Symmetric keys are left out, and so are keys that only sign with an
// algorithm that a set cannot express.

extension KeySet {
    /// Returns the public keys as a JWK Set (RFC 7517 §5), in one line. Keys whose identifier is not UTF-8 are left out.
    public var publishedJWKSet: String {
        JSON.object([(name: "keys", value: .array(keys.compactMap(\.publicJWK)))]).line
    }

    /// Returns the public keys as a COSE key set (RFC 9052 §7), deterministically encoded. Keys for RS256 are left out.
    public var publishedCOSEKeySet: [UInt8] {
        let published = keys.filter { $0.publicKey != nil && $0.algorithm.coseIdentifier != nil }
        var writer = CBORWriter()
        writer.write(arrayOf: published.count)
        for key in published { key.writeCOSEKey(to: &writer) }
        // A map has each of its keys once, and there are no floats.
        return (try? writer.finish()) ?? [0x80]
    }
}

extension TokenKey {
    /// The public key as a JWK; `nil` if the key is symmetric, or its identifier not UTF-8.
    package var publicJWK: JSON? {
        guard let parameters = publicKey?.parameters else { return nil }
        var members: [JSON.Member] = []
        func add(_ name: String, text: String) { members.append((name: name, value: .string(text))) }
        func add(_ name: String, number: [UInt8]) { add(name, text: Base64.encodeURLSafe(number)) }
        switch parameters {
        case .ellipticCurve(let curve, _, _):
            add("kty", text: "EC")
            add("crv", text: curve.rawValue)
        case .ed25519:
            add("kty", text: "OKP")
            add("crv", text: "Ed25519")
        case .rsa: add("kty", text: "RSA")
        }
        if let id {
            guard let text = id.text else { return nil }
            add("kid", text: text)
        }
        add("use", text: "sig")
        add("alg", text: algorithm.rawValue)
        switch parameters {
        case .ellipticCurve(_, let x, let y):
            add("x", number: x)
            add("y", number: y)
        case .ed25519(let x): add("x", number: x)
        case .rsa(let modulus, let exponent):
            add("n", number: modulus)
            add("e", number: exponent)
        }
        return .object(members)
    }

    fileprivate func writeCOSEKey(to writer: inout CBORWriter) {
        guard let parameters = publicKey?.parameters, let algorithm = algorithm.coseIdentifier else { return }
        writer.map { map in
            parameters.writeCOSE(to: &map)
            if let id { map.entry(2) { $0.write(id.bytes) } }
            map.entry(3) { $0.write(algorithm) }
            map.entry(4) { value in
                value.write(arrayOf: 1)
                value.write(2)
            }
        }
    }
}

extension PublicKey.Parameters {
    /// Writes the type and the numbers of a key as a COSE_Key has them (RFC 9053 §7), which its thumbprint is made of.
    package func writeCOSE(to map: inout CBORMapWriter) {
        switch self {
        case .ellipticCurve(let curve, let x, let y):
            map.entry(1) { $0.write(2) }
            map.entry(-1) { $0.write(curve == .p256 ? 1 : curve == .p384 ? 2 : 3) }
            map.entry(-2) { $0.write(x) }
            map.entry(-3) { $0.write(y) }
        case .ed25519(let x):
            map.entry(1) { $0.write(1) }
            map.entry(-1) { $0.write(6) }
            map.entry(-2) { $0.write(x) }
        case .rsa(let modulus, let exponent):
            map.entry(1) { $0.write(3) }
            map.entry(-1) { $0.write(modulus) }
            map.entry(-2) { $0.write(exponent) }
        }
    }
}
