// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
package import PlaybackGate

extension ByteWriter {
    /// Writes a trace ID as 32 hexadecimal digits.
    package mutating func write(_ trace: TraceID) {
        write(hexadecimal: trace.high)
        write(hexadecimal: trace.low)
    }
}
