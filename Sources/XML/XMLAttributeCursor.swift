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

    init(_ first: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?, _ count: Int32) {
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

        func isIn(_ namespace: StaticString) -> Bool { unsafe xmlStrEqual(uri, namespace.utf8Start) != 0 }
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

/// A walk over the attributes of a start tag by its bytes. Declarations of namespaces are left out.
struct XMLAttributeCursor {
    /// The next byte.
    var place: Int
    /// The end of the tag, before `>` or `/>`.
    let end: Int

    /// Returns the next attribute; nil at the end, or if there is none where one should be.
    mutating func next(in document: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>)? {
        while true {
            skipSpace(document)
            let start = place
            while place < end, document[place] != UInt8(ascii: "="), !document[place].isXMLSpace { place += 1 }
            let name = start..<place
            skipSpace(document)
            guard !name.isEmpty, place < end, document[place] == UInt8(ascii: "=") else { return nil }
            place += 1
            skipSpace(document)
            guard place < end, document[place] == UInt8(ascii: "\"") || document[place] == UInt8(ascii: "'"),
                let close = document.firstIndex(of: document[place], from: place + 1), close < end
            else { return nil }
            let value = place + 1..<close
            place = close + 1
            let isDeclaration = document.starts(with: "xmlns", at: start)
                && (name.count == 5 || document[start + 5] == UInt8(ascii: ":"))
            if !isDeclaration { return (name, value) }
        }
    }

    /// Returns true if nothing but white space is left.
    mutating func isAtEnd(of document: Span<UInt8>) -> Bool {
        skipSpace(document)
        return place == end
    }

    private mutating func skipSpace(_ document: Span<UInt8>) {
        while place < end, document[place].isXMLSpace { place += 1 }
    }
}

extension Span<UInt8> {
    /// Returns the end of the name at `start` if it is that of libxml2, and nothing that would continue it follows.
    func endOfName(_ prefix: UnsafePointer<xmlChar>?, _ name: UnsafePointer<xmlChar>, from start: Int) -> Int? {
        var place = start
        if let prefix = unsafe prefix {
            guard let colon = unsafe end(of: prefix, from: start), colon < count, self[colon] == UInt8(ascii: ":") else {
                return nil
            }
            place = colon + 1
        }
        guard let end = unsafe end(of: name, from: place), end < count else { return nil }
        switch self[end] {
        case UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "/"), 0x20, 0x9, 0xA, 0xD: return end
        default: return nil
        }
    }

    /// Returns where `name`, which ends with a zero, ends if it is at `start`.
    private func end(of name: UnsafePointer<xmlChar>, from start: Int) -> Int? {
        var place = start
        var name = unsafe name
        while unsafe name.pointee != 0 {
            guard place < count, unsafe self[place] == name.pointee else { return nil }
            place += 1
            unsafe name += 1
        }
        return place
    }

    /// Returns true if the bytes of `range` are `value`, and nothing in them is escaped.
    func isLiteral(_ range: Range<Int>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard range.count == value.count else { return false }
        for offset in 0..<value.count {
            let byte = self[range.lowerBound + offset]
            guard unsafe byte == value[offset], byte != UInt8(ascii: "&") else { return false }
        }
        return true
    }

    /// Returns true if the bytes of `range`, as the value of an attribute, mean `value`, in which libxml2 writes every `&`
    /// as `&#38;`.
    func reads(_ range: Range<Int>, as value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let decoded = decodedXML(range, isAttribute: true) else { return false }
        var place = 0
        for byte in decoded {
            guard place < value.count, unsafe value[place] == byte else { return false }
            place += 1
            guard byte == UInt8(ascii: "&") else { continue }
            if unsafe value[place...].starts(with: "#38;".utf8) { place += 4 }
        }
        return place == value.count
    }
}
