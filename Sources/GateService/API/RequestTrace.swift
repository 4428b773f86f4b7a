// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import PlaybackGate

extension TraceID {
    /// Takes the trace ID of `traceparent`; creates a new one if the field is missing or malformed.
    init(traceparent: Substring?) { self = traceparent.map { TraceID(traceparent: $0) } ?? .new() }
}

extension ByteWriter {
    /// Writes a trace ID as 32 hexadecimal digits.
    mutating func write(_ trace: TraceID) {
        write(hexadecimal: trace.high)
        write(hexadecimal: trace.low)
    }
}
