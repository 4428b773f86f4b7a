// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
package import Encodings

extension GeneratedKey {
    /// The key with its secret part as a JWK (RFC 7517), for a file of its owner; `nil` if its identifier is not UTF-8.
    package var jwk: JSON? {
        switch secret {
        case .bytes(let secret):
            var members: [JSON.Member] = [("kty", .string("oct"))]
            if let id = key.id {
                guard let text = id.text else { return nil }
                members.append(("kid", .string(text)))
            }
            members += [("use", .string("sig")), ("alg", .string(key.algorithm.rawValue))]
            return .object(members + [Self.member(named: "k", number: secret)])
        case .pem(let pem):
            guard case .object(let members)? = key.publicJWK, let read = try? PEMKey.read([UInt8](pem.utf8)),
                case .privateKey(let pair) = read.material, let parameters = pair.parameters
            else { return nil }
            return .object(members + Self.privateMembers(parameters))
        }
    }

    private static func privateMembers(_ parameters: PrivateKey.Parameters) -> [JSON.Member] {
        switch parameters {
        case .ellipticCurve(_, _, _, let d): [member(named: "d", number: d)]
        case .ed25519(let seed, _): [member(named: "d", number: seed)]
        // Modulus and exponent are those of the public key.
        case .rsa(let numbers): zip(["d", "p", "q", "dp", "dq", "qi"], numbers.dropFirst(2)).map(member)
        }
    }

    private static func member(named name: String, number: [UInt8]) -> JSON.Member {
        (name: name, value: .string(Base64.encodeURLSafe(number)))
    }
}
