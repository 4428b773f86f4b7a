// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The form of an envelope that is made.
public struct COSEForm: Sendable {
    /// True to put the key identifier in the unprotected header, where some verifiers look for it.
    public var hasUnprotectedKeyID: Bool
    /// True for the lower of the two values of s that ECDSA permits: some verifiers take no other.
    public var prefersLowS: Bool

    /// Creates a form. The default is that of CAT: tags 61 and 17 or 18, algorithm and identifier protected.
    public init(hasUnprotectedKeyID: Bool = false, prefersLowS: Bool = false) {
        self.hasUnprotectedKeyID = hasUnprotectedKeyID
        self.prefersLowS = prefersLowS
    }
}

extension TokenKey {
    /// Returns an envelope around `payload`: a `COSE_Mac0` for HMAC, a `COSE_Sign1` for signatures, in the tag of CWT.
    ///
    /// - Throws: ``KeySetError`` with code ``KeySetError/Code/unusableKey`` if the key may not or cannot sign, or COSE has
    ///   no identifier for its algorithm.
    public func signCOSE(_ payload: [UInt8], form: COSEForm = COSEForm()) throws(KeySetError) -> [UInt8] {
        guard operations.contains(.sign) else { throw KeySetError(.unusableKey, "the key is not one for signing") }
        guard let identifier = algorithm.coseIdentifier else {
            throw KeySetError(.unusableKey, "COSE has no algorithm for the key")
        }
        let isUnprotected = form.hasUnprotectedKeyID
        let protected = try Self.written { writer in
            writer.map { map in
                map.entry(1) { $0.write(identifier) }
                if let id, !isUnprotected { map.entry(4) { $0.write(id.bytes) } }
            }
        }
        let kind: COSEMessage.Kind = algorithm.isMAC ? .mac0 : .sign1
        let protectedItem = try Self.written { $0.write(protected) }
        let payloadItem = try Self.written { $0.write(payload) }
        let signature = try signature(kind, protectedItem, payloadItem, form)
        return try Self.written(capacity: payload.count + signature.count + 128) { writer in
            writer.write(tag: 61)
            writer.write(tag: kind.rawValue)
            writer.write(arrayOf: 4)
            writer.write(encoded: protectedItem.span)
            writer.map { map in
                if let id, isUnprotected { map.entry(4) { $0.write(id.bytes) } }
            }
            writer.write(encoded: payloadItem.span)
            writer.write(signature)
        }
    }

    private static func written(
        capacity: Int = 64,
        _ body: (inout CBORWriter) -> Void
    ) throws(KeySetError) -> [UInt8] {
        var writer = CBORWriter(capacity: capacity)
        body(&writer)
        do throws(CBORFault) { return try writer.finish() } catch {
            throw KeySetError(.unusableKey, "the envelope cannot be written")
        }
    }

    private func signature(
        _ kind: COSEMessage.Kind,
        _ protectedItem: [UInt8],
        _ payloadItem: [UInt8],
        _ form: COSEForm
    ) throws(KeySetError) -> [UInt8] {
        let start = COSEStructure.start(kind)
        let none: [1 of UInt8] = [0x40]
        let pieces = MessagePieces(
            start.bytes.span.extracting(first: start.count),
            protectedItem.span,
            none.span,
            payloadItem.span
        )
        switch mechanism {
        case .mac(let key):
            guard let code = key.code(of: pieces) else { throw KeySetError(.unusableKey, OpenSSLError.drained().text) }
            return code
        case .signature(_, let maker?):
            do { return try maker.sign(pieces, prefersLowS: form.prefersLowS) } catch {
                throw KeySetError(.unusableKey, error.text)
            }
        case .signature: throw KeySetError(.unusableKey, "the key is not one for signing")
        }
    }
}
