// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A JSON value. It keeps the order of its members.
package enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Int64)
    /// A number that was read with a fraction or an exponent, or beyond 64 bits. Its value is not kept, and it is
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
        case .null, .otherNumber: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let value): bytes += String(value).utf8
        case .string(let text): Self.write(text, to: &bytes)
        case .array(let values):
            Self.write(values, "[", "]", to: &bytes) { value, bytes in value.write(to: &bytes) }
        case .object(let members):
            Self.write(members, "{", "}", to: &bytes) { member, bytes in
                Self.write(member.0, to: &bytes)
                bytes += ":".utf8
                member.1.write(to: &bytes)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        _ open: String,
        _ close: String,
        to bytes: inout [UInt8],
        _ writeElement: (Element, inout [UInt8]) -> Void
    ) {
        bytes += open.utf8
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes += ",".utf8 }
            writeElement(element, &bytes)
        }
        bytes += close.utf8
    }

    /// Appends `text` as a JSON string (RFC 8259 §7). Also escapes DEL, line separators and controls of text direction,
    /// so that a line stays one line on every terminal and reads in the order of its bytes.
    package static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes += "\"".utf8
        // Nearly all text is plain, and is copied in one operation.
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            bytes += text.utf8
            bytes += "\"".utf8
            return
        }
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

extension JSON {
    /// Appends a text as ``write(_:to:)-(String,_)`` does, from its bytes in UTF-8.
    package static func write(utf8 text: Span<UInt8>, to bytes: inout [UInt8]) {
        let isPlain =
            text.firstIndex(outside: 0x20, from: 0) == text.count
            && text.firstIndex(of: UInt8(ascii: "\""), from: 0) == nil
            && text.firstIndex(of: UInt8(ascii: "\\"), from: 0) == nil
        guard isPlain else {
            write(String(decoding: text.indices.map { text[$0] }, as: UTF8.self), to: &bytes)
            return
        }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(copying: text)
        bytes.append(UInt8(ascii: "\""))
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
