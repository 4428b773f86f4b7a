// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A strict pull reader of one CBOR item in untrusted bytes, without allocation and without copies.
///
/// Call ``next()`` until the item is read, or the typed `read…` functions, which refuse items of another type; then
/// ``finish()``. The reader counts open arrays and maps, so it finds equal keys in a map, however it is walked:
///
/// ```swift
/// var reader = CBORReader(bytes)
/// for _ in 0..<(try reader.readMap()) {
///     switch try reader.next() {
///     case .unsigned(4): expiry = try reader.readInteger()
///     case .unsigned(7): identity = try reader.readBytes()  // A range of `bytes`.
///     default: try reader.skip()
///     }
/// }
/// try reader.finish()
/// ```
///
/// Refused: indefinite lengths, integers and lengths that are not in the shortest form, keys other than integers and short
/// texts, equal keys, text that is not UTF-8, NaN, infinities, negative zero, other simple values than false, true and
/// null, and what exceeds the limits. A length is compared with the bytes that are left before anything else.
///
/// Source: RFC 8949 §3 and §4.2.1; the limits are those for CTA-5007 tokens.
package struct CBORReader: ~Copyable, ~Escapable {
    /// The bytes that the ranges of strings are for.
    package let bytes: Span<UInt8>
    /// The position of the next item.
    package private(set) var position = 0
    /// The number of arrays and maps around the next item.
    package private(set) var depth = 0
    /// True if a float was read that fits in fewer bits. Tokens may have such, and ought not to.
    package private(set) var hasLongFloat = false

    private let limits: CBORLimits
    private var itemsLeft: Int
    /// The first fault, after which nothing more is read.
    private var fault: CBORFault?
    private var isStarted = false
    private var isTagged = false
    private var levels: [16 of Level] = .init(repeating: Level())

    static let maximumDepth = 16

    /// An open array or map.
    private struct Level {
        /// The number of items that are still to be read, keys and values of a map each counted.
        var left = 0
        var isMap = false
        /// The position of the first key.
        var start = 0
        /// The encoded key that is greatest in bytewise order so far.
        var greatestKey = 0..<0
    }

    /// Creates a reader of the item at the start of `bytes`.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, limits: CBORLimits = .token) {
        self.bytes = bytes
        self.limits = limits
        itemsLeft = limits.items
    }

    // MARK: Items

    /// Reads the next item: a whole number, string or simple value, or the head of an array, map or tag.
    ///
    /// A reader that has thrown a fault throws it again. Bytes after a malformed item are no item, and the search for
    /// equal keys requires well-formed items before.
    package mutating func next() throws(CBORFault) -> CBORHead {
        do throws(CBORFault) { return try readNext() } catch {
            (fault, itemsLeft) = (error, 0)
            throw error
        }
    }

    @inline(__always)
    private mutating func readNext() throws(CBORFault) -> CBORHead {
        let start = position
        let isKey = try beginItem()
        let head = try CBORScan.head(in: bytes, at: &position, allowsLongTags: limits.allowsLongTags)
        guard head.byteCount <= limits.stringLength else { throw .stringTooLong }
        if isKey { try checkKey(head, at: start) }
        return try item(head)
    }

    /// Reads the next item with everything in it. Returns its range.
    @discardableResult
    package mutating func skip() throws(CBORFault) -> Range<Int> {
        let start = position
        try skip(contentsOf: try next())
        return start..<position
    }

    /// Reads all that belongs to `head`, which ``next()`` returned last: nothing for a number, string or simple value.
    package mutating func skip(contentsOf head: CBORHead) throws(CBORFault) {
        var head = head
        while case .tag = head { head = try next() }
        switch head {
        case .array(let count) where count > 0: try skip(toDepth: depth - 1)
        case .map(let count) where count > 0: try skip(toDepth: depth - 1)
        default: return
        }
    }

    private mutating func skip(toDepth wanted: Int) throws(CBORFault) {
        while depth > wanted { _ = try next() }
    }

    /// Checks that exactly one item was read, and that nothing follows it.
    package func finish() throws(CBORFault) {
        guard isStarted, depth == 0, !isTagged else { throw .truncated }
        guard position == bytes.count else { throw .trailingBytes }
    }

    // MARK: Account

    /// Counts an item. Returns true if it is the key of an entry.
    private mutating func beginItem() throws(CBORFault) -> Bool {
        guard itemsLeft > 0 else { throw fault ?? .tooManyItems }
        itemsLeft -= 1
        guard depth > 0 else {
            if isStarted, !isTagged { throw .trailingBytes }
            isStarted = true
            return false
        }
        return levels[depth - 1].isMap && levels[depth - 1].left & 1 == 0 && !isTagged
    }

    private mutating func checkKey(_ head: CBORScan.Head, at start: Int) throws(CBORFault) {
        var end = position
        switch head.kind {
        case .unsigned, .negative: break
        case .text:
            guard head.byteCount <= limits.keyLength else { throw .invalidKey }
            end += head.byteCount
        default: throw .invalidKey
        }
        let key = start..<end
        let (greatest, first) = (levels[depth - 1].greatestKey, levels[depth - 1].start)
        switch greatest.isEmpty ? .less : CBORScan.order(in: bytes, left: greatest, right: key) {
        case .less: levels[depth - 1].greatestKey = key
        case .equal: throw .duplicateKey
        // Not in order, which is allowed: compared with each key before it.
        case .greater: guard !CBORScan.hasKey(in: bytes, at: key, from: first) else { throw .duplicateKey }
        }
    }

    private mutating func item(_ head: CBORScan.Head) throws(CBORFault) -> CBORHead {
        isTagged = false
        switch head.kind {
        case .unsigned: return endItem(.unsigned(head.value))
        case .negative: return endItem(.negative(head.value))
        case .bytes, .text:
            let range = position..<(position + head.byteCount)
            position = range.upperBound
            guard head.kind == .text else { return endItem(.bytes(range)) }
            guard CBORScan.isUTF8(bytes.extracting(range)) else { throw .invalidUTF8 }
            return endItem(.text(range))
        case .array, .map: return try open(head)
        case .tag:
            isTagged = true
            return .tag(head.value)
        case .other: return endItem(try simple(head))
        }
    }

    private mutating func open(_ head: CBORScan.Head) throws(CBORFault) -> CBORHead {
        let isMap = head.kind == .map
        // Each item has at least one byte.
        guard let count = Int(exactly: head.value), count <= (bytes.count - position) / (isMap ? 2 : 1) else {
            throw .truncated
        }
        let items = isMap ? 2 * count : count
        guard items <= itemsLeft else { throw .tooManyItems }
        guard depth < limits.depth else { throw .tooDeep }
        let result: CBORHead = isMap ? .map(count) : .array(count)
        guard count > 0 else { return endItem(result) }
        levels[depth] = Level(left: items, isMap: isMap, start: position)
        depth += 1
        return result
    }

    /// Subtracts a read item from the count of its container, and closes all containers that end with it.
    private mutating func endItem(_ head: CBORHead) -> CBORHead {
        while depth > 0 {
            levels[depth - 1].left -= 1
            if levels[depth - 1].left > 0 { break }
            depth -= 1
        }
        return head
    }

    private mutating func simple(_ head: CBORScan.Head) throws(CBORFault) -> CBORHead {
        let number: Double
        switch (head.additional, head.value) {
        case (20, _): return .bool(false)
        case (21, _): return .bool(true)
        case (22, _): return .null
        case (25, let bits): number = Double(halfBits: UInt16(truncatingIfNeeded: bits))
        case (26, let bits): number = Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        case (27, let bits): number = Double(bitPattern: bits)
        default: throw .unsupportedSimpleValue
        }
        guard number.isFinite, !(number.isZero && number.sign == .minus) else { throw .invalidFloat }
        if number.shortestFloatSize < 1 << (head.additional - 24) { hasLongFloat = true }
        return .float(number)
    }
}

