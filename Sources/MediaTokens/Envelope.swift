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
/// The second marker is an opening tag on the wire, so a token is not an XML document; a closing tag is taken too.
/// The signature covers the element's bytes as they are, from the `<` of its start tag to the `>` of its end tag.
struct Envelope {
    /// The Base64 text of the signature.
    let signature: Range<Int>
    /// The signed bytes: the element.
    let signed: Range<Int>
    let root: Root

    /// The elements that are media tokens. The long-lived tokens of the same issuer carry a valid signature of the same
    /// key, so this list keeps them out of the gate.
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

    /// Whether `bytes` begin like a raw token, and so are not Base64.
    static func isRaw(_ bytes: Span<UInt8>) -> Bool { bytes[0] == UInt8(ascii: "<") }

    /// Splits a raw token. The signature's text is not looked at.
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

    /// What all signed elements of an issuer have around them, whatever the element is.
    struct Frame {
        /// The Base64 text of the signature.
        let signature: Range<Int>
        /// The signed bytes; the first is a `<`.
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

    /// The range of the signed bytes between the start tag and the end tag.
    var content: Range<Int> {
        signed.lowerBound + root.startTag.utf8CodeUnitCount..<signed.upperBound - root.endTag.utf8CodeUnitCount
    }
}

extension RefusalReason: Error {}
