// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
package import Encodings
package import NIOCore
package import NIOHTTP1

#if TLS
    internal import NIOSSL
#endif

/// A service that answers the requests of a listener.
package protocol HTTPService: Sendable {
    /// Decides at the head of a request whether its body is read.
    func receive(_ head: HTTPRequestHead, _ connection: HTTPConnection) -> HTTPReception

    /// Answers a request, on the event loop of its connection: at once, into `output`, or by what finds the answer.
    func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer?
}

/// The reading of a request's body.
package enum HTTPReception {
    /// The request is answered at its head. A body is read past, and not kept.
    case answer
    /// The body is read, up to so many bytes, for a caller that may send it.
    case body(limit: Int, HTTPAdmission?)
}

/// The caller of a request, once it is known.
package struct HTTPAdmission {
    /// The number of the snapshot by which it was let in.
    package let snapshot: UInt64
    package let caller: String?

    package init(snapshot: UInt64, caller: String?) {
        self.snapshot = snapshot
        self.caller = caller
    }
}

/// What finds an answer that has to be waited for.
package typealias PendingAnswer = @Sendable () async -> any HTTPAnswer

/// An answer that is there, or one that something has to be waited for.
package enum HTTPReply<Answer: HTTPAnswer> {
    case now(Answer)
    case later(@Sendable () async -> Answer)
}

/// Where the answers of a connection are gathered until they are written.
package struct HTTPOutput {
    private var buffer = ByteBuffer()
    private(set) var isEmpty = true
    /// How many bytes are gathered.
    package var count: Int { isEmpty ? 0 : buffer.readableBytes }
    /// Whether the next answer is to a HEAD.
    package var isHead = false
    /// What ends the head of the next answer.
    package var closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)

    /// The most bytes of room that a connection keeps for its next answers.
    private static let keptCapacity = 2048

    /// Takes what is gathered. Room for a usual answer is kept for the next one.
    package mutating func take() -> ByteBuffer {
        isEmpty = true
        guard buffer.capacity > Self.keptCapacity else { return buffer }
        defer { buffer = ByteBuffer() }
        return buffer
    }

    package mutating func write(atMost limit: Int, _ body: (inout ByteWriter) -> Void) {
        if isEmpty { buffer.clear() }
        isEmpty = false
        buffer.write(atMost: limit, body)
    }

    package mutating func write(_ answer: some HTTPAnswer) {
        let (isHead, closing) = (isHead, closing)
        write(atMost: answer.limit + HTTPCommonFields.limit) { writer in
            answer.write(into: &writer, isHead: isHead, closing: closing)
        }
    }

    /// Writes an answer that is there, or hands on what finds it.
    package mutating func write<Answer>(_ reply: HTTPReply<Answer>) -> PendingAnswer? {
        switch reply {
        case .now(let answer):
            write(answer)
            return nil
        case .later(let find): return find
        }
    }
}

/// What can be written as an HTTP/1.1 response, with its length and without `Transfer-Encoding`.
package protocol HTTPAnswer: Sendable {
    /// The most bytes that it has, without the closing fields.
    var limit: Int { get }

    /// Writes status line, fields and body.
    ///
    /// - Parameters:
    ///   - isHead: Whether the request had the method HEAD: then without the body.
    ///   - closing: The fields that the connection adds, and the empty line after them.
    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields)
}

/// A request: its head, and its body where the service takes one.
package struct HTTPRequest {
    package let head: HTTPRequestHead
    /// The body; nil where there is none.
    package var body: ByteBuffer?
    /// Whether the body was larger than the service takes, and is not here.
    package var isTooLarge = false
    /// The caller, if it was found out at the head.
    package var admission: HTTPAdmission?
    package let connection: HTTPConnection

    package init(
        head: HTTPRequestHead,
        body: ByteBuffer? = nil,
        isTooLarge: Bool = false,
        admission: HTTPAdmission? = nil,
        connection: HTTPConnection
    ) {
        self.head = head
        self.body = body
        self.isTooLarge = isTooLarge
        self.admission = admission
        self.connection = connection
    }

    /// The target up to its query.
    package var path: Substring {
        let mark = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        return head.uri[..<(mark ?? head.uri.endIndex)]
    }

    /// The value of a field; of several, the first.
    package func first(_ name: String) -> String? { head.headers.first(name: name) }
}

/// What is known of a connection beside its requests. Used on its event loop only.
package final class HTTPConnection {
    package let channel: any Channel

    /// What was found out about the peer, and by the word of which snapshot; see `TrustedPeers`.
    package var trust: (snapshot: UInt64, isTrusted: Bool)?

    package init(_ channel: any Channel) { self.channel = channel }

    /// The SHA-256 of the peer's certificate in its DER form; nil where it has shown none.
    package var certificateDigest: [UInt8]? {
        #if TLS
            let certificate = try? channel.pipeline.syncOperations.nioSSL_peerCertificate()
            return (try? certificate?.toDERBytes()).map { SHA256.digest($0) }
        #else
            return nil
        #endif
    }
}

@available(*, unavailable)
extension HTTPConnection: Sendable {}

/// The fields that end every head: the date, whether the connection ends too, and the empty line.
package struct HTTPCommonFields {
    package var date: HTTPDate
    package var closesConnection: Bool

    /// The most bytes that these fields have.
    package static var limit: Int { 96 }

    package func write(into writer: inout ByteWriter) {
        writer.write("Date: ")
        writer.write(date.text.span)
        if closesConnection { writer.write("\r\nConnection: close") }
        writer.write("\r\n\r\n")
    }
}
