// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

// Searching and comparing in bulk. Every position is checked against the span before a pointer is used.

extension Span<UInt8> {
    /// Whether `literal` stands at `position`.
    @inline(__always)
    func starts(with literal: StaticString, at position: Int) -> Bool {
        starts(with: literal, length: literal.utf8CodeUnitCount, at: position)
    }

    /// Whether the first `length` bytes of `literal`, or all if it has fewer, stand at `position`.
    @inline(__always)
    func starts(with literal: StaticString, length: Int, at position: Int) -> Bool {
        let length = Swift.min(length, literal.utf8CodeUnitCount)
        guard position >= 0, length <= count, position <= count - length else { return false }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return length == 0 }
            return unsafe memcmp(base + position, literal.utf8Start, length) == 0
        }
    }

    /// Whether the bytes of `range` stand at `position` too.
    func repeats(_ range: Range<Int>, at position: Int) -> Bool {
        guard position >= 0, range.count <= count, position <= count - range.count,
            range.lowerBound >= 0, range.upperBound <= count
        else { return false }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return range.isEmpty }
            return unsafe memcmp(base + position, base + range.lowerBound, range.count) == 0
        }
    }

    /// The first place of `byte` from `start` on.
    @inline(__always)
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

    /// Whether there is nothing but white space of XML.
    var isXMLSpace: Bool {
        for index in indices where !self[index].isXMLSpace { return false }
        return true
    }

    /// Whether both are the same bytes.
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return unsafe memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Which kinds of bytes there are, found sixteen at a time.
    var kinds: ByteKinds {
        unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return ByteKinds() }
            var kinds = ByteKinds()
            var position = 0
            while position &+ 16 <= bytes.count {
                kinds.add(unsafe (base + position).loadUnaligned(as: SIMD2<UInt64>.self))
                position &+= 16
            }
            if bytes.count >= 16 {
                // The last sixteen, some of them once more: quicker than one by one.
                kinds.add(unsafe (base + (bytes.count - 16)).loadUnaligned(as: SIMD2<UInt64>.self))
            } else {
                var few = SIMD16<UInt8>(repeating: 0x20)
                for index in indices { few[index] = self[index] }
                kinds.add(unsafe unsafeBitCast(few, to: SIMD2<UInt64>.self))
            }
            kinds.hasSpecials =
                firstIndex(of: UInt8(ascii: "&"), from: 0) != nil
                || firstIndex(of: UInt8(ascii: "]"), from: 0) != nil
            return kinds
        }
    }
}

extension [UInt8] {
    /// Appends a copy of `source` in one go.
    package mutating func append(copying source: Span<UInt8>) {
        unsafe source.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Copies `source` over the bytes from `position` on; there must be as many.
    @inline(__always)
    mutating func replace(from position: Int, with source: Span<UInt8>) {
        precondition(position >= 0 && source.count <= count - position)
        unsafe withUnsafeMutableBytes { target in
            unsafe source.withUnsafeBytes { source in
                guard let start = target.baseAddress, let from = source.baseAddress else { return }
                unsafe (start + position).copyMemory(from: from, byteCount: source.count)
            }
        }
    }
}

/// The kinds of bytes in a text that make reading it as XML more than looking for the next tag.
struct ByteKinds {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    private var union = SIMD2<UInt64>()
    /// The highest bit of a byte is set where a byte below 0x20 was.
    private var low = SIMD2<UInt64>()
    /// Whether there is an `&` or a `]`.
    fileprivate(set) var hasSpecials = false

    /// Whether there is a byte that is not ASCII.
    var hasNonASCII: Bool { Self.hasHighBit(union) }
    /// Whether there is a control character, white space among them.
    var hasControls: Bool { Self.hasHighBit(low) }

    /// Subtracting 0x20 sets the highest bit of a byte just where the byte is smaller, or where its neighbour is.
    @inline(__always)
    fileprivate mutating func add(_ bytes: SIMD2<UInt64>) {
        union |= bytes
        low |= (bytes &- SIMD2(repeating: Self.ones &* 0x20)) & ~bytes
    }

    private static func hasHighBit(_ bytes: SIMD2<UInt64>) -> Bool { (bytes[0] | bytes[1]) & (ones &* 0x80) != 0 }
}
