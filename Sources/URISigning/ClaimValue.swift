// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings

/// The text of a claim, as its range in the payload. The text is copied on demand only.
package struct ClaimText: Sendable {
    /// The range, without the quotes.
    private let range: Range<Int>
    private let isEscaped: Bool

    init(_ range: Range<Int>, isEscaped: Bool) {
        self.range = range
        self.isEscaped = isEscaped
    }

    /// Returns the text. The payload must be the one that it was read from.
    package func string(in payload: Span<UInt8>) -> String {
        isEscaped ? String(copying: unescaped(payload).span) : String(copying: payload.extracting(range))
    }

    /// Calls `body` with the bytes of the text.
    package func withBytes<Value>(in payload: Span<UInt8>, _ body: (Span<UInt8>) -> Value) -> Value {
        isEscaped ? body(unescaped(payload).span) : body(payload.extracting(range))
    }

    /// True if the text has the same bytes as another one.
    package func isSame(as other: String, in payload: Span<UInt8>) -> Bool {
        withBytes(in: payload) { $0.hasSameBytes(as: other.utf8.span) }
    }

    private func unescaped(_ payload: Span<UInt8>) -> [UInt8] {
        (try? JSONMemberReader.utf8(in: payload, at: range.lowerBound - 1..<range.upperBound + 1)) ?? []
    }
}

/// The value of a claim.
struct ClaimValue: ~Escapable {
    private let bytes: Span<UInt8>
    private let member: JSONMemberReader.Member

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, member: JSONMemberReader.Member) {
        self.bytes = bytes
        self.member = member
    }

    func text(_ limit: Int) throws(JSONFault) -> ClaimText {
        guard case .string(let isEscaped) = member.kind else { throw .notJSON }
        let range = member.value.lowerBound + 1..<member.value.upperBound - 1
        let size = isEscaped ? try JSONMemberReader.utf8(in: bytes, at: member.value).count : range.count
        guard size <= limit else { throw .notJSON }
        return ClaimText(range, isEscaped: isEscaped)
    }

    func string(_ limit: Int) throws(JSONFault) -> String { try text(limit).string(in: bytes) }

    /// Returns a value of 16 bytes in URL-safe Base64.
    func sixteenBytes<Value: SixteenBytes>() throws(JSONFault) -> Value {
        guard let bytes = Base64.decodeURLSafe(try string(22)), let value = Value(bytes: bytes) else { throw .notJSON }
        return value
    }

    /// Returns a text, or the texts of a list.
    func audience(_ limit: Int) throws(JSONFault) -> SignedClaims.Audience {
        guard member.kind == .array else { return .one(try text(limit)) }
        let list = try JSONReader.read(bytes.extracting(member.value), limits: SignedClaims.limits)
        var texts: [String] = []
        for value in list.values ?? [] {
            guard let text = value.text, text.utf8.count <= limit else { throw .notJSON }
            texts.append(text)
        }
        return .several(texts)
    }

    func integer() throws(JSONFault) -> Int64 {
        guard member.kind == .integer, let number = Int64(jsonInteger: bytes.extracting(member.value)) else {
            throw .notJSON
        }
        return number
    }

    /// Returns a time in milliseconds, from 0 on.
    func time(_ latest: Int64, roundsUp: Bool = false) throws(JSONFault) -> Int64 {
        let time = try milliseconds(latest, roundsUp: roundsUp)
        guard time >= 0 else { throw .notJSON }
        return time
    }

    /// Returns a number of seconds in milliseconds.
    func duration(_ latest: Int64) throws(JSONFault) -> Int64 { try milliseconds(latest, roundsUp: false) }

    private func milliseconds(_ latest: Int64, roundsUp: Bool) throws(JSONFault) -> Int64 {
        switch member.kind {
        case .integer:
            let seconds = try integer()
            guard -latest...latest ~= seconds else { throw .notJSON }
            return seconds * 1000
        case .decimal:
            let spelling = String(copying: bytes.extracting(member.value))
            guard let seconds = Double(spelling), seconds.magnitude <= Double(latest) else { throw .notJSON }
            return Int64((seconds * 1000).rounded(roundsUp ? .up : .down))
        default: throw .notJSON
        }
    }
}
