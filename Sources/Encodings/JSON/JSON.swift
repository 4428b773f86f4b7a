// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A JSON value. It retains the order of its members.
package enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Int64)
    /// A number that was read with a fraction or an exponent, or beyond 64 bits. Its value is not stored, and it is
    /// written as `null`.
    case otherNumber
    case string(String)
    case array([JSON])
    case object([Member])

    package typealias Member = (name: String, value: JSON)

    /// Returns a string, or null for `nil`.
    package static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    /// The JSON text of this value, in one line.
    package var line: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the JSON text of this value to `bytes`, in one line.
    package func write(to bytes: inout [UInt8]) {
        switch self {
        case .null, .otherNumber: bytes.append("null")
        case .bool(let value): value ? bytes.append("true") : bytes.append("false")
        case .number(let value): bytes.append(decimal: value)
        case .string(let text): Self.write(text, to: &bytes)
        case .array(let values):
            Self.write(values, open: "[", close: "]", to: &bytes) { value, bytes in value.write(to: &bytes) }
        case .object(let members):
            Self.write(members, open: "{", close: "}", to: &bytes) { member, bytes in
                Self.write(member.0, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.1.write(to: &bytes)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        open: StaticString,
        close: StaticString,
        to bytes: inout [UInt8],
        writeElement: (Element, inout [UInt8]) -> Void
    ) {
        bytes.append(open)
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            writeElement(element, &bytes)
        }
        bytes.append(close)
    }

    /// Appends `text` as a JSON string (RFC 8259 §7). Also escapes DEL, line separators and controls of text direction.
    /// A line then stays one line on every terminal, and reads in the order of its bytes.
    package static func write(_ text: String, to bytes: inout [UInt8]) {
        if !copy(text.utf8Span.span, to: &bytes) { escape(text, to: &bytes) }
    }

    /// Appends a text as ``write(_:to:)-(String,_)`` does, from its bytes in UTF-8.
    package static func write(utf8 text: Span<UInt8>, to bytes: inout [UInt8]) {
        if !copy(text, to: &bytes) { escape(String(decoding: text), to: &bytes) }
    }

    /// Appends a text that needs no escapes, as nearly all, in one operation. Returns false for others.
    private static func copy(_ text: Span<UInt8>, to bytes: inout [UInt8]) -> Bool {
        let isPlain =
            text.firstIndex(outside: 0x20, from: 0) == text.count
            && text.firstIndex(of: UInt8(ascii: "\""), from: 0) == nil
            && text.firstIndex(of: UInt8(ascii: "\\"), from: 0) == nil
        guard isPlain else { return false }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(copying: text)
        bytes.append(UInt8(ascii: "\""))
        return true
    }

    private static func escape(_ text: String, to bytes: inout [UInt8]) {
        bytes += "\"".utf8
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case _ where scalar.isLineControl:
                let digits = String(scalar.value, radix: 16)
                bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            default: bytes += String(scalar).utf8
            }
        }
        bytes += "\"".utf8
    }
}

extension JSON: Equatable {
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null), (.otherNumber, .otherNumber): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left.elementsEqual(right, by: ==)
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// True if this starts a line, moves the cursor, or changes the direction of the text that follows.
    ///
    /// Source: Unicode Standard Annex 9, §2.
    package var isLineControl: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .string(text) }

    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral values: JSON...) { self = .array(values) }

    /// Creates an object with the members in the order of the literal.
    package init(dictionaryLiteral members: (String, JSON)...) { self = .object(members.map { ($0, $1) }) }
}

extension JSON {
    /// Returns an array of strings.
    package static func strings(_ texts: [String]) -> JSON { .array(texts.map { .string($0) }) }

    /// Returns the value of the first member of that name; `nil` if this is not an object or has no such member.
    package subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, if this is a string.
    package var text: String? { if case .string(let text) = self { text } else { nil } }

    /// The values, if this is an array.
    package var values: [JSON]? { if case .array(let values) = self { values } else { nil } }
}
