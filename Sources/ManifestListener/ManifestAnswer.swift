// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
package import HTTPServer
package import NIOCore
package import NIOHTTP1
package import PlaybackGate

/// An answer of the manifest listener that is no refusal: a manifest, a redirect, or the answer to a preflight.
///
/// Of the origin's answer, it has only the type. A manifest is for one viewer, so no cache stores it.
package struct ManifestAnswer: HTTPAnswer {
    package let status: HTTPResponseStatus
    package var fields: [(StaticString, String)]
    package let trace: TraceID
    /// The manifest; `nil` for an answer without a body, and for one to HEAD, whose length is not known.
    package let sharedBody: ByteBuffer?
    /// True if the answer is to HEAD and would have a body otherwise.
    var hasUnknownLength = false

    init(status: HTTPResponseStatus, fields: [(StaticString, String)], trace: TraceID, body: ByteBuffer? = nil) {
        self.status = status
        self.fields = fields
        self.trace = trace
        sharedBody = body
    }

    package var limit: Int {
        // 256 bytes hold the fixed text, the numbers and the trace ID.
        256 + status.reasonPhrase.utf8.count
            + fields.reduce(0) { $0 + $1.0.utf8CodeUnitCount + $1.1.utf8.count + 4 }
    }

    package func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writer.write("HTTP/1.1 ")
        writer.write(decimal: Int64(status.code))
        writer.write(UInt8(ascii: " "))
        writer.write(status.reasonPhrase.utf8.span)
        writer.write("\r\n")
        // RFC 9110 §8.6: no length with 204.
        if status != .noContent, !hasUnknownLength {
            writer.write("Content-Length: ")
            writer.write(decimal: Int64(sharedBody?.readableBytes ?? 0))
            writer.write("\r\n")
        }
        writer.write("Cache-Control: private, no-store\r\nX-Content-Type-Options: nosniff\r\nX-Playgate-Trace: ")
        writer.write(trace)
        writer.write("\r\n")
        for (name, value) in fields {
            writer.write(name)
            writer.write(": ")
            writer.write(value.utf8.span)
            writer.write("\r\n")
        }
        closing.write(into: &writer)
    }
}
