// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2
internal import Encodings

/// The attributes of a tag as libxml2 reports them.
@safe
struct XMLAttributeList {
    private let first: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
    /// The number of attributes, without declarations of namespaces.
    let count: Int

    init(_ first: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?, count: Int32) {
        unsafe self.first = first
        self.count = unsafe first == nil ? 0 : Int(count)
    }

    /// An attribute. Its pointers hold during the callback.
    @unsafe
    struct Item {
        let name: UnsafePointer<xmlChar>
        let prefix: UnsafePointer<xmlChar>?
        let uri: UnsafePointer<xmlChar>?
        let value: UnsafeBufferPointer<UInt8>

        func isIn(_ namespace: StaticString) -> Bool {
            guard let uri = unsafe uri else { return false }
            return unsafe xmlStrEqual(uri, namespace.utf8Start) != 0
        }
    }

    /// The attribute at a position; nil if libxml2 left a part out.
    subscript(position: Int) -> Item? {
        // Five pointers each: local name, prefix, namespace, value, end of value.
        guard let item = unsafe first.map({ unsafe $0 + 5 * position }), position < count, let name = unsafe item[0],
            let value = unsafe item[3], let end = unsafe item[4], unsafe end >= value
        else { return nil }
        let bytes = unsafe UnsafeBufferPointer(start: value, count: end - value)
        return unsafe Item(name: name, prefix: item[1], uri: item[2], value: bytes)
    }

    /// Returns true if an attribute is in that namespace.
    func mention(_ namespace: StaticString) -> Bool {
        for position in 0..<count {
            guard let uri = unsafe first?[5 * position + 2] else { continue }
            if unsafe xmlStrEqual(uri, namespace.utf8Start) != 0 { return true }
        }
        return false
    }
}

/// A walk over the attributes of a start tag by its bytes, in step with those that libxml2 reports. Declarations of
/// namespaces are left out.
@safe
struct XMLAttributeCursor {
    private let document: UnsafeBufferPointer<UInt8>
    /// The next byte.
    private(set) var position: Int
    /// The end of the tag, before `>` or `/>`.
    private let end: Int

    /// Creates a cursor at the name of a tag.
    init(in document: UnsafeBufferPointer<UInt8>, at tag: XMLTag) {
        unsafe self.document = document
        position = Int(tag.start) + 1
        end = Int(tag.end) - (tag.isEmpty ? 2 : 1)
        precondition(position <= end && end < document.count)
    }

    /// Moves behind a name; false if another one is there.
    mutating func skip(prefix: UnsafePointer<xmlChar>?, name: UnsafePointer<xmlChar>) -> Bool {
        let start = position
        if let prefix = unsafe prefix {
            guard unsafe skip(text: prefix), position < end, unsafe document[position] == UInt8(ascii: ":") else {
                position = start
                return false
            }
            position += 1
        }
        if unsafe skip(text: name), position == end || isAtSpace || byte == UInt8(ascii: "=") { return true }
        position = start
        return false
    }

    /// Moves behind `text`, which ends with a zero; false if it is not there.
    private mutating func skip(text: UnsafePointer<xmlChar>) -> Bool {
        let (document, end) = unsafe (document, end)
        var (position, offset) = (position, 0)
        while unsafe text[offset] != 0 {
            guard position < end, unsafe document[position] == text[offset] else { return false }
            position += 1
            offset += 1
        }
        self.position = position
        return true
    }

    /// Moves behind an attribute, and returns the range of its value; nil if another one is there.
    mutating func next(_ attribute: XMLAttributeList.Item) -> (value: Range<Int>, isLiteral: Bool)? {
        while true {
            skipSpace()
            if unsafe skip(prefix: attribute.prefix, name: attribute.name) { break }
            guard isAtDeclaration, skipAttribute() else { return nil }
        }
        guard let quote = openValue() else { return nil }
        let value = unsafe attribute.value
        let start = position
        if start + value.count < end, unsafe document[start + value.count] == quote, unsafe isLiteral(value) {
            position = start + value.count + 1
            return (start..<position - 1, true)
        }
        guard closeValue(quote) else { return nil }
        let range = start..<position - 1
        return unsafe document.span.reads(range, as: value) ? (range, false) : nil
    }

    /// Returns true if nothing but white space and declarations of namespaces is left.
    mutating func isAtEnd() -> Bool {
        skipSpace()
        while position < end {
            guard isAtDeclaration, skipAttribute() else { return false }
            skipSpace()
        }
        return true
    }

    /// The next byte of the tag; zero at its end.
    private var byte: UInt8 { position < end ? unsafe document[position] : 0 }

    private var isAtSpace: Bool { byte.isXMLSpace }

    private mutating func skipSpace() { while isAtSpace { position += 1 } }

    private var isAtDeclaration: Bool {
        guard unsafe document.span.starts(with: "xmlns", at: position), position + 5 < end else { return false }
        let next = unsafe document[position + 5]
        return next == UInt8(ascii: "=") || next == UInt8(ascii: ":") || next.isXMLSpace
    }

    private mutating func skipAttribute() -> Bool {
        while position < end, unsafe document[position] != UInt8(ascii: "="), !isAtSpace { position += 1 }
        guard let quote = openValue() else { return false }
        return closeValue(quote)
    }

    /// Moves into a value, and returns its quotation mark.
    private mutating func openValue() -> UInt8? {
        skipSpace()
        guard position < end, unsafe document[position] == UInt8(ascii: "=") else { return nil }
        position += 1
        skipSpace()
        guard position < end else { return nil }
        let quote = unsafe document[position]
        position += 1
        return quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") ? quote : nil
    }

    private mutating func closeValue(_ quote: UInt8) -> Bool {
        while position < end, unsafe document[position] != quote { position += 1 }
        position += 1
        return position <= end
    }

    /// Returns true if the next bytes are `value`, and nothing in them is escaped.
    private func isLiteral(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        let value = unsafe value.span
        let bytes = unsafe document.span.extracting(position..<position + value.count)
        return bytes.hasSameBytes(as: value) && value.firstIndex(of: UInt8(ascii: "&"), from: 0) == nil
    }
}

extension Span<UInt8> {
    /// Returns true if the bytes of `range`, as the value of an attribute, mean `value`, in which libxml2 writes every `&`
    /// as `&#38;`.
    fileprivate func reads(_ range: Range<Int>, as value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let decoded = decodedXML(range, isAttribute: true) else { return false }
        var position = 0
        for byte in decoded {
            guard position < value.count, unsafe value[position] == byte else { return false }
            position += 1
            guard byte == UInt8(ascii: "&") else { continue }
            if unsafe value[position...].starts(with: "#38;".utf8) { position += 4 }
        }
        return position == value.count
    }
}
