// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import Keys
package import Platform
internal import PlaybackGate

/// The public keys of the signers whose policies a process accepts.
package struct PolicySigners: Sendable {
    fileprivate let keys: KeySet

    private static let binding: KeyBinding = {
        var binding = KeyBinding(issuer: "", format: .uriSigning, rsaAlgorithm: .ps256)
        binding.algorithms = Set(SignedDocument.algorithms)
        return binding
    }()

    /// Reads a JWK Set: only public keys, each with an identifier.
    package init(_ bytes: [UInt8]) throws(EdgeBundleError) {
        do throws(KeySetError) {
            let read = try KeySetReading(jwkSet: bytes, source: .published, binding: Self.binding)
            // A set that is written for this purpose has nothing that is not understood.
            if let skipped = read.skipped.first {
                throw KeySetError(.unusableKey, reason: "key \(skipped.index + 1): \(skipped.reason)")
            }
            guard read.keys.allSatisfy({ $0.id != nil }) else {
                throw KeySetError(.unusableKey, reason: "a key has no \"kid\"")
            }
            keys = try KeySet(read.keys)
        } catch { throw EdgeBundleError("the keys to trust are no JWK Set of public keys: \(error.reason)") }
    }
}

extension EdgeBundle {
    /// The type in the header of a signed policy.
    private static let signedType = "playgate-policy+jws"

    /// Reads a signed policy, whose signature is verified first.
    ///
    /// - Throws: ``EdgeBundleError`` with the line in the document that was signed.
    package init(signed bytes: Span<UInt8>, by signers: PolicySigners, at now: Timestamp) throws(EdgeBundleError) {
        guard bytes.count <= Self.maximumSize else {
            throw EdgeBundleError("a signed policy must have at most 256 MiB")
        }
        let document: [UInt8]
        do throws(SignedDocument.Refusal) {
            document = try SignedDocument.verified(bytes, type: Self.signedType, by: signers.keys, at: now)
        } catch {
            let isPlain = bytes.count > 0 && [0x7B, 0x20, 0x0A, 0x0D, 0x09].contains(bytes[0])
            throw EdgeBundleError(error.sentence(isPlain: isPlain), kind: .signature)
        }
        self = try EdgeBundle(document.span, at: now)
    }

    /// True if `bytes` begin as a compact serialisation does: with an encoded `{"`.
    static func isSigned(_ bytes: Span<UInt8>) -> Bool {
        bytes.count > 2 && bytes.extracting(first: 2).hasSameBytes(as: "ey".utf8.span)
    }

    /// Returns the document with a signature by `key`.
    ///
    /// - Throws: `KeySetError` if the key cannot sign it, or it is too large.
    package static func signed(_ document: [UInt8], by key: TokenKey) throws(KeySetError) -> String {
        let text = try key.signed(document: document, type: signedType)
        guard text.utf8.count <= maximumSize else {
            throw KeySetError(.tooLarge, reason: "a signed policy must have at most 256 MiB")
        }
        return text
    }
}

extension SignedDocument.Refusal {
    /// The sentence for the operator.
    fileprivate func sentence(isPlain: Bool) -> String {
        switch self {
        case .form where isPlain: "this policy is not signed: write it by playgate export --sign"
        case .form: "this is no signed policy: three parts of unpadded URL-safe Base64, and nothing else"
        case .header: "the header of a signed policy must have alg, kid and typ, each once, and nothing else"
        case .type: "the signed document is no policy: its typ is another"
        case .algorithm: "the algorithm of the signature is not that of the key"
        case .key: "none of the keys to trust has the identifier of the signature's"
        case .signature: "the signature is wrong: the policy was changed, or signed by another key"
        }
    }
}
