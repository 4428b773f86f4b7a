// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import EdgeTokens
internal import Encodings
package import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import NIOCore
internal import NIOHTTP1
internal import Platform
package import PlaybackGate
internal import Telemetry

/// An answer as it is written to edges that use HTTP: without a body, and always with the same fields.
extension EdgeAnswer: HTTPAnswer {
    package var limit: Int {
        // The fixed parts of an answer have about 600 bytes; an escaped byte has three.
        let subject = decision.subject
        var texts = (subject.requestor?.utf8.count ?? 0) + (subject.resource?.text.utf8.count ?? 0)
        subject.token?.withMVPDID { texts += $0.count }
        var limit = 1024 + 3 * min(texts, 3 * ByteWriter.escapedLimit) + keeping.tokenHeaders.utf8.count
        if tokenSources != 0 { for source in sources { limit += source.labelSize + 2 } }
        if let grant { limit += grant.limit }
        return limit
    }

    package func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writeStart(into: &writer)
        writer.write(trace)
        writeEnd(into: &writer)
        closing.write(into: &writer)
    }

    /// Writes everything before the number of the trace.
    private func writeStart(into writer: inout ByteWriter) {
        switch status {
        case 200: writer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
        case 302: writer.write("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n")
        case 401: writer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: MediaToken\r\n")
        default: writer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n")
        }
        writeCaching(into: &writer)
        writeDecision(into: &writer)
        writer.write("\r\nX-Playgate-Trace: ")
    }

    /// Writes the part after the number of the trace, up to the closing fields.
    private func writeEnd(into writer: inout ByteWriter) {
        writer.write("\r\n")
        if let session { writeSession(session, into: &writer) }
        grant?.write(into: &writer)
    }

    private func writeCaching(into writer: inout ByteWriter) {
        guard keeping.seconds > 0, grant == nil else {
            return writer.write("Cache-Control: no-store\r\nX-Accel-Expires: 0\r\n")
        }
        writer.write("Cache-Control: max-age=")
        writer.write(decimal: keeping.seconds)
        // A stale 200 must not be served while the gate is unreachable (RFC 9111 §5.2.2.2).
        writer.write(", must-revalidate\r\nX-Accel-Expires: ")
        writer.write(decimal: keeping.seconds)
        writer.write("\r\n")
        let hasVarying = keeping.varying.utf8CodeUnitCount > 0
        guard hasVarying || !keeping.tokenHeaders.isEmpty else { return }
        writer.write("Vary: ")
        writer.write(keeping.varying)
        if hasVarying, !keeping.tokenHeaders.isEmpty { writer.write(", ") }
        writer.write(keeping.tokenHeaders.utf8.span)
        writer.write("\r\n")
    }

    private func writeSession(_ session: SessionID, into writer: inout ByteWriter) {
        writer.write("X-Playgate-Session: ")
        writer.write(session)
        writer.write("\r\n")
    }

    private func writeDecision(into writer: inout ByteWriter) {
        let subject = decision.subject
        writer.write("X-Playgate-Decision: ")
        writer.write(decision.name.utf8.span)
        writer.write("\r\nX-Playgate-Code: ")
        writer.write(decision.codeName.utf8.span)
        writer.write("\r\nX-Playgate-Status: ")
        writer.write(decimal: statusOfCode)
        writer.write("\r\nX-Playgate-Requestor: ")
        if let requestor = subject.requestor { writer.write(escaping: requestor.utf8.span) }
        writer.write("\r\nX-Playgate-MVPD: ")
        subject.token?.withMVPDID { writer.write(escaping: $0) }
        writer.write("\r\nX-Playgate-Resource: ")
        if let resource = subject.resource { writer.write(escaping: resource.text.utf8.span) }
        writer.write("\r\nX-Playgate-Expires: ")
        if let expires = subject.token?.expires { writer.write(decimal: expires.millisecondsSince1970) }
        writer.write("\r\nX-Playgate-Token: ")
        writeTokenSources(into: &writer)
    }

    /// The status that the API would have for the decision.
    var statusOfCode: Int64 { decision.isAllowed ? 200 : Int64(decision.code?.status.code ?? 403) }

    /// Writes the names of the token's sources.
    func writeTokenSources(into writer: inout ByteWriter) {
        var isFirst = true
        forEachTokenSource { source in
            if !isFirst { writer.write(", ") }
            isFirst = false
            source.writeLabel(into: &writer)
        }
    }
}

extension EdgeAnswer {
    /// The head of the answer as it is written, except for the number of the trace and the closing fields.
    package var written: EdgeAnswerCache.Written {
        let (start, end) = (bytes { $0.writeStart(into: &$1) }, bytes { $0.writeEnd(into: &$1) })
        return EdgeAnswerCache.Written(start: start, hasTrace: true, end: end)
    }

