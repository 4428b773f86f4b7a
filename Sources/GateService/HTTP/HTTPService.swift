// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Who answers the requests of a listener.
protocol HTTPService: Sendable {
    /// The most bytes of a body that are read. Nil where bodies mean nothing: requests are then answered at their heads,
    /// and bodies are read past.
    var bodyLimit: Int? { get }

    /// Answers a request, on the event loop of its connection: at once, into `output`, or by what finds the answer.
    func answer(_ request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer?
}

/// What finds an answer that has to be waited for.
typealias PendingAnswer = @Sendable () async -> any HTTPAnswer

/// An answer that is there, or one that something has to be waited for.
enum HTTPReply<Answer: HTTPAnswer> {
    case now(Answer)
    case later(@Sendable () async -> Answer)
}

/// Where the answers of a connection are gathered until they are written.
struct HTTPOutput {
    private var buffer = ByteBuffer()
    private(set) var isEmpty = true
    /// Whether the next answer is to a HEAD.
    var isHead = false
    /// What ends the head of the next answer.
    var closing = HTTPClosingFields(date: HTTPDate(), closesConnection: false)

    /// Takes what is gathered.
    mutating func take() -> ByteBuffer {
        isEmpty = true
        return buffer
    }

    mutating func write(atMost limit: Int, _ body: (inout ByteWriter) -> Void) {
        if isEmpty { buffer.clear() }
        isEmpty = false
        buffer.write(atMost: limit, body)
    }

    mutating func write(_ answer: some HTTPAnswer) {
        let (isHead, closing) = (isHead, closing)
        write(atMost: answer.limit + HTTPClosingFields.limit) { writer in
            answer.write(into: &writer, isHead: isHead, closing: closing)
        }
    }

    /// Writes an answer that is there, or hands on what finds it.
    mutating func write<Answer>(_ reply: HTTPReply<Answer>) -> PendingAnswer? {
        switch reply {
        case .now(let answer):
            write(answer)
            return nil
        case .later(let find): return find
        }
    }
}

/// What can be written as an HTTP/1.1 response, with its length and without `Transfer-Encoding`.
protocol HTTPAnswer: Sendable {
    /// The most bytes that it has, without the closing fields.
    var limit: Int { get }

    /// Writes status line, fields and body.
    ///
    /// - Parameters:
    ///   - isHead: Whether the request had the method HEAD: then without the body.
    ///   - closing: The fields that the connection adds, and the empty line after them.
    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPClosingFields)
}

/// A request: its head, and its body where the service takes one.
struct HTTPRequest {
    let head: HTTPRequestHead
    /// The body; nil where there is none.
    var body: ByteBuffer?
    /// Whether the body was larger than the service takes, and is not here.
    var isTooLarge = false
    let connection: HTTPConnection

    /// The target up to its query.
    var path: Substring {
        let mark = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        return head.uri[..<(mark ?? head.uri.endIndex)]
    }

    /// The value of a field; of several, the first.
    func first(_ name: String) -> String? { head.headers.first(name: name) }
}

/// What is known of a connection beside its requests. Used on its event loop only.
final class HTTPConnection {
    let channel: any Channel

    /// What was found out about the peer, and by the word of which snapshot; see `TrustedPeers`.
    var trust: (snapshot: UInt64, isTrusted: Bool)?

    init(_ channel: any Channel) { self.channel = channel }

    /// The SHA-256 of the peer's certificate in its DER form; nil where it has shown none.
    var certificateDigest: [UInt8]? {
        let certificate = try? channel.pipeline.syncOperations.nioSSL_peerCertificate()
        return (try? certificate?.toDERBytes()).map { SHA256.digest($0) }
    }
}

@available(*, unavailable)
extension HTTPConnection: Sendable {}

/// The fields that end every head: the date, whether the connection ends too, and the empty line.
struct HTTPClosingFields {
    var date: HTTPDate
    var closesConnection: Bool

    /// The most bytes that these fields have.
    static var limit: Int { 96 }

    func write(into writer: inout ByteWriter) {
        writer.write("Date: ")
        writer.write(date.text.span)
        if closesConnection { writer.write("\r\nConnection: close") }
        writer.write("\r\n\r\n")
    }
}
