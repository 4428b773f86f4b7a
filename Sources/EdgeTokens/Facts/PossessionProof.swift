// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Keys
package import Platform
package import RequestTargets

/// A proof that the client has a key: a JWT that it signed for one request, in the header field `DPoP`.
///
/// Its signature is valid. The owner of the key and the request must still be compared.
///
/// Source: RFC 9449 §4.
package struct PossessionProof {
    /// The SHA-256 thumbprint of the key as a JWK (RFC 7638).
    package let jwkThumbprint: [UInt8]
    /// The SHA-256 thumbprint of the key as a COSE key (RFC 9679).
    package let coseThumbprint: [UInt8]
    /// The method that the proof is for.
    package let method: String
    /// The URI that the proof is for.
    package let uri: String
    /// The time at which the proof was made, in seconds.
    package let issued: Int64
    /// The identity of the proof among those of its key.
    package let identifier: String
    /// The SHA-256 of the token's text.
    package let tokenDigest: [UInt8]

    /// The largest proof, in bytes.
    static let maximumSize = 4096
    private static let limits = JSONLimits(depth: 4, members: 32, elements: 16)

    /// Reads a proof and checks its signature. `nil` if it is malformed, has another algorithm, or is not signed by its
    /// own key.
    package init?(_ text: Substring, algorithms: Set<ProofAlgorithm>) {
        let bytes = text.utf8.span
        guard bytes.count <= Self.maximumSize, let first = bytes.firstIndex(of: UInt8(ascii: "."), from: 0),
            let second = bytes.firstIndex(of: UInt8(ascii: "."), from: first + 1),
            bytes.firstIndex(of: UInt8(ascii: "."), from: second + 1) == nil
        else { return nil }
        guard let header = Self.json(bytes.extracting(..<first)),
            let signature = Self.decoded(bytes.extracting((second + 1)...)),
            header["typ"] == .string("dpop+jwt"), header["crit"] == nil,
            case .string(let name)? = header["alg"], let algorithm = ProofAlgorithm(rawValue: name),
            algorithms.contains(algorithm), let jwk = header["jwk"], let key = ProofKey(jwk, algorithm: algorithm)
        else { return nil }
        guard key.isValid(signature, over: bytes.extracting(..<second)) else { return nil }
        guard let claims = Self.json(bytes.extracting(first + 1..<second)),
            case .string(let method)? = claims["htm"], case .string(let uri)? = claims["htu"],
            case .number(let issued)? = claims["iat"], 0...(1 << 53) ~= issued,
            case .string(let identifier)? = claims["jti"], 1...128 ~= identifier.utf8.count,
            case .string(let digest)? = claims["ath"], let tokenDigest = Base64.decodeURLSafe(digest)
        else { return nil }
        jwkThumbprint = SHA256.digest(key.jwk)
        coseThumbprint = SHA256.digest(key.cose)
        self.method = method
        self.uri = uri
        self.issued = issued
        self.identifier = identifier
        self.tokenDigest = tokenDigest
    }

    private static func decoded(_ text: Span<UInt8>) -> [UInt8]? { Base64.decodeURLSafe(String(copying: text)) }

    private static func json(_ text: Span<UInt8>) -> JSON? {
        guard let bytes = decoded(text), let json = try? JSONReader.read(bytes.span, limits: limits),
            case .object = json
        else { return nil }
        return json
    }

    /// True if the proof was made for a request by a token, at most `window` seconds before or after `now`.
    ///
    /// - Parameters:
    ///   - request: The URI of the request, with its scheme and host.
    ///   - method: The method of the request.
    ///   - token: The token as presented.
    ///   - window: The longest time between the proof and `now`, in seconds.
    package func isFor(
        _ request: RequestURI,
        method: Substring,
        token: Span<UInt8>,
        within window: Int64,
        at now: Timestamp
    ) -> Bool {
        MessageDigest.sha256.isDigest(tokenDigest.span, of: token) && self.method == method && isFor(request)
            && abs(now.millisecondsSince1970 / 1000 - issued) <= window
    }

    /// The use of the proof, if each proof is valid for one use only; `nil` if OpenSSL fails.
    ///
    /// - Parameter window: See ``isFor(_:method:token:within:at:)``.
    package func use(within window: Int64) -> GrantObligations.Use? {
        SHA256.fingerprint(jwkThumbprint + [UInt8](identifier.utf8)).map { key in
            GrantObligations.Use(key: key, until: Timestamp(secondsSince1970: issued + window), isWatched: false)
        }
    }

    /// True if the proof's URI is that of the request, both in normal form and without query and fragment.
    private func isFor(_ request: RequestURI) -> Bool {
        let normal = RequestURI(absolute: uri[...].prefix { $0 != "?" && $0 != "#" })
        return normal?.withoutQuery != nil && normal?.withoutQuery == request.withoutQuery
    }
}

