// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOHTTP1

/// The header fields of a request, in its order: ranges of one text, so that no field is copied.
package struct HTTPFields: Sendable {
    /// The ranges of a field's name and value in the text, in bytes.
    struct FieldRanges {
        let name: Range<UInt32>
        let value: Range<UInt32>

        init(name: Range<Int>, value: Range<Int>) {
            self.name = UInt32(name.lowerBound)..<UInt32(name.upperBound)
            self.value = UInt32(value.lowerBound)..<UInt32(value.upperBound)
        }
    }

    private let text: String
    private let ranges: [FieldRanges]
    /// True if the text is a plain head: its bytes suffice to separate the fields.
    private let isHead: Bool

    /// Creates the fields at the given ranges of a text. Traps later if a range is outside of it.
    ///
    /// - Parameter isHead: True if the text is a plain head: its bytes suffice to separate the fields.
    init(_ text: String, locations ranges: [FieldRanges], isHead: Bool = true) {
        self.text = text
        self.ranges = ranges
        self.isHead = isHead
    }

    /// The whole head; `nil` if the fields are not ranges of a head.
    var head: String? { isHead ? text : nil }

    /// Copies the fields of a head that NIO has parsed.
    package init(_ headers: HTTPHeaders) {
        var (text, ranges): (String, [FieldRanges]) = ("", [])
        text.reserveCapacity(headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        ranges.reserveCapacity(headers.count)
        for (name, value) in headers {
            let start = text.utf8.count
            text += name
            let end = text.utf8.count
            text += value
            ranges.append(FieldRanges(name: start..<end, value: end..<text.utf8.count))
        }
        self.text = text
        self.ranges = ranges
        isHead = false
    }

    /// The numbers of the fields.
    package var indices: Range<Int> { ranges.indices }

    /// Returns true if the field at `index` has a name, which is in lower case, ignoring the case of ASCII letters.
    package func isField(_ index: Int, named name: StaticString) -> Bool {
        let range = ranges[index].name
        // Most names differ in their lengths.
        return range.count == name.utf8CodeUnitCount && text.utf8.span.extracting(range.bounds).isSameField(name)
    }

    /// Returns true if the field at `index` has a name, ignoring the case of ASCII letters.
    package func isField(_ index: Int, as name: String) -> Bool {
        let range = ranges[index].name
        guard range.count == name.utf8.count else { return false }
        let (bytes, wanted) = (text.utf8.span.extracting(range.bounds), name.utf8.span)
        return wanted.indices.allSatisfy { bytes[$0].lowercasedASCII == wanted[$0].lowercasedASCII }
    }

    /// The length of the name of the field at `index`, in bytes.
    func nameLength(_ index: Int) -> Int { ranges[index].name.count }

    /// Calls `body` with the name of the field at `index`.
    func withName(at index: Int, body: (Span<UInt8>) -> Void) {
        body(text.utf8.span.extracting(ranges[index].name.bounds))
    }

    /// Returns the name of the field at `index`.
    package func name(_ index: Int) -> Substring { slice(ranges[index].name.bounds) }

    /// The range of the value of the field at `index` in the head.
    package func valueRange(_ index: Int) -> Range<Int> { ranges[index].value.bounds }

    /// Returns the value of the field at `index`.
    package func value(_ index: Int) -> Substring { slice(ranges[index].value.bounds) }

    /// Returns the value of the first field with a name, which is in lower case; `nil` if there is none.
    package func first(_ name: StaticString) -> Substring? {
        indices.first { isField($0, named: name) }.map(value)
    }

    /// Returns some bytes of the text.
    func slice(_ range: Range<Int>) -> Substring {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        return text[start..<text.utf8.index(start, offsetBy: range.count)]
    }
}

extension Range<UInt32> {
    var bounds: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}

/// Ranges in the head of a request, in their order.
package struct HeadGaps {
    private var ranges: InlineArray<4, Range<Int>> = [0..<0, 0..<0, 0..<0, 0..<0]
    /// The number of gaps.
    private(set) var count = 0

    package init() {}

    /// Adds a gap. Returns false if there is no room for it, or if it begins in another one.
    package mutating func add(_ range: Range<Int>) -> Bool {
        guard count < ranges.count else { return false }
        var index = count
        while index > 0, ranges[index - 1].lowerBound > range.lowerBound {
            ranges[index] = ranges[index - 1]
            index -= 1
        }
        ranges[index] = range
        count += 1
        return (index == 0 || ranges[index - 1].upperBound <= range.lowerBound)
            && (index == count - 1 || range.upperBound <= ranges[index + 1].lowerBound)
    }

    /// The range of a gap.
    subscript(index: Int) -> Range<Int> { ranges[index] }
}

extension HTTPFields {
    /// The longest head that ``withHead(without:_:)`` passes, in bytes.
    package static let longestHead = 4096

    /// Passes the bytes of a plain head, from its request line to its empty line, without those of some gaps.
    ///
    /// - Parameters:
    ///   - gaps: The ranges of bytes that are left out.
    ///   - body: Gets the other bytes, in one span. It is not called if the head was not plain, or is too long.
    package func withHead(without gaps: HeadGaps, _ body: (Span<UInt8>) -> Void) {
        guard let text = head, text.utf8.count <= Self.longestHead else { return }
        let head = text.utf8.span
        unsafe withUnsafeTemporaryAllocation(byteCount: head.count, alignment: 8) { copy in
            unsafe head.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress, let to = copy.baseAddress else { return }
                var (start, count) = (0, 0)
                for index in 0...gaps.count {
                    let end = index < gaps.count ? gaps[index].lowerBound : bytes.count
                    precondition(start <= end && end <= bytes.count)
                    unsafe (to + count).copyMemory(from: from + start, byteCount: end - start)
                    count += end - start
                    if index < gaps.count { start = gaps[index].upperBound }
                }
                unsafe body(Span(_unsafeStart: to.assumingMemoryBound(to: UInt8.self), count: count))
            }
        }
    }
}
