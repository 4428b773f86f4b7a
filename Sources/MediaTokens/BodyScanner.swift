// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import XML

/// A strict scanner for the content of a token's element, between the start tag and the end tag.
///
/// Accepts a subset of XML and reads it as libxml2 does: elements that hold text (literal, with predefined and numeric
/// references, or in CDATA sections), white space between them, and elements of other names, which are skipped. Refuses
/// everything else, such as comments, processing instructions, declarations, and attributes on fields. Works in one
/// pass without recursion. The verifier runs it only after the signature check.
struct BodyScanner: ~Copyable, ~Escapable {
    let bytes: Span<UInt8>
    var position = 0
    var scratch: [UInt8] = []
    /// True if all text is literal: ASCII without control characters, `&` and `]`, as in nearly every token.
    private var isPlain = false

    /// The text of an element: a range of the body, or of the scratch bytes if it was assembled from pieces.
    struct Text {
        private let start: Int32
        private let end: Int32
        private let isInScratch: Bool

        /// The value for an absent element.
        static let missing = Text(start: -1, end: -1, isInScratch: false)

        var isMissing: Bool { start < 0 }

        var count: Int { Int(end - start) }

        /// Creates a text from a range. The offsets fit in 32 bits: a token has at most 16 KiB.
        init(_ range: Range<Int>, isInScratch: Bool) {
            self.init(
                start: Int32(truncatingIfNeeded: range.lowerBound),
                end: Int32(truncatingIfNeeded: range.upperBound),
                isInScratch: isInScratch
            )
        }

        private init(start: Int32, end: Int32, isInScratch: Bool) {
            self.start = start
            self.end = end
            self.isInScratch = isInScratch
        }

        @_lifetime(copy body, copy scratch)
        func span(in body: Span<UInt8>, scratch: Span<UInt8>) -> Span<UInt8> {
            (isInScratch ? scratch : body).extracting(Int(start)..<Int(end))
        }
    }

    typealias Texts = [7 of Text]

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Returns the bytes to which ``Text`` ranges with `isInScratch` refer.
    consuming func releaseScratch() -> [UInt8] { scratch }

    /// Reads all elements and returns the text of each field, indexed by ``TokenFields/Name``.
    @_lifetime(self: copy self)
    mutating func scan() throws(RefusalReason) -> Texts {
        try checkCharacters()
        var texts = Texts(repeating: .missing)
        var expected = TokenFields.Name.sessionGUID
        while true {
            if let text = plainField(expected) {
                guard texts[expected.rawValue].isMissing else { throw .repeatedField }
                texts[expected.rawValue] = text
                expected = expected.next
                continue
            }
            skipSpace()
            if position == bytes.count { return texts }
            let name = try startTagName()
            guard let field = field(name) else {
                try skipElement(name)
                continue
            }
            guard texts[field.rawValue].isMissing else { throw .repeatedField }
            texts[field.rawValue] = try fieldText(name)
            expected = field.next
        }
    }

    /// Reads the field `expected` if it follows in its usual form, literal text between exact tags. Otherwise returns
    /// `nil` without moving. A fast path of three comparisons, with the same result as the general path.
    @_lifetime(self: copy self)
    private mutating func plainField(_ expected: TokenFields.Name) -> Text? {
        guard isPlain, bytes.starts(with: expected.startTag, at: position) else { return nil }
        let start = position + expected.startTag.utf8CodeUnitCount
        guard let end = bytes.firstIndex(of: UInt8(ascii: "<"), from: start),
            bytes.starts(with: expected.endTag, at: end)
        else { return nil }
        position = end + expected.endTag.utf8CodeUnitCount
        return Text(start..<end, isInScratch: false)
    }

    private func field(_ name: Range<Int>) -> TokenFields.Name? {
        // Compare the length of the name, then the start tag without its `>`, which white space may precede.
        TokenFields.Name.allCases.first { field in
            name.count == field.startTag.utf8CodeUnitCount - 2
                && bytes.starts(with: field.startTag, length: name.count + 1, at: name.lowerBound - 1)
        }
    }

