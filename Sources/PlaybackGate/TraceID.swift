// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What connects a request with its answer and its log line: 128 bits, written as 32 hexadecimal digits.
///
/// Source: W3C Trace Context, §3.2.2.3.
public struct TraceID: Hashable, Sendable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// Makes an id from its halves.
    public init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The id of a request that nobody traces: all zeros.
    public static let none = TraceID(0, 0)
}

extension TraceID: CustomStringConvertible {
    public var description: String { Self.digits(high) + Self.digits(low) }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
