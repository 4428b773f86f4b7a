// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// A document of any size in a JSON Web Signature, in its compact serialisation (RFC 7515 §7.1) with a header of
/// exactly `alg`, `kid` and `typ`, in any order. The type separates documents from tokens and other kinds by the same
/// key (RFC 8725 §3.11).
///
/// Signatures only: a recipient that can check an authentication code could also make one.
package struct SignedDocument {
    /// The algorithms that sign documents.
    package static let algorithms = KeyAlgorithm.allCases.filter { !$0.isMAC }

    /// A reason why a document is refused.
    package enum Refusal: Error {
        /// Not three parts of unpadded URL-safe Base64.
        case form
        /// A header that has other members, or that is not strict JSON.
        case header
        /// Another type.
        case type
        /// An algorithm that is not that of the key, or does not sign documents.
        case algorithm
        /// No key has the identifier.
        case key
        /// A wrong signature.
        case signature
    }

    private static let headerSize = 1...1024
    private static let limits = JSONLimits(depth: 1, members: 3, elements: 0)

    private let algorithm: KeyAlgorithm
    private let keyID: KeyID

    /// Reads a header.
    private init(_ encoded: Span<UInt8>, type: String) throws(Refusal) {
        guard Self.headerSize.contains(encoded.count), let header = Base64.decodedURLSafe(encoded) else { throw .form }
        guard case .object(let members)? = try? JSONReader.read(header.span, limits: Self.limits) else { throw .header }
        var texts: [String: String] = [:]
        for (name, value) in members {
            guard case .string(let text) = value, ["alg", "kid", "typ"].contains(name) else { throw .header }
            texts[name] = text
        }
        guard let name = texts["alg"], let id = texts["kid"], let given = texts["typ"] else { throw .header }
        guard given.utf8.span.hasSameBytes(as: type.utf8.span) else { throw .type }
        guard let algorithm = KeyAlgorithm(name: name), !algorithm.isMAC else { throw .algorithm }
        guard let keyID = KeyID([UInt8](id.utf8)) else { throw .key }
        (self.algorithm, self.keyID) = (algorithm, keyID)
    }

    /// Returns the document in `text`, once its signature by one of the keys is verified.
    package static func verified(
        _ text: Span<UInt8>,
        type: String,
        by keys: KeySet,
        at now: Timestamp
    ) throws(Refusal) -> [UInt8] {
        let parts = JOSEParts(text)
        guard parts.count == 3 else { throw .form }
        let (encoded, payload) = (text.extracting(parts[0]), text.extracting(parts[1]))
        let header = try SignedDocument(encoded, type: type)
        let known = keys.keys.filter { $0.id == header.keyID && $0.operations.contains(.verify) && $0.isValid(at: now) }
        guard !known.isEmpty else { throw .key }
        guard let key = known.first(where: { $0.algorithm == header.algorithm }) else { throw .algorithm }
        guard parts[2].count <= 1368, let signature = Base64.decodedURLSafe(text.extracting(parts[2])) else {
            throw .form
        }
        let dot: [1 of UInt8] = [UInt8(ascii: ".")]
        guard signature.count == key.tokenSignatureSize,
            key.isSigner(
                signature.span,
                of: MessagePieces(first: encoded, second: dot.span, third: payload, fourth: Span())
            )
        else { throw .signature }
        guard let document = Base64.decodedURLSafe(payload) else { throw .form }
        return document
    }
}

extension TokenKey {
    /// Returns a document with a signature by this key, in characters of ASCII.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the key may not or cannot sign documents.
    package func signed(document: [UInt8], type: String) throws(KeySetError) -> String {
        guard !algorithm.isMAC else {
            throw KeySetError(.unusableKey, reason: "who checks by a symmetric key can sign: take a pair, as for ES256")
        }
        guard let id = id?.text else { throw KeySetError(.unusableKey, reason: "the key has no identifier in UTF-8") }
        let header = JSON.object([
            ("alg", .string(algorithm.rawValue)), ("kid", .string(id)), ("typ", .string(type)),
        ])
        return try signedJWS("\(Base64.encodeURLSafe([UInt8](header.line.utf8))).\(Base64.encodeURLSafe(document))")
    }
}

extension Base64 {
    /// Decodes unpadded text. Returns `nil` if it is not URL-safe Base64 in its only form.
    fileprivate static func decodedURLSafe(_ text: Span<UInt8>) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: decodedCapacity(text.count))
        var span = output.mutableSpan
        guard let count = decodeURLSafe(text, into: &span) else { return nil }
        output.removeLast(output.count - count)
        return output
    }
}