    /// Refuses bytes that XML does not allow: invalid UTF-8, control characters, U+FFFE and U+FFFF (XML 1.0 §2.2).
    @_lifetime(self: copy self)
    private mutating func checkCharacters() throws(RefusalReason) {
        let kinds = bytes.kinds
        isPlain = !kinds.hasNonASCII && !kinds.hasControls && !kinds.hasSpecials
        if kinds.hasControls {
            for index in bytes.indices where bytes[index] < 0x20 && !bytes[index].isXMLSpace { throw .malformedBody }
        }
        guard kinds.hasNonASCII else { return }
        guard (try? UTF8Span(validating: bytes)) != nil else { throw .malformedBody }
        for index in bytes.indices.dropLast(2) where bytes[index] == 0xEF && bytes[index + 1] == 0xBF {
            if bytes[index + 2] >= 0xBE { throw .malformedBody }
        }
    }

    // MARK: Tags

    /// Reads the `<` and the name of a start tag, and returns the range of the name.
    @_lifetime(self: copy self)
    mutating func startTagName() throws(RefusalReason) -> Range<Int> {
        guard consume(UInt8(ascii: "<")) else { throw .malformedBody }
        return try name()
    }

    @_lifetime(self: copy self)
    mutating func name() throws(RefusalReason) -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position].isNameByte { position += 1 }
        guard start < position, bytes[start].isNameStart else { throw .malformedBody }
        return start..<position
    }

    /// Reads the rest of the end tag of `name`, after its `</`.
    @_lifetime(self: copy self)
    mutating func endTag(_ name: Range<Int>) throws(RefusalReason) {
        guard bytes.repeats(name, at: position) else { throw .malformedBody }
        position += name.count
        if consume(UInt8(ascii: ">")) { return }
        skipSpace()
        guard consume(UInt8(ascii: ">")) else { throw .malformedBody }
    }

    // MARK: Fields

    /// Reads the text and the end tag of a field. The position is after the name in the start tag.
    @_lifetime(self: copy self)
    private mutating func fieldText(_ name: Range<Int>) throws(RefusalReason) -> Text {
        skipSpace()
        if consume(UInt8(ascii: "/")) {
            guard consume(UInt8(ascii: ">")) else { throw .malformedBody }
            return Text(position..<position, isInScratch: false)
        }
        guard consume(UInt8(ascii: ">")) else { throw .malformedBody }
        var plain = try plainText()
        if plain == nil { plain = try singleSection() }
        if let range = plain {
            try endTag(name)
            return Text(range, isInScratch: false)
        }
        if scratch.isEmpty { scratch.reserveCapacity(bytes.count) }
        let start = scratch.count
        try mixedText()
        let range = start..<scratch.count
        try endTag(name)
        return Text(range, isInScratch: true)
    }

    /// Reads literal text and the `</` after it. Returns `nil` without moving if the text needs more than a copy.
    @_lifetime(self: copy self)
    private mutating func plainText() throws(RefusalReason) -> Range<Int>? {
        var index = position
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "<"):
                guard index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "/") else { return nil }
                let range = position..<index
                position = index + 2
                return range
            case UInt8(ascii: "&"), 0xD: return nil
            case UInt8(ascii: ">"): try refuseSectionEnd(at: index, textStart: position)
            default: break
            }
            index += 1
        }
        throw .malformedBody
    }

    /// Reads a single CDATA section and the `</` after it. Returns `nil` without moving for any other text, and for a
    /// section with a carriage return.
    @_lifetime(self: copy self)
    private mutating func singleSection() throws(RefusalReason) -> Range<Int>? {
        guard bytes.starts(with: Self.sectionStart, at: position) else { return nil }
        let start = position + Self.sectionStart.utf8CodeUnitCount
        let end = try sectionEnd(from: start)
        guard bytes.starts(with: "</", at: end + 3) else { return nil }
        for index in start..<end where bytes[index] == 0xD { return nil }
        position = end + 5
        return start..<end
    }

    /// Appends the value of text, references and CDATA sections to the scratch bytes, and reads the `</` after them.
    @_lifetime(self: copy self)
    private mutating func mixedText() throws(RefusalReason) {
        var textStart = position
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "<"):
                if bytes.starts(with: "</", at: position) {
                    position += 2
                    return
                }
                guard bytes.starts(with: Self.sectionStart, at: position) else { throw .malformedBody }
                position += Self.sectionStart.utf8CodeUnitCount
                let end = try sectionEnd(from: position)
                while position < end { appendNormalised() }
                position = end + 3
                textStart = position
            case UInt8(ascii: "&"):
                try reference()
                textStart = position
            default:
                if byte == UInt8(ascii: ">") { try refuseSectionEnd(at: position, textStart: textStart) }
                appendNormalised()
            }
        }
        throw .malformedBody
    }

    static let sectionStart: StaticString = "<![CDATA["

    /// Returns the position of the `]]>` that ends a CDATA section.
    func sectionEnd(from start: Int) throws(RefusalReason) -> Int {
        var index = start
        while index + 2 < bytes.count {
            if bytes[index] == UInt8(ascii: "]"), bytes.starts(with: "]]>", at: index) { return index }
            index += 1
        }
        throw .malformedBody
    }

    /// Refuses the `>` at `index` if it completes a `]]>`, which is not allowed in text (XML 1.0 §2.4).
    func refuseSectionEnd(at index: Int, textStart: Int) throws(RefusalReason) {
        if index - 2 >= textStart, bytes[index - 1] == UInt8(ascii: "]"), bytes[index - 2] == UInt8(ascii: "]") {
            throw .malformedBody
        }
    }

    /// Appends the byte at the position, with line ends as line feeds (XML 1.0 §2.11).
    @_lifetime(self: copy self)
    private mutating func appendNormalised() {
        let byte = bytes[position]
        position += 1
        guard byte == 0xD else { return scratch.append(byte) }
        scratch.append(0xA)
        if position < bytes.count, bytes[position] == 0xA { position += 1 }
    }

    /// Reads a predefined or numeric reference and appends its character.
    @_lifetime(self: copy self)
    mutating func reference() throws(RefusalReason) {
        for index in Self.predefined.indices where bytes.starts(with: Self.predefined[index].0, at: position) {
            position += Self.predefined[index].0.utf8CodeUnitCount
            scratch.append(Self.predefined[index].1)
            return
        }
        guard bytes.starts(with: "&#", at: position) else { throw .malformedBody }
        position += 2
        let radix: UInt32 = consume(UInt8(ascii: "x")) ? 16 : 10
        var value: UInt32 = 0
        let start = position
        while position < bytes.count, let digit = bytes[position].digit(radix: radix) {
            value = value * radix + digit
            guard value <= 0x10FFFF else { throw .malformedBody }
            position += 1
        }
        guard position > start, consume(UInt8(ascii: ";")), let scalar = Unicode.Scalar(value),
            String(Character(scalar)).isLegalXML
        else { throw .malformedBody }
        scratch.append(contentsOf: String(Character(scalar)).utf8)
    }

    private static let predefined: [5 of (StaticString, UInt8)] = [
        ("&amp;", UInt8(ascii: "&")), ("&lt;", UInt8(ascii: "<")), ("&gt;", UInt8(ascii: ">")),
        ("&quot;", UInt8(ascii: "\"")), ("&apos;", UInt8(ascii: "'")),
    ]

    // MARK: Bytes

    @_lifetime(self: copy self)
    mutating func consume(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    @_lifetime(self: copy self)
    @discardableResult
    mutating func skipSpace() -> Bool {
        let start = position
        while position < bytes.count, bytes[position].isXMLSpace { position += 1 }
        return position > start
    }
}

extension UInt8 {
    /// True if an ASCII name may begin with this byte. Names in other scripts are refused.
    fileprivate var isNameStart: Bool {
        isASCIILetter || self == UInt8(ascii: "_") || self == UInt8(ascii: ":")
    }

    fileprivate var isNameByte: Bool {
        isNameStart || isASCIIDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }

    fileprivate func digit(radix: UInt32) -> UInt32? {
        hexadecimalDigit.flatMap { UInt32($0) < radix ? UInt32($0) : nil }
    }
}
