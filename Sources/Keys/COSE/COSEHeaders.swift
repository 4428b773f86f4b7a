// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The statements of the two headers of an envelope (RFC 9052 §3.1). Ranges are in the envelope's bytes.
struct COSEHeaders {
    private(set) var algorithm: Int64?
    private(set) var keyID: Range<Int>?
    private(set) var isTextKeyID = false
    /// True if the protected header has no entries.
    private(set) var isProtectedEmpty = true
    /// The refusal, if reading failed for another reason than damage.
    private(set) var refusal: COSERefusal?

    /// The content of the protected header.
    private var protected = 0..<0
    private var present: Labels = []
    private var critical: Labels = []

    /// The labels that a critical header may name (RFC 9052 §3.1: alg, kid; RFC 9596: typ).
    private struct Labels: OptionSet {
        let rawValue: Int
        static let algorithm = Labels(rawValue: 1)
        static let keyID = Labels(rawValue: 2)
        static let type = Labels(rawValue: 4)

        init(rawValue: Int) { self.rawValue = rawValue }

        init?(label: Int64?) {
            switch label {
            case 1: self = .algorithm
            case 4: self = .keyID
            case 16: self = .type
            default: return nil
            }
        }
    }

    /// Reads the protected header, the content of a byte string at `range` of `bytes`.
    mutating func readProtected(from bytes: Span<UInt8>, at range: Range<Int>) throws(CBORFault) {
        guard !range.isEmpty else { return }
        protected = range
        var reader = CBORReader(bytes.extracting(range))
        let count = try reader.readMap()
        isProtectedEmpty = count == 0
        for _ in 0..<count {
            let label = try reader.next()
            try readValue(of: label, &reader, offset: range.lowerBound, isProtected: true)
        }
        try reader.finish()
        guard present.isSuperset(of: critical) else { throw .unexpectedType }
    }

    /// Reads the unprotected header, the next item of `reader`, which reads `bytes` from `offset` on.
    mutating func readUnprotected(
        from reader: inout CBORReader,
        in bytes: Span<UInt8>,
        offset: Int
    ) throws(CBORFault) {
        for _ in 0..<(try reader.readMap()) {
            let start = reader.position + offset
            let label = try reader.next()
            // RFC 9052 §3: a label in both headers makes them malformed.
            guard try !protectedHas(start..<(reader.position + offset), in: bytes) else { throw .duplicateKey }
            try readValue(of: label, &reader, offset: offset, isProtected: false)
        }
    }

    /// True if the protected header has the encoded `label`.
    private func protectedHas(_ label: Range<Int>, in bytes: Span<UInt8>) throws(CBORFault) -> Bool {
        guard !isProtectedEmpty else { return false }
        var reader = CBORReader(bytes.extracting(protected))
        for _ in 0..<(try reader.readMap()) {
            let own = try reader.skip()
            let start = own.lowerBound + protected.lowerBound
            if own.count == label.count, bytes.repeats(label, at: start) { return true }
            try reader.skip()
        }
        return false
    }

    private mutating func readValue(
        of label: CBORHead,
        _ reader: inout CBORReader,
        offset: Int,
        isProtected: Bool
    ) throws(CBORFault) {
        if isProtected, let known = Labels(label: label.integer) { present.insert(known) }
        switch label.integer {
        case 1: try readAlgorithm(&reader)
        case 2:
            guard isProtected else { throw .unexpectedType }
            try readCritical(&reader)
        case 4: try readKeyID(&reader, offset: offset)
        case 15:
            // CWT claims in a header (RFC 9597), which nobody here looks at.
            refusal = .claimUnsupported
            throw .unexpectedType
        default: try reader.skip()
        }
    }

    private mutating func readAlgorithm(_ reader: inout CBORReader) throws(CBORFault) {
        let head = try reader.next()
        guard let algorithm = head.integer else {
            if case .text = head { refusal = .algorithmRefused }
            throw .unexpectedType
        }
        self.algorithm = algorithm
    }

    private mutating func readKeyID(_ reader: inout CBORReader, offset: Int) throws(CBORFault) {
        let range: Range<Int>
        switch try reader.next() {
        case .bytes(let bytes): range = bytes
        case .text(let text):
            range = text
            isTextKeyID = true
        default: throw .unexpectedType
        }
        guard range.count <= KeyID.maximumSize else { throw .stringTooLong }
        keyID = range.lowerBound + offset..<range.upperBound + offset
    }

    private mutating func readCritical(_ reader: inout CBORReader) throws(CBORFault) {
        let count = try reader.readArray()
        guard count > 0 else { throw .unexpectedType }
        for _ in 0..<count {
            let head = try reader.next()
            switch head {
            case .unsigned, .negative, .text: break
            default: throw .unexpectedType
            }
            guard let label = Labels(label: head.integer) else {
                refusal = .claimUnsupported
                throw .unexpectedType
            }
            critical.insert(label)
        }
    }
}
