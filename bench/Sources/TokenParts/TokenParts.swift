// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Keys

/// The bytes of a token that are authenticated, and by what: for the bare check beside it.
public struct TokenParts {
    /// The bytes that the code or signature is over.
    public let signed: [UInt8]
    /// The code, or the signature as r and s.
    public let signature: [UInt8]

    /// Reads a token in JWS compact form (RFC 7515 §7.1).
    public init(jws text: [UInt8]) {
        guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { fatalError("no token") }
        signed = Array(text[..<dot])
        signature = Self.decoded(Array(text[(dot + 1)...]))
    }

    /// Reads a CWT in COSE (RFC 9052 §4.4 and §6.3) as it is issued here.
    public init(cwt text: [UInt8]) {
        let bytes = Self.decoded(text)
        guard case .success(let message) = COSEMessage.parse(bytes.span) else { fatalError("no envelope") }
        // Two tags and the head of the array stand before the protected header, and a head of two bytes before the payload.
        let protected = bytes[4...4 + Int(bytes[4] & 0x1F)]
        let payload = bytes[message.payload.lowerBound - 2..<message.payload.upperBound]
        let context = message.kind == .mac0 ? "MAC0" : "Signature1"
        let head = [0x84, 0x60 + UInt8(context.utf8.count)] + context.utf8
        signed = head + protected + [0x40] + payload
        signature = Array(bytes[message.signature])
    }

    /// Decodes URL-safe Base64.
    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: COSEText.bufferSize)
        var output = buffer.mutableSpan
        guard case .success(let count) = COSEText.decode(text.span, into: &output) else { fatalError("no Base64") }
        return Array(buffer[..<count])
    }
}
