// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An identifier that connects a request with its response and its log line: 128 bits, written as 32 hexadecimal digits.
///
/// Source: W3C Trace Context, §3.2.2.3.
public struct TraceID: Hashable, Sendable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// Creates an id from its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The id of an untraced request: all zeros.
    public static let none = TraceID(high: 0, low: 0)
}

extension TraceID: CustomStringConvertible {
    public var description: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(32)
        for index in 0..<32 { digits.append(digit(index)) }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The 32 hexadecimal digits, in ASCII, without an allocation.
    package var digits: InlineArray<32, UInt8> { InlineArray { digit($0) } }

    /// Returns one of the 32 hexadecimal digits, in ASCII.
    ///
    /// - Parameter index: The index of the digit, from 0 (the highest) to 31.
    package func digit(_ index: Int) -> UInt8 {
        (index < 16 ? high : low).hexadecimalDigit(index % 16)
    }
}