    /// Returns a part of the answer.
    private func bytes(_ write: (Self, inout ByteWriter) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.write(atMost: limit) { write(self, &$0) }
        return Array(buffer.readableBytesView)
    }
}

/// A repeated answer, with the number of another trace.
package struct RepeatedEdgeAnswer: HTTPAnswer {
    package let answer: EdgeAnswerCache.Answer
    package let trace: TraceID

    /// The answer itself, with its new trace.
    package var whole: EdgeAnswer {
        var whole = answer.answer
        whole.trace = trace
        return whole
    }

    package var limit: Int { answer.written.size }

    package func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        write(into: &writer)
        closing.write(into: &writer)
    }

    /// Writes the actions for HAProxy's offload; for other edges, the head without the closing fields.
    package func write(into writer: inout ByteWriter) {
        let written = answer.written
        writer.write(written.start.span)
        if written.hasTrace { writer.write(trace) }
        writer.write(written.end.span)
    }
}

extension TokenSource {
    /// The most bytes of the source's label.
    var labelSize: Int { 8 + label.name.utf8.count }

    /// Writes the source's label, such as `query:token`.
    func writeLabel(into writer: inout ByteWriter) {
        let (kind, name) = label
        writer.write(kind)
        writer.write(name.utf8.span)
    }
}

extension ByteWriter {
    /// The longest text, in bytes, that is written into a header field.
    package static var escapedLimit: Int { 1024 }

    /// Writes the number of a session as 32 digits.
    package mutating func write(_ session: SessionID) {
        write(hexadecimal: UInt64(truncatingIfNeeded: session.number >> 64))
        write(hexadecimal: UInt64(truncatingIfNeeded: session.number))
    }

    /// Writes a text into a header field. Letters, digits and harmless punctuation stay as they are; other bytes are
    /// percent-encoded. A text longer than `escapedLimit` is omitted, because a truncated value would be a different one.
    package mutating func write(escaping text: Span<UInt8>) {
        guard text.count <= Self.escapedLimit else { return }
        // Most texts need no escaping and are copied at once.
        var start = 0
        for index in text.indices where !text[index].isHarmless {
            write(text.extracting(start..<index))
            write(UInt8(ascii: "%"))
            write((text[index] >> 4).hexadecimal)
            write((text[index] & 0xF).hexadecimal)
            start = index + 1
        }
        write(text.extracting(start...))
    }
}

extension UInt8 {
    fileprivate var isHarmless: Bool {
        switch self {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "@"), UInt8(ascii: "+"), UInt8(ascii: "="): true
        default: isUnreserved
        }
    }

    fileprivate var hexadecimal: UInt8 { self < 10 ? self + UInt8(ascii: "0") : self - 10 + UInt8(ascii: "A") }
}

extension DeliveredGrant {
    /// The most bytes that ``write(into:)`` writes.
    package var limit: Int {
        224 + 3 * token.utf8.count + 2 * (cookie?.utf8.count ?? 0) + (location?.utf8.count ?? 0)
    }

    /// Writes the header fields that the edge uses. Some see only the first `Set-Cookie`, or none.
    package func write(into writer: inout ByteWriter) {
        if let cookie {
            if fields.contains(.cookie) { write(name: "Set-Cookie: ", value: cookie, into: &writer) }
            if fields.contains(.namedCookie) { write(name: "X-Playgate-Set-Cookie: ", value: cookie, into: &writer) }
        }
        if let location { write(name: "Location: ", value: location, into: &writer) }
        if fields.contains(.token) { write(name: "X-Playgate-Grant: ", value: token, into: &writer) }
        if headers.contains(.standard), fields.contains(.standardHeader) {
            write(name: "CTA-Common-Access-Token: ", value: token, into: &writer)
        }
        if headers.contains(.older), fields.contains(.olderHeader) {
            write(name: "Common-Access-Token: ", value: token, into: &writer)
        }
    }

    private func write(name: StaticString, value: String, into writer: inout ByteWriter) {
        writer.write(name)
        writer.write(value.utf8.span)
        writer.write("\r\n")
    }
}

extension EdgeAnswer {
    /// The header fields of the answer about the check, in their order. An edge over HTTP receives them too.
    package var fields: [(name: Substring, value: Substring)] {
        var buffer = ByteBuffer()
        let closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)
        buffer.write(atMost: limit + HTTPCommonFields.limit) { writer in
            write(into: &writer, isHead: false, closing: closing)
        }
        return String(buffer: buffer).utf8.split(separator: UInt8(ascii: "\n")).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = Substring(line[..<colon])
            guard name != "Content-Length", name != "Date", name != "X-Accel-Expires" else { return nil }
            return (name, Substring(line[line.index(after: colon)...].dropFirst().dropLast()))
        }
    }
}
