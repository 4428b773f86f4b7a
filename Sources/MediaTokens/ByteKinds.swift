// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension Span<UInt8> {
    /// True if all bytes are XML white space, or if there are none.
    var isXMLSpace: Bool {
        for index in indices where !self[index].isXMLSpace { return false }
        return true
    }

    /// The kinds of bytes in the span, found 16 at a time.
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
                // The last 16 bytes, some of them again: faster than one by one.
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

/// The kinds of bytes that rule out the fast path of ``BodyScanner``.
struct ByteKinds {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    private var union = SIMD2<UInt64>()
    /// The highest bit of a byte is set if a byte below 0x20 occurred.
    private var low = SIMD2<UInt64>()
    /// True if there is an `&` or a `]`.
    fileprivate(set) var hasSpecials = false

    /// True if there is a byte that is not ASCII.
    var hasNonASCII: Bool { Self.hasHighBit(union) }
    /// True if there is a control character, including white space.
    var hasControls: Bool { Self.hasHighBit(low) }

    /// Adds 16 bytes. Subtracting 0x20 sets the highest bit of every byte below 0x20. A borrow may mark the next byte
    /// too, which does not change the overall result.
    @inline(__always)
    fileprivate mutating func add(_ bytes: SIMD2<UInt64>) {
        union |= bytes
        low |= (bytes &- SIMD2(repeating: Self.ones &* 0x20)) & ~bytes
    }

    private static func hasHighBit(_ bytes: SIMD2<UInt64>) -> Bool { (bytes[0] | bytes[1]) & (ones &* 0x80) != 0 }
}