// Items of one type. Each function throws `unexpectedType` for an item of another.

extension CBORReader {
    /// Reads an integer of 64 bits.
    package mutating func readInteger() throws(CBORFault) -> Int64 {
        guard let integer = try next().integer else { throw .unexpectedType }
        return integer
    }

    /// Reads an unsigned integer.
    package mutating func readUnsigned() throws(CBORFault) -> UInt64 {
        guard case .unsigned(let value) = try next() else { throw .unexpectedType }
        return value
    }

    /// Reads an integer or a float, such as a NumericDate.
    package mutating func readNumber() throws(CBORFault) -> Double {
        switch try next() {
        case .unsigned(let value): return Double(value)
        case .negative(let value): return -1 - Double(value)
        case .float(let value): return value
        default: throw .unexpectedType
        }
    }

    /// Reads a byte string. Returns its range in ``bytes``.
    package mutating func readBytes() throws(CBORFault) -> Range<Int> {
        guard case .bytes(let range) = try next() else { throw .unexpectedType }
        return range
    }

    /// Reads a text string. Returns its range in ``bytes``.
    package mutating func readText() throws(CBORFault) -> Range<Int> {
        guard case .text(let range) = try next() else { throw .unexpectedType }
        return range
    }

    /// Reads the head of an array. Returns the number of its elements, which follow.
    package mutating func readArray() throws(CBORFault) -> Int {
        guard case .array(let count) = try next() else { throw .unexpectedType }
        return count
    }

    /// Reads the head of a map. Returns the number of its entries, which follow.
    package mutating func readMap() throws(CBORFault) -> Int {
        guard case .map(let count) = try next() else { throw .unexpectedType }
        return count
    }

    /// Returns a copy of the text at a range that this reader returned for a text string.
    package func string(_ range: Range<Int>) -> String {
        String(decoding: self[range], as: UTF8.self)
    }

    /// Returns a copy of the bytes at a range that this reader returned.
    package subscript(range: Range<Int>) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(copying: bytes.extracting(range))
        return copy
    }

    /// True if the string at a range that this reader returned has the bytes of `literal`.
    package func matches(_ range: Range<Int>, literal: StaticString) -> Bool {
        range.count == literal.utf8CodeUnitCount && bytes.starts(with: literal, at: range.lowerBound)
    }
}
