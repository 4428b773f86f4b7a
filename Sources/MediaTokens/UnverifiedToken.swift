// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The content of a token **whose signature was not checked**. For inspection only, never for a decision.
package struct UnverifiedToken: Sendable {
    /// The name of the root element, or the type (`typ`) of a JWS.
    package let root: String
    /// The signed bytes of the raw token: its element, or header and payload of a JWS.
    package let signedBytes: [UInt8]
    /// The signature, decoded from Base64.
    package let signature: [UInt8]
    /// The content of the element. The fingerprint is that of the signed bytes.
    package let content: MediaToken

    /// Parses a token without a check of its signature.
    ///
    /// - Throws: The ``RefusalReason`` with which verification refuses an unreadable token.
    package init(reading text: String) throws(RefusalReason) {
        let token = [UInt8](text.utf8)
        guard !token.isEmpty else { throw .tokenEmpty }
        guard token.count <= Verifier.maximumEncodedSize else { throw .tokenTooLarge }
        let isJWS = JWSEnvelope.isOne(token.span) && token.contains(UInt8(ascii: "."))
        let parts = try isJWS ? Self.jws(token) : Self.signedElement(token)
        guard let digest = SHA256Context()?.hash(parts.signed.span) else { throw .internalFailure }
        root = parts.root
        signedBytes = parts.signed
        signature = parts.signature
        content = MediaToken(fields: parts.fields, fingerprint: digest)
    }

    private typealias Parts = (root: String, signed: [UInt8], signature: [UInt8], fields: TokenFields)

    private static func signedElement(_ token: [UInt8]) throws(RefusalReason) -> Parts {
        let raw = Envelope.isRaw(token.span) ? token : try Self.decode(token, or: .invalidBase64)
        let envelope = try Envelope.split(raw.span).get()
        guard !envelope.signature.isEmpty else { throw .invalidSignatureEncoding }
        let signature = try decode(Array(raw[envelope.signature]), or: .invalidSignatureEncoding)
        let fields = try TokenFields.read(raw.span, content: envelope.content)
        return (envelope.root.rawValue, Array(raw[envelope.signed]), signature, fields)
    }

    private static func jws(_ token: [UInt8]) throws(RefusalReason) -> Parts {
        let envelope = try JWSEnvelope.split(token.span).get()
        func decoded(_ part: Range<Int>, or reason: RefusalReason) throws(RefusalReason) -> [UInt8] {
            guard let bytes = Base64.decodeURLSafe(String(decoding: token[part], as: UTF8.self)) else { throw reason }
            return bytes
        }
        // Each in a constant of its own: the compiler cannot form the span of a temporary array here.
        let header = try decoded(envelope.header, or: .invalidBase64)
        _ = try JWSEnvelope.scheme(header.span).get()
        let signature = try decoded(envelope.signature, or: .invalidSignatureEncoding)
        let payload = try decoded(envelope.payload, or: .invalidBase64)
        let fields = try TokenFields.read(json: payload.span)
        return (JWSEnvelope.type, Array(token[envelope.signed]), signature, fields)
    }

    private static func decode(_ text: [UInt8], or reason: RefusalReason) throws(RefusalReason) -> [UInt8] {
        guard let bytes = Base64.decode(text) else { throw reason }
        return bytes
    }
}
