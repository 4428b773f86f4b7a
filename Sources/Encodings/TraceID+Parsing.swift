// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

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
