// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources

/// The parts of a raw token, as ranges of its bytes.
///
/// ```text
/// <signatureInfo>SIGNATURE<signatureInfo><authToken>…</authToken>
/// ```
///
/// The second marker is an opening tag on the wire, so a token is not an XML document. A closing tag is accepted too.
/// The signature covers the element's bytes as transmitted, from the `<` of its start tag to the `>` of its end tag.
struct Envelope {
    /// The Base64 text of the signature.
    let signature: Range<Int>
    /// The signed bytes: the element.
    let signed: Range<Int>
    let root: Root

    /// The elements that are media tokens. Long-lived tokens of the same issuer carry a valid signature by the same
    /// key, so this allow-list excludes them.
    enum Root: String, CaseIterable {
        case authToken
        case shortAuthorizationToken

        var startTag: StaticString {
            switch self {
            case .authToken: "<authToken>"
            case .shortAuthorizationToken: "<shortAuthorizationToken>"
            }
        }

        var endTag: StaticString {
            switch self {
            case .authToken: "</authToken>"
            case .shortAuthorizationToken: "</shortAuthorizationToken>"
            }
        }
    }

    /// True if `bytes`, which must not be empty, begin like a raw token and therefore are not Base64.
    static func isRaw(_ bytes: Span<UInt8>) -> Bool { bytes[0] == UInt8(ascii: "<") }

    /// Splits a raw token. Does not decode the signature.
    static func split(_ raw: Span<UInt8>) -> Result<Envelope, RefusalReason> {
        guard let frame = Frame(raw) else { return .failure(.invalidEnvelope) }
        let (start, end) = (frame.signed.lowerBound, frame.signed.upperBound)
        guard let root = Root.allCases.first(where: { raw.starts(with: $0.startTag, at: start) }) else {
            return .failure(.unsupportedRoot)
        }
        let endTagStart = end - root.endTag.utf8CodeUnitCount
        guard endTagStart >= start + root.startTag.utf8CodeUnitCount, raw.starts(with: root.endTag, at: endTagStart)
        else {
            return .failure(.invalidEnvelope)
        }
        return .success(Envelope(signature: frame.signature, signed: frame.signed, root: root))
    }

    /// The envelope that every signed element of an issuer has.
    struct Frame {
        /// The Base64 text of the signature.
        let signature: Range<Int>
        /// The signed bytes. The first byte is a `<`.
        let signed: Range<Int>

        @inline(__always)
        init?(_ raw: Span<UInt8>) {
            let opening: StaticString = "<signatureInfo>"
            let closing: StaticString = "</signatureInfo>"
            guard raw.starts(with: opening, at: 0) else { return nil }
            let signatureStart = opening.utf8CodeUnitCount
            guard let marker = raw.firstIndex(of: UInt8(ascii: "<"), from: signatureStart) else { return nil }
            var start = marker
            if raw.starts(with: opening, at: marker) {
                start += opening.utf8CodeUnitCount
            } else if raw.starts(with: closing, at: marker) {
                start += closing.utf8CodeUnitCount
            } else {
                return nil
            }
            while start < raw.count, raw[start].isXMLSpace { start += 1 }
            var end = raw.count
            while end > start, raw[end - 1].isXMLSpace { end -= 1 }
            guard start < end, raw[start] == UInt8(ascii: "<") else { return nil }
            signature = signatureStart..<marker
            signed = start..<end
        }
    }

    /// The range between the start tag and the end tag of the element.
    var content: Range<Int> {
        signed.lowerBound + root.startTag.utf8CodeUnitCount..<signed.upperBound - root.endTag.utf8CodeUnitCount
    }
}

extension RefusalReason: Error {}
