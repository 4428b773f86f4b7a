// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// An envelope of one authentication code or one signature, by its parts: `COSE_Mac0` or `COSE_Sign1`, in the tag of CWT or not.
///
/// Only the envelope is read. The payload is not looked at before it is authenticated: see ``KeySet/verify(cose:format:at:maximumAttempts:issuer:)``.
/// All ranges are in the bytes that were parsed.
///
/// Source: RFC 9052 §4.2 and §6.2; RFC 8392 §6 for the tag 61.
public struct COSEMessage: Sendable {
    /// A kind of envelope. Its raw value is the tag.
    public enum Kind: UInt64, Sendable {
        /// `COSE_Mac0`.
        case mac0 = 17
        /// `COSE_Sign1`.
        case sign1 = 18
    }

    /// The kind of envelope.
    public let kind: Kind
    /// True if the envelope is in the tag 61, as CWT are.
    public let hasCWTTag: Bool
    /// The payload.
    public let payload: Range<Int>
    /// The authentication code or the signature.
    public let signature: Range<Int>

    let headers: COSEHeaders
    /// The protected header and the payload as byte strings with their heads: pieces of the authenticated bytes.
    let protectedItem: Range<Int>
    let payloadItem: Range<Int>

    /// The algorithm of the headers (RFC 9053), or `nil` if there is none.
    public var algorithm: Int64? { headers.algorithm }
    /// The key identifier of the headers, at most 64 bytes, or `nil` if there is none.
    public var keyID: Range<Int>? { headers.keyID }

    /// Parses an envelope of at most 4,096 bytes. Returns why it is refused otherwise.
    public static func parse(_ bytes: Span<UInt8>) -> Result<COSEMessage, COSERefusal> {
        guard bytes.count <= COSEText.maximumBytes else { return .failure(.tooLarge) }
        var headers = COSEHeaders()
        do throws(CBORFault) {
            return try parse(bytes, into: &headers)
        } catch {
            return .failure(headers.refusal ?? .malformed)
        }
    }

    private static func parse(
        _ bytes: Span<UInt8>,
        into headers: inout COSEHeaders
    ) throws(CBORFault) -> Result<COSEMessage, COSERefusal> {
        var tags = CBORReader(bytes, limits: .envelope)
        let tag = try outerTag(&tags)
        guard case .tag(let number) = tag.head, let kind = Kind(rawValue: number) else {
            // COSE_Encrypt0.
            return .failure(tag.head == .tag(16) ? .claimUnsupported : .malformed)
        }
        let offset = tags.position
        var reader = CBORReader(bytes.extracting(offset..<bytes.count))
        guard try reader.readArray() == 4 else { throw .unexpectedType }
        func moved(_ range: Range<Int>) -> Range<Int> { range.lowerBound + offset..<range.upperBound + offset }

        var start = reader.position
        let protected = moved(try reader.readBytes())
        let protectedItem = moved(start..<reader.position)
        try headers.readProtected(from: bytes, at: protected)
        try headers.readUnprotected(from: &reader, in: bytes, offset: offset)
        start = reader.position
        let payload = moved(try reader.readBytes())
        let payloadItem = moved(start..<reader.position)
        let signature = moved(try reader.readBytes())
        try reader.finish()
        guard !signature.isEmpty else { throw .unexpectedType }
        return .success(
            COSEMessage(
                kind: kind,
                hasCWTTag: tag.isCWT,
                payload: payload,
                signature: signature,
                headers: headers,
                protectedItem: protectedItem,
                payloadItem: payloadItem
            )
        )
    }

    /// Reads the tags in front of the envelope. Real tokens write the tag 17 in two bytes; all else has one form.
    private static func outerTag(_ tags: inout CBORReader) throws(CBORFault) -> (head: CBORHead, isCWT: Bool) {
        let head = try tags.next()
        return head == .tag(61) ? (try tags.next(), true) : (head, false)
    }
}
