// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

// Search and comparison in bulk. Every position is checked against the span before a pointer is used.

extension Span<UInt8> {
    /// True if the bytes at `position` are `literal`.
    @inlinable @inline(__always)
    package func starts(with literal: StaticString, at position: Int) -> Bool {
        starts(with: literal, length: literal.utf8CodeUnitCount, at: position)
    }

    /// True if the bytes at `position` are the first `length` bytes of `literal`, or all if it has fewer.
    @inlinable @inline(__always)
    package func starts(with literal: StaticString, length: Int, at position: Int) -> Bool {
        let length = Swift.min(length, literal.utf8CodeUnitCount)
        guard position >= 0, length <= count, position <= count - length else { return false }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return length == 0 }
            return unsafe memcmp(base + position, literal.utf8Start, length) == 0
        }
    }

    /// True if the bytes at `position` equal those of `range`.
    package func repeats(_ range: Range<Int>, at position: Int) -> Bool {
        guard position >= 0, range.count <= count, position <= count - range.count,
            range.lowerBound >= 0, range.upperBound <= count
        else { return false }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return range.isEmpty }
            return unsafe memcmp(base + position, base + range.lowerBound, range.count) == 0
        }
    }

    /// Returns the first index of `byte` from `start` on.
    @inlinable @inline(__always)
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start >= 0, start < count else { return nil }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = unsafe memchr(base + start, Int32(byte), count - start)
            else {
                return nil
            }
            return unsafe UnsafeRawPointer(found) - base
        }
    }

    /// The eight bytes at `position` as a number, the first one highest; `nil` if there are fewer.
    @inlinable @inline(__always)
    package func word(at position: Int) -> UInt64? {
        guard position >= 0, position <= count - 8 else { return nil }
        return unsafe withUnsafeBytes { bytes in
            UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// True if there is a control character below the space (U+0000 to U+001F).
    package var hasControls: Bool {
        // A minimum without bounds checks is found by vector instructions.
        unsafe withUnsafeBufferPointer { bytes in
            var least = UInt8.max
            for index in bytes.indices { least = unsafe Swift.min(least, bytes[index]) }
            return least < 0x20
        }
    }

    /// Returns the first index from `start` on of a byte below `least` or above 0x7E; the number of bytes if there is none.
    ///
    /// - Parameter least: At most 0x7E, such as 0x21 to find the end of visible ASCII.
    package func firstIndex(outside least: UInt8, from start: Int) -> Int {
        var offset = Swift.max(0, start)
        unsafe withUnsafeBytes { bytes in
            let least = Swift.min(least, 0x7E)
            while offset <= bytes.count - 8 {
                let word = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                let low = word & ~.highBits
                let outside = (word | low.reaching(0x7F) | ~low.reaching(least)) & .highBits
                if outside != 0 {
                    offset += outside.trailingZeroBitCount / 8
                    return
                }
                offset += 8
            }
        }
        while offset < count, least...0x7E ~= self[offset] { offset += 1 }
        return Swift.min(offset, count)
    }

    /// True if both spans have the same bytes.
    @inlinable
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }
}

extension Span<UInt8> {
    /// True if these bytes come before those of `other` in the order of their values; a beginning comes before the whole.
    package func precedes(_ other: Span<UInt8>) -> Bool {
        let order = unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return 0 as Int32 }
                return unsafe memcmp(first, second, Swift.min(left.count, right.count))
            }
        }
        return order < 0 || (order == 0 && count < other.count)
    }
}

extension String {
    /// Creates a text from bytes of UTF-8. Invalid bytes become U+FFFD.
    @inlinable
    package init(decoding bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Creates a text from bytes that were validated; empty if they are not UTF-8.
    package init(copying bytes: Span<UInt8>) {
        if let text = try? UTF8Span(validating: bytes) { self = String(copying: text) } else { self = "" }
    }
}

extension [UInt8] {
    /// Creates a copy of `source`.
    package init(copying source: Span<UInt8>) {
        self = []
        append(copying: source)
    }

    /// Returns true if both have the same bytes. `==` compares them one by one and is ten times as slow.
    @inlinable
    package func hasSameBytes(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Appends a copy of `source` in one operation.
    @inlinable
    package mutating func append(copying source: Span<UInt8>) {
        unsafe source.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends the bytes of `literal` in one operation.
    @inlinable
    package mutating func append(_ literal: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Appends the UTF-8 of `text` in one operation: `append(contentsOf: text.utf8)` is several times as slow.
    @inlinable
    package mutating func append(copying text: String) { append(copying: text.utf8Span.span) }

    /// Appends a number in decimal digits.
    package mutating func append(decimal number: Int64) {
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "-"))
        var (offset, rest) = (20, number.magnitude)
        repeat {
            offset -= 1
            digits[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        // The smallest number has 19 digits.
        if number < 0 { offset -= 1 }
        append(copying: digits.span.extracting(offset...))
    }

    /// Overwrites the bytes from `position` on with `source`. Traps if `source` does not fit.
    @inlinable @inline(__always)
    package mutating func replace(from position: Int, with source: Span<UInt8>) {
        precondition(position >= 0 && source.count <= count - position)
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                guard let start = target.baseAddress, let from = source.baseAddress else { return }
                unsafe (start + position).copyMemory(from: from, byteCount: source.count)
            }
        }
    }
}

extension Span<UInt8> {
    /// Returns the first index of `wanted`; `nil` if there is none, or if `wanted` is empty.
    ///
    /// The time is proportional to both lengths together for any content, because strangers choose both. This is the
    /// search by Knuth, Morris and Pratt. The search of the standard library adds a megabyte of regular expressions.
    package func firstPosition(of wanted: Span<UInt8>) -> Int? {
        guard !wanted.isEmpty, wanted.count <= count else { return nil }
        // For each byte, the length of the longest beginning of `wanted` that ends with it, apart from itself.
        var borders = [Int](repeating: 0, count: wanted.count)
        var matched = 0
        for index in 1..<wanted.count {
            while matched > 0, wanted[matched] != wanted[index] { matched = borders[matched - 1] }
            if wanted[matched] == wanted[index] { matched += 1 }
            borders[index] = matched
        }
        matched = 0
        for index in indices {
            while matched > 0, wanted[matched] != self[index] { matched = borders[matched - 1] }
            if wanted[matched] == self[index] { matched += 1 }
            if matched == wanted.count { return index + 1 - matched }
        }
        return nil
    }
}
