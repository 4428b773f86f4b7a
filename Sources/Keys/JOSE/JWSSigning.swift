// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The form of a JSON Web Signature that is made.
public struct JWSForm: Hashable, Sendable {
    /// True to omit the header from the token: `payload.signature`. Its verifier must know the header.
    public var omitsHeader: Bool

    /// Creates a form. The default is that of RFC 7515 §7.1.
    public init(omitsHeader: Bool = false) { self.omitsHeader = omitsHeader }
}

extension TokenKey {
    /// Returns the encoded header of the tokens of this key, with `alg` and `kid`; `nil` if the identifier is not UTF-8.
    public var jwsHeader: String? {
        var members: [JSON.Member] = [(name: "alg", value: .string(algorithm.rawValue))]
        if let id {
            guard let text = id.text else { return nil }
            members.append((name: "kid", value: .string(text)))
        }
        var bytes: [UInt8] = []
        JSON.object(members).write(to: &bytes)
        return Base64.encodeURLSafe(bytes)
    }

    /// Returns the compact serialisation of a JSON Web Signature (RFC 7515 §7.1) of `payload`.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the key may not or cannot sign.
    public func signJWS(_ payload: [UInt8], form: JWSForm = JWSForm()) throws(KeySetError) -> String {
        guard let header = jwsHeader else {
            throw KeySetError(.unusableKey, reason: "the key's identifier is not UTF-8")
        }
        let message = "\(header).\(Base64.encodeURLSafe(payload))"
        let token = try signedJWS(message)
        return form.omitsHeader ? String(token.dropFirst(header.utf8.count + 1)) : token
    }

    /// Returns the signing input of a JSON Web Signature (RFC 7515 §5.1) with the signature behind it.
    package func signedJWS(_ message: String) throws(KeySetError) -> String {
        guard operations.contains(.sign) else {
            throw KeySetError(.unusableKey, reason: "the key is not one for signing")
        }
        let pieces = MessagePieces(message.utf8.span)
        let signature: [UInt8]
        switch mechanism {
        case .mac(let key):
            guard let code = key.code(of: pieces) else {
                throw KeySetError(.unusableKey, reason: OpenSSLError.drained().text)
            }
            signature = code
        case .signature(_, let maker?):
            do { signature = try maker.sign(pieces) } catch { throw KeySetError(.unusableKey, reason: error.text) }
        case .signature: throw KeySetError(.unusableKey, reason: "the key is not one for signing")
        }
        return "\(message).\(Base64.encodeURLSafe(signature))"
    }
}
