// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import MediaTokens
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// The answer to a check: 200, 401 or 403, no body, and always the same fields, so that none of a client's own survives
/// where an edge copies them.
struct EdgeAnswer: HTTPAnswer {
    let decision: Decision
    let trace: TraceID
    /// The sources that have the token, as bits, and all that there are.
    let shownIn: UInt16
    let sources: [TokenSource]
    let keeping: Keeping

    /// How long an answer may be kept, and by what.
    struct Keeping {
        /// In seconds; 0 is not at all.
        let seconds: Int64
        /// What of the check it depends on, beside its URL: headers of the dialect, and those with tokens.
        let varying: StaticString?
        let tokenHeaders: String

        static let none = Keeping(seconds: 0, varying: nil, tokenHeaders: "")
    }

    /// 401 where a token would help; edges make other statuses 500.
    var status: Int {
        guard case .refuse(let refusal) = decision else { return 200 }
        return refusal.code == .tokenMissing ? 401 : 403
    }

    func write(into buffer: inout ByteBuffer, isHead: Bool, closing: HTTPClosingFields) {
        switch status {
        case 200: buffer.writeStaticString("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
        case 401:
            buffer.writeStaticString(
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: MediaToken\r\n"
            )
        default: buffer.writeStaticString("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n")
        }
        writeCaching(into: &buffer)
        writeDecision(into: &buffer)
        buffer.writeStaticString("\r\nX-Playgate-Trace: ")
        trace.write(into: &buffer)
        buffer.writeStaticString("\r\n")
        closing.write(into: &buffer)
    }

    private func writeCaching(into buffer: inout ByteBuffer) {
        guard keeping.seconds > 0 else {
            return _ = buffer.writeStaticString("Cache-Control: no-store\r\nX-Accel-Expires: 0\r\n")
        }
        buffer.writeStaticString("Cache-Control: max-age=")
        buffer.writeInteger(decimal: keeping.seconds)
        buffer.writeStaticString("\r\nX-Accel-Expires: ")
        buffer.writeInteger(decimal: keeping.seconds)
        buffer.writeStaticString("\r\n")
        guard let varying = keeping.varying, varying.utf8CodeUnitCount > 0 || !keeping.tokenHeaders.isEmpty else {
            return
        }
        buffer.writeStaticString("Vary: ")
        buffer.writeStaticString(varying)
        if varying.utf8CodeUnitCount > 0, !keeping.tokenHeaders.isEmpty { buffer.writeStaticString(", ") }
        buffer.writeString(keeping.tokenHeaders)
        buffer.writeStaticString("\r\n")
    }

    private func writeDecision(into buffer: inout ByteBuffer) {
        let subject = decision.subject
        buffer.writeStaticString("X-Playgate-Decision: ")
        buffer.writeString(decision.name)
        buffer.writeStaticString("\r\nX-Playgate-Code: ")
        buffer.writeString(decision.codeName)
        buffer.writeStaticString("\r\nX-Playgate-Status: ")
        buffer.writeInteger(decimal: decision.isAllowed ? 200 : Int64(decision.code?.status.code ?? 403))
        buffer.writeStaticString("\r\nX-Playgate-Requestor: ")
        if let requestor = subject.requestor { buffer.writeEscaped(requestor.utf8.span) }
        buffer.writeStaticString("\r\nX-Playgate-MVPD: ")
        subject.token?.withMVPDID { buffer.writeEscaped($0) }
        buffer.writeStaticString("\r\nX-Playgate-Resource: ")
        if let resource = subject.resource { buffer.writeEscaped(resource.text.utf8.span) }
        buffer.writeStaticString("\r\nX-Playgate-Expires: ")
        if let expires = subject.token?.expires { buffer.writeInteger(decimal: expires.millisecondsSince1970) }
        buffer.writeStaticString("\r\nX-Playgate-Token: ")
        var isFirst = true
        for (number, source) in sources.enumerated() where shownIn & 1 << UInt16(number) != 0 {
            if !isFirst { buffer.writeStaticString(", ") }
            isFirst = false
            buffer.writeString(source.name)
        }
    }
}

extension ByteBuffer {
    /// The most bytes of a text that become a header.
    private static var escapedLimit: Int { 1024 }

    /// Writes a text as part of a header: letters, digits and what can do no harm as they are, everything else
    /// percent-encoded. A text that is too long is left out: half of it would be another one.
    fileprivate mutating func writeEscaped(_ text: Span<UInt8>) {
        guard text.count <= Self.escapedLimit else { return }
        for place in text.indices {
            let byte = text[place]
            if byte.isHarmless {
                writeInteger(byte)
            } else {
                writeInteger(UInt8(ascii: "%"))
                writeInteger((byte >> 4).hexadecimal)
                writeInteger((byte & 0xF).hexadecimal)
            }
        }
    }
}

extension UInt8 {
    fileprivate var isHarmless: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "@"), UInt8(ascii: "+"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }

    fileprivate var hexadecimal: UInt8 { self < 10 ? self + UInt8(ascii: "0") : self - 10 + UInt8(ascii: "A") }
}
