// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import PlaybackGate

extension ByteWriter {
    /// Writes a trace ID as 32 hexadecimal digits.
    mutating func write(_ trace: TraceID) {
        write(hexadecimal: trace.high)
        write(hexadecimal: trace.low)
    }
}
