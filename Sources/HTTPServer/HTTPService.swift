// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
package import Encodings
package import NIOCore
package import NIOHTTP1
internal import NIOSSL

/// A service that answers the requests of a listener.
package protocol HTTPService: Sendable {
    /// Decides, at the head of a request, if its body is read.
    func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception

    /// Answers a request, on the event loop of its connection. Either writes into `output` and returns `nil`, or
    /// returns an answer that is not known yet.
    func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer?

    /// True if a pending answer is cancelled when its client closes the connection, or its end of it. False by default:
    /// the work of the answer is then completed.
    var cancelsAbandoned: Bool { get }
}

extension HTTPService {
    package var cancelsAbandoned: Bool { false }
}

/// The treatment of a request's body.
package enum HTTPReception {
    /// The request is answered at its head. A body is read and discarded.
    case answer
    /// The body is read, up to `limit` bytes, for an admitted caller.
    case body(limit: Int, HTTPAdmission?)
}

/// The authenticated caller of a request.
package struct HTTPAdmission {
    /// The number of the snapshot that admitted the request.
    package let snapshot: UInt64
    package let caller: String?

    package init(snapshot: UInt64, caller: String?) {
        self.snapshot = snapshot
        self.caller = caller
    }
}

/// An answer that must be awaited.
package typealias PendingAnswer = Awaited<any HTTPAnswer>

/// An HTTP/1.1 response that can be written, with its length and without `Transfer-Encoding`.
package protocol HTTPAnswer: Sendable {
    /// The most bytes of the response, without the closing fields.
    var limit: Int { get }

    /// Writes status line, fields and body.
    ///
    /// - Parameters:
    ///   - isHead: True if the request had the method HEAD; then the body is omitted.
    ///   - closing: The fields that the connection adds, and the empty line after them.
    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields)

    /// A body that all answers of a kind share, and that follows the output of ``write(into:isHead:closing:)``; `nil`
    /// by default. It is not copied: a client that reads nothing costs no memory for it.
    var sharedBody: ByteBuffer? { get }
}

extension HTTPAnswer {
    package var sharedBody: ByteBuffer? { nil }
}

/// A request: its head, and its body if the service accepts one.
package struct HTTPRequest {
    package let head: HTTPRequestHead
    /// The body; `nil` if there is none.
    package var body: ByteBuffer?
    /// True if the body was larger than the service accepts, and was discarded.
    package var isTooLarge = false
    /// The caller, if it was authenticated at the head.
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

    /// The path: the target without its query.
    package var path: Substring {
        let mark = head.uri.utf8.firstIndex(of: UInt8(ascii: "?"))
        return head.uri[..<(mark ?? head.uri.endIndex)]
    }

    /// Returns the value of the first field with this name.
    package func first(_ name: String) -> String? { head.headers.first(name: name) }
}

/// The facts of a connection that its requests share. Used on its event loop only.
package final class HTTPConnection {
    package let channel: any Channel

    /// The trust in the peer and the snapshot that it was found with; see `TrustedPeers`.
    package var trust: (snapshot: UInt64, isTrusted: Bool)?

    /// The slot of a connection whose peer is not authenticated; `nil` for another one.
    package private(set) var slot: ConnectionSlot?

    package init(_ channel: any Channel, slot: ConnectionSlot? = nil) {
        self.channel = channel
        self.slot = slot
    }

    /// Records that the peer has presented a known credential.
    package func prove() {
        slot?.prove()
        slot = nil
    }

    /// The SHA-256 of the peer's certificate in DER form; `nil` if it presented none.
    package var certificateDigest: [UInt8]? {
        let certificate = try? channel.pipeline.syncOperations.nioSSL_peerCertificate()
        return (try? certificate?.toDERBytes()).map { SHA256.digest($0) }
    }
}

@available(*, unavailable)
extension HTTPConnection: Sendable {}

/// The fields that end every head: the date, `Connection: close` if the connection ends, and the empty line.
package struct HTTPCommonFields {
    package var date: HTTPDate
    package var closesConnection: Bool

    package init(date: HTTPDate, closesConnection: Bool) {
        self.date = date
        self.closesConnection = closesConnection
    }

    /// The most bytes of these fields.
    package static var limit: Int { 96 }

    package func write(into writer: inout ByteWriter) {
        writer.write("Date: ")
        writer.write(date.text.span)
        if closesConnection { writer.write("\r\nConnection: close") }
        writer.write("\r\n\r\n")
    }
}
