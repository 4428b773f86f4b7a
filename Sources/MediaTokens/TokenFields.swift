// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import Platform

/// The fields of a token's element, parsed but not yet checked.
///
/// The texts are concatenated in one array. A verification makes one allocation for all of them, and a comparison with
/// an expected value makes none. Strings are created on demand.
struct TokenFields: Sendable {
    let timeIssued: Timestamp
    let timeToLiveMilliseconds: Int64
    /// The concatenated texts in valid UTF-8, and the bytes behind them.
    private let texts: [UInt8]
    /// The end offset of each ``TextField``. Offsets fit in 16 bits: a token has at most 16 KiB.
    private let ends: [5 of UInt16]

    init(timeIssued: Timestamp, timeToLiveMilliseconds: Int64, texts: [UInt8], ends: [5 of UInt16]) {
        self.timeIssued = timeIssued
        self.timeToLiveMilliseconds = timeToLiveMilliseconds
        self.texts = texts
        self.ends = ends
    }

    /// True if there are bytes behind the texts.
    var hasAppendix: Bool { texts.count > Int(ends[4]) }

    /// The bytes behind the texts.
    var appendix: ArraySlice<UInt8> { texts[Int(ends[4])...] }

    /// The text fields, in the order of ``texts``.
    enum TextField: Int {
        case requestorID
        case resourceID
        case userSessionGUID
        case mvpdID
        case proxyMVPDID
    }

    /// True if the text is absent. Only the proxied provider can be absent.
    func isMissing(_ field: TextField) -> Bool { range(field).isEmpty }

    /// True if the text equals `expected` byte for byte.
    func equals(_ field: TextField, expected: Span<UInt8>) -> Bool {
        texts.span.extracting(range(field)).hasSameBytes(as: expected)
    }

    func equals(_ field: TextField, expected: String) -> Bool {
        texts.span.extracting(range(field)).hasSameBytes(as: expected.utf8.span)
    }

    /// True if the resource is `wanted`, byte for byte.
    func isResource(_ wanted: MediaResource) -> Bool { wanted.isWritten(texts.span.extracting(range(.resourceID))) }

    /// The resource; `nil` if the text is none.
    var resource: MediaResource? { GrantedResources.resource(texts.span.extracting(range(.resourceID))) }

    func withBytes(of field: TextField, body: (Span<UInt8>) -> Void) { body(texts.span.extracting(range(field))) }

    func string(_ field: TextField) -> String { String(decoding: texts[range(field)], as: UTF8.self) }

    private func range(_ field: TextField) -> Range<Int> {
        (field.rawValue == 0 ? 0 : Int(ends[field.rawValue - 1]))..<Int(ends[field.rawValue])
    }
}

extension TokenFields {
    /// The elements of a token in the order of real tokens. Each occurs once. All are mandatory except the proxied
    /// provider, which real tokens omit if there is none.
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

        /// The field that follows in real tokens; after the last field, the first.
        var next: Name { Name(rawValue: rawValue + 1) ?? .sessionGUID }
    }

    /// Parses the fields from `content`, the range of `raw` between the element's start tag and its end tag.
    static func read(_ raw: Span<UInt8>, content: Range<Int>) throws(RefusalReason) -> TokenFields {
        var scanner = BodyScanner(raw.extracting(content))
        let texts = try scanner.scan()
        let scratch = scanner.releaseScratch()
        let bytes = raw.extracting(content)
        // Report missing fields before empty ones, each in the order of real tokens.
        for index in 0..<Name.proxyMVPDID.rawValue where texts[index].isMissing { throw .missingField }
        for index in 0..<Name.proxyMVPDID.rawValue where texts[index].span(in: bytes, scratch: scratch.span).isXMLSpace
        {
            throw .emptyField
        }
        guard let ttl = parseTTL(texts[Name.ttl.rawValue].span(in: bytes, scratch: scratch.span)) else {
            throw .invalidTTL
        }
        guard let time = TokenTime.parse(texts[Name.issueTime.rawValue].span(in: bytes, scratch: scratch.span)) else {
            throw .invalidIssueTime
        }
        let order: [5 of Name] = [.requestorID, .resourceID, .sessionGUID, .mvpdID, .proxyMVPDID]
        // An empty proxied provider counts as absent.
        let hasProxy =
            !texts[Name.proxyMVPDID.rawValue].isMissing
            && !texts[Name.proxyMVPDID.rawValue].span(in: bytes, scratch: scratch.span).isXMLSpace
        let count = hasProxy ? 5 : 4
        var ends = [5 of UInt16](repeating: 0)
        var size = 0
        for index in order.indices {
            if index < count { size += texts[order[index].rawValue].count }
            ends[index] = UInt16(size)
        }
        var stored = [UInt8](repeating: 0, count: size)
        for index in 0..<count {
            let start = index == 0 ? 0 : Int(ends[index - 1])
            stored.replace(from: start, with: texts[order[index].rawValue].span(in: bytes, scratch: scratch.span))
        }
        return TokenFields(timeIssued: time, timeToLiveMilliseconds: ttl, texts: stored, ends: ends)
    }

    /// Parses milliseconds of 1 to 18 digits with an optional minus sign. The time check refuses values below 1.
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
