// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

// What identifiers and XML need of text: comparison by bytes, legal characters, escaping.

extension String {
    /// Whether both strings are the same bytes.
    ///
    /// Not `==`, which holds for different spellings of one character too: an identifier is what was written.
    package func hasSameBytes(as other: String) -> Bool {
        // Strings of Swift are contiguous, so the closures run; `elementsEqual` takes fifty times as long.
        unsafe utf8.withContiguousStorageIfAvailable { left in
            unsafe other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count else { return false }
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
    }

    /// This text in one printable line of at most `limit` characters, for errors and logs.
    package func printable(limit: Int) -> String {
        var line = ""
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else { return line + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: line.append(" ")
            default: line.unicodeScalars.append(scalar)
            }
            count += 1
        }
        while line.last == " " { line.removeLast() }
        return line
    }

    /// Whether every character may stand in an XML 1.0 document (<https://www.w3.org/TR/xml/#charsets>).
    package var isLegalXML: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
            default: false
            }
        }
    }
}

extension UInt8 {
    /// Whether this byte is white space of XML: space, tab, line feed, carriage return.
    @inlinable
    package var isXMLSpace: Bool { self == 0x20 || self == 0x9 || self == 0xA || self == 0xD }
}

extension BidirectionalCollection where Element == UInt8 {
    /// These bytes without white space at either end.
    package func trimmingXMLSpace() -> SubSequence {
        let tail = drop(while: \.isXMLSpace)
        guard let last = tail.lastIndex(where: { !$0.isXMLSpace }) else { return self[startIndex..<startIndex] }
        return tail[...last]
    }
}

extension [UInt8] {
    /// Whether both are the same bytes. `==` compares them one by one, in ten times the time.
    func hasSameBytes(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Appends `text` as character data. A carriage return is written as a reference, or it would be read as a line feed.
    package mutating func appendXMLText(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): append(contentsOf: "&gt;".utf8)
            case 0xD: append(contentsOf: "&#13;".utf8)
            default: append(byte)
            }
        }
    }

    /// Appends `text` as the value of an attribute between double quotes.
    package mutating func appendXMLAttributeValue(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): append(contentsOf: "&quot;".utf8)
            case 0x9: append(contentsOf: "&#9;".utf8)
            case 0xA: append(contentsOf: "&#10;".utf8)
            default: appendXMLText(CollectionOfOne(byte))
            }
        }
    }
}