/// An algorithm of proofs of possession.
public enum ProofAlgorithm: String, Hashable, Sendable, CaseIterable {
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// Ed25519.
    case eddsa = "EdDSA"
}

/// The key that a proof names and is signed by.
private struct ProofKey {
    private let verifier: SignatureVerifier
    /// The input of the thumbprint of a JWK (RFC 7638 §3.2).
    let jwk: [UInt8]
    /// The input of the thumbprint of a COSE key (RFC 9679 §3).
    let cose: [UInt8]

    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Reads a public key; `nil` if it is private, or not usable with the algorithm.
    init?(_ jwk: JSON, algorithm: ProofAlgorithm) {
        guard Self.privateMembers.allSatisfy({ jwk[$0] == nil }) else { return nil }
        func number(_ name: String) -> [UInt8]? {
            guard case .string(let text)? = jwk[name] else { return nil }
            return Base64.decodeURLSafe(text)
        }
        let parameters: PublicKey.Parameters
        switch algorithm {
        case .es256:
            guard jwk["kty"] == .string("EC"), jwk["crv"] == .string("P-256"), let x = number("x"), let y = number("y")
            else { return nil }
            parameters = .ellipticCurve(.p256, x: x, y: y)
        case .eddsa:
            guard jwk["kty"] == .string("OKP"), jwk["crv"] == .string("Ed25519"), let x = number("x") else {
                return nil
            }
            parameters = .ed25519(x)
        case .ps256:
            guard jwk["kty"] == .string("RSA"), let modulus = number("n"), let exponent = number("e") else {
                return nil
            }
            parameters = .rsa(modulus: modulus, exponent: exponent)
        }
        guard let key = try? PublicKey(parameters), let verifier = SignatureVerifier(key, scheme: algorithm.scheme),
            let cose = Self.cose(key.parameters)
        else { return nil }
        self.verifier = verifier
        self.jwk = [UInt8](Self.jwk(key.parameters).utf8)
        self.cose = cose
    }

    func isValid(_ signature: [UInt8], over text: Span<UInt8>) -> Bool {
        verifier.isValid(signature.span, over: MessagePieces(text))
    }

    /// Returns the required members in the order of their names.
    private static func jwk(_ parameters: PublicKey.Parameters) -> String {
        func text(_ number: [UInt8]) -> JSON { .string(Base64.encodeURLSafe(number)) }
        let members: [JSON.Member] =
            switch parameters {
            case .ellipticCurve(let curve, let x, let y):
                [("crv", .string(curve.rawValue)), ("kty", .string("EC")), ("x", text(x)), ("y", text(y))]
            case .ed25519(let x): [("crv", .string("Ed25519")), ("kty", .string("OKP")), ("x", text(x))]
            case .rsa(let modulus, let exponent):
                [("e", text(exponent)), ("kty", .string("RSA")), ("n", text(modulus))]
            }
        return JSON.object(members).line
    }

    private static func cose(_ parameters: PublicKey.Parameters) -> [UInt8]? {
        var writer = CBORWriter(capacity: 128)
        writer.map { parameters.writeCOSE(to: &$0) }
        return try? writer.finish()
    }
}

extension ProofAlgorithm {
    fileprivate var scheme: SignatureScheme {
        switch self {
        case .es256: .es256
        case .ps256: .ps256
        case .eddsa: .ed25519
        }
    }
}

extension JSON {
    /// Returns the value of a member, or `nil` if there is none or this is no object.
    fileprivate subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.hasSameBytes(as: name) }?.value
    }
}
