// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The form of an envelope that is made.
public struct COSEForm: Sendable {
    /// True to put the key identifier in the unprotected header, where some verifiers look for it.
    public var hasUnprotectedKeyID: Bool
    /// True for the lower of the two values of s that ECDSA permits: some verifiers accept no other.
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
        guard operations.contains(.sign) else {
            throw KeySetError(.unusableKey, reason: "the key is not one for signing")
        }
        let prefix = form.hasUnprotectedKeyID ? COSEPrefix(algorithm: algorithm, id: id, isUnprotected: true) : prefix
        guard let prefix else { throw KeySetError(.unusableKey, reason: "COSE has no algorithm for the key") }
        var writer = CBORWriter(capacity: prefix.bytes.count + payload.count + signatureSize + 8)
        writer.write(encoded: prefix.bytes.span)
        writer.write(payload)
        let unsigned = try writer.finishedEnvelope()
        let signature = try signature(
            kind: prefix.kind,
            protectedItem: unsigned.span.extracting(prefix.protectedItem),
            payloadItem: unsigned.span.extracting(prefix.bytes.count..<unsigned.count),
            form: form
        )
        var whole = CBORWriter(continuing: unsigned)
        whole.write(signature)
        return try whole.finishedEnvelope()
    }

    private func signature(
        kind: COSEMessage.Kind,
        protectedItem: Span<UInt8>,
        payloadItem: Span<UInt8>,
        form: COSEForm
    ) throws(KeySetError) -> [UInt8] {
        let start = COSEStructure.start(kind)
        let none: [1 of UInt8] = [0x40]
        let pieces = MessagePieces(
            first: start.bytes.span.extracting(first: start.count),
            second: protectedItem,
            third: none.span,
            fourth: payloadItem
        )
        switch mechanism {
        case .mac(let key):
            guard let code = key.code(of: pieces) else {
                throw KeySetError(.unusableKey, reason: OpenSSLError.drained().text)
            }
            return code
        case .signature(_, let maker?):
            do { return try maker.sign(pieces, prefersLowS: form.prefersLowS) } catch {
                throw KeySetError(.unusableKey, reason: error.text)
            }
        case .signature: throw KeySetError(.unusableKey, reason: "the key is not one for signing")
        }
    }
}

/// The beginning of an envelope by one key, which is the same for all payloads: tags, protected and unprotected header.
struct COSEPrefix: Sendable {
    let kind: COSEMessage.Kind
    let bytes: [UInt8]
    /// The range of the protected header in ``bytes``, as a byte string with its head.
    let protectedItem: Range<Int>

    /// Makes the beginning; `nil` if COSE has no identifier for the algorithm.
    init?(algorithm: KeyAlgorithm, id: KeyID?, isUnprotected: Bool) {
        guard let identifier = algorithm.coseIdentifier else { return nil }
        kind = algorithm.isMAC ? .mac0 : .sign1
        var protected = CBORWriter(capacity: 72)
        protected.map { map in
            map.entry(1) { $0.write(identifier) }
            if let id, !isUnprotected { map.entry(4) { $0.write(id.bytes) } }
        }
        var writer = CBORWriter(capacity: 160)
        writer.write(tag: 61)
        writer.write(tag: kind.rawValue)
        writer.write(arrayOf: 4)
        let start = writer.count
        guard let content = try? protected.finish() else { return nil }
        writer.write(content)
        protectedItem = start..<writer.count
        writer.map { map in
            if let id, isUnprotected { map.entry(4) { $0.write(id.bytes) } }
        }
        guard let bytes = try? writer.finish() else { return nil }
        self.bytes = bytes
    }
}

extension CBORWriter {
    fileprivate consuming func finishedEnvelope() throws(KeySetError) -> [UInt8] {
        do throws(CBORFault) { return try finish() } catch {
            throw KeySetError(.unusableKey, reason: "the envelope cannot be written")
        }
    }
}
