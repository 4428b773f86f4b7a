// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform

/// What the element of a token says, before anyone judges it.
///
/// The texts stand one behind the other in one array: a verification makes one allocation for all of them, and a
/// comparison with what is expected none. Strings are made when somebody asks for them.
struct TokenFields: Sendable {
    let timeIssued: Timestamp
    let timeToLiveMilliseconds: Int64
    /// UTF-8, checked.
    private let texts: [UInt8]
    /// Where each text of ``TextField`` ends; a token is much smaller than the number allows.
    private let ends: [5 of UInt16]

    /// The fields that are texts, in the order of ``texts``.
    enum TextField: Int {
        case requestorID
        case resourceID
        case userSessionGUID
        case mvpdID
        case proxyMVPDID
    }

    /// Whether a text is not there; only that of the proxied provider can be.
    func isMissing(_ field: TextField) -> Bool { range(field).isEmpty }

    /// Whether a text is, byte for byte, `expected`.
    func equals(_ field: TextField, _ expected: [UInt8]) -> Bool {
        texts.span.extracting(range(field)).hasSameBytes(as: expected.span)
    }

    func equals(_ field: TextField, _ expected: String) -> Bool {
        texts.span.extracting(range(field)).hasSameBytes(as: expected.utf8.span)
    }

    func withBytes(_ field: TextField, _ body: (Span<UInt8>) -> Void) { body(texts.span.extracting(range(field))) }

    func string(_ field: TextField) -> String { String(decoding: texts[range(field)], as: UTF8.self) }

    private func range(_ field: TextField) -> Range<Int> {
        (field.rawValue == 0 ? 0 : Int(ends[field.rawValue - 1]))..<Int(ends[field.rawValue])
    }
}

extension TokenFields {
    /// The elements that a token has, each once, in the order of real tokens. All are mandatory but the proxied provider,
    /// which real tokens leave out where there is none.
    enum Name: Int, CaseIterable {
        case sessionGUID
        case requestorID
        case resourceID
        case ttl
        case issueTime
        case mvpdID
        case proxyMVPDID

        var startTag: StaticString {
            switch self {
            case .sessionGUID: "<sessionGUID>"
            case .requestorID: "<requestorID>"
            case .resourceID: "<resourceID>"
            case .ttl: "<ttl>"
            case .issueTime: "<issueTime>"
            case .mvpdID: "<mvpdId>"
            case .proxyMVPDID: "<proxyMvpdId>"
            }
        }

        var endTag: StaticString {
            switch self {
            case .sessionGUID: "</sessionGUID>"
            case .requestorID: "</requestorID>"
            case .resourceID: "</resourceID>"
            case .ttl: "</ttl>"
            case .issueTime: "</issueTime>"
            case .mvpdID: "</mvpdId>"
            case .proxyMVPDID: "</proxyMvpdId>"
            }
        }

        /// The field that follows in real tokens.
        var next: Name { Name(rawValue: rawValue + 1) ?? .sessionGUID }
    }

    /// Reads the fields from `content`, the bytes of `raw` between the element's start tag and its end tag.
    static func read(_ raw: Span<UInt8>, content: Range<Int>) throws(RefusalReason) -> TokenFields {
        var scanner = BodyScanner(raw.extracting(content))
        let texts = try scanner.scan()
        let scratch = scanner.takeScratch()
        let bytes = raw.extracting(content)
        // Missing fields first, then empty ones, in the order of real tokens.
        for place in 0..<Name.proxyMVPDID.rawValue where texts[place].isMissing { throw .missingField }
        for place in 0..<Name.proxyMVPDID.rawValue where texts[place].span(bytes, scratch.span).isXMLSpace {
            throw .emptyField
        }
        guard let ttl = parseTTL(texts[Name.ttl.rawValue].span(bytes, scratch.span)) else { throw .invalidTTL }
        guard let time = TokenTime.parse(texts[Name.issueTime.rawValue].span(bytes, scratch.span)) else {
            throw .invalidIssueTime
        }
        let order: [5 of Name] = [.requestorID, .resourceID, .sessionGUID, .mvpdID, .proxyMVPDID]
        // A proxied provider that is there but empty is none.
        let hasProxy =
            !texts[Name.proxyMVPDID.rawValue].isMissing
            && !texts[Name.proxyMVPDID.rawValue].span(bytes, scratch.span).isXMLSpace
        let count = hasProxy ? 5 : 4
        var ends = [5 of UInt16](repeating: 0)
        var size = 0
        for place in order.indices {
            if place < count { size += texts[order[place].rawValue].count }
            ends[place] = UInt16(size)
        }
        var stored = [UInt8](repeating: 0, count: size)
        for place in 0..<count {
            let start = place == 0 ? 0 : Int(ends[place - 1])
            stored.replace(from: start, with: texts[order[place].rawValue].span(bytes, scratch.span))
        }
        return TokenFields(timeIssued: time, timeToLiveMilliseconds: ttl, texts: stored, ends: ends)
    }

    /// A whole number of milliseconds of at most 18 digits, with an optional minus sign (judged later, with the time).
    private static func parseTTL(_ text: Span<UInt8>) -> Int64? {
        let isNegative = !text.isEmpty && text[0] == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard 1...18 ~= text.count - start else { return nil }
        var value: Int64 = 0
        for index in start..<text.count {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return isNegative ? -value : value
    }
}
