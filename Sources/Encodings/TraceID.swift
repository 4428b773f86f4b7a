// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

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

extension TraceID {
    /// Reads the trace ID of `traceparent`; creates a new one if the text is empty or malformed.
    package init(traceparent: Span<UInt8>) { self = Self.parse(traceparent)?.0 ?? .new() }

    /// Creates a trace ID that no other request has.
    ///
    /// Trace IDs must differ but may be guessable: they combine one random number per process with a counter that is spread
    /// over all bits. The system's generator would need a system call for each ID.
    package static func new() -> TraceID {
        let count = Made.count.add(1, ordering: .relaxed).newValue
        return TraceID(high: Made.process, low: count &* 0x9E37_79B9_7F4A_7C15 ^ Made.process)
    }

    private enum Made {
        static let process = UInt64.random(in: 1 ... .max)
        static let count = Atomic<UInt64>(0)
    }

    /// Parses `VERSION-TRACE-PARENT-FLAGS`, of 2, 32, 16 and 2 lower-case hexadecimal digits. Later versions may append
    /// more.
    ///
    /// Source: W3C Trace Context, §3.2.
    package static func parse(_ text: Span<UInt8>) -> (TraceID, TraceParent)? {
        let dash = UInt8(ascii: "-")
        guard text.count >= 55, text[2] == dash, text[35] == dash, text[52] == dash,
            let version = text.lowercaseHexadecimal(0..<2), version != 0xFF,
            text.count == 55 || (version != 0 && text[55] == dash),
            let high = text.lowercaseHexadecimal(3..<19), let low = text.lowercaseHexadecimal(19..<35), high | low != 0,
            let parent = text.lowercaseHexadecimal(36..<52), parent != 0,
            let flags = text.lowercaseHexadecimal(53..<55)
        else { return nil }
        return (TraceID(high: high, low: low), TraceParent(span: parent, isSampled: flags & 1 == 1))
    }
}
