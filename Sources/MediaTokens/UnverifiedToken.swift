// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The content of a token **whose signature was not checked**. For inspection only, never for a decision.
package struct UnverifiedToken: Sendable {
    /// The name of the root element.
    package let root: String
    /// The signed bytes of the raw token: its element.
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
        let raw = Envelope.isRaw(token.span) ? token : try Self.decode(token, or: .invalidBase64)
        let envelope = try Envelope.split(raw.span).get()
        root = envelope.root.rawValue
        let signed = Array(raw[envelope.signed])
        signedBytes = signed
        guard !envelope.signature.isEmpty else { throw .invalidSignatureEncoding }
        signature = try Self.decode(Array(raw[envelope.signature]), or: .invalidSignatureEncoding)
        let fields = try TokenFields.read(raw.span, content: envelope.content)
        guard let digest = SHA256Context()?.hash(signed.span) else { throw .internalFailure }
        content = MediaToken(fields: fields, fingerprint: digest)
    }

    private static func decode(_ text: [UInt8], or reason: RefusalReason) throws(RefusalReason) -> [UInt8] {
        guard let bytes = Base64.decode(text) else { throw reason }
        return bytes
    }
}
