// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOEmbedded
import NIOExtras
import NIOHTTP1
import Platform
import Testing

@testable import HTTPServer

/// A connection in memory to a listener's handlers, with a service whose answers say what was requested.
final class ListenerExchange {
    /// The limits of the decoder, small enough to be reached.
    static let limits: NIOHTTPDecoderLimitConfiguration = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 512
        limits.maxHeaderListSize = 1024
        limits.maxHeaderFieldCount = 16
        return limits
    }()

    let service: EchoingService
    private let channel = EmbeddedChannel()
    /// The bytes that the client has received.
    private(set) var output: [UInt8] = []

    /// - Parameters:
    ///   - readsPlainHeads: False if NIO's decoder parses every request.
    ///   - timing: The time of the answers.
    init(readsPlainHeads: Bool, _ timing: EchoingService.Timing = .atOnce) throws {
        service = EchoingService(timing)
        let limits = HTTPLimits(
            connections: 1,
            connectionsPerPeer: 1,
            headerBytes: 1024,
            bodyBytes: 64,
            requestTimeout: .seconds(10),
            idleTimeout: .seconds(10)
        )
        let connection = HTTPConnectionHandler(
            service,
            limits: HTTPTimeLimits(limits),
            budget: ByteBudget(16 * 1024),
            flushes: PendingWrites(channel.embeddedEventLoop),
            clock: { Timestamp(millisecondsSince1970: 1_925_114_645_000) }
        )
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(ArrivalHandler(connection, limits: Self.limits, readsPlainHeads: readsPlainHeads))
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: Self.limits)))
        try pipeline.addHandler(connection)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Sends bytes as one segment.
    func send(_ bytes: some Collection<UInt8>) {
        guard channel.isActive else { return }
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        collect()
    }

    /// Tells the connection that the listener shuts down.
    func drain() { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

    /// Closes the client's end, and then the connection.
    func end() {
        if channel.isActive {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            collect()
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        collect()
    }

    private func collect() {
        channel.embeddedEventLoop.run()
        while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { output += buffer.readableBytesView }
    }

    /// The lines of the answers that begin with `prefix`, without it.
    func lines(_ prefix: String) -> [String] {
        String(decoding: output, as: UTF8.self).split(separator: "\r\n")
            .filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}

/// A service whose answers name method, target and fields of the request. Used on one thread.
final class EchoingService: BodilessService, @unchecked Sendable {
    /// The time of an answer, and the form in which it is awaited.
    enum Timing: CaseIterable {
        case atOnce
        case byTask
        case byCallInLaterTurn
        /// The first of two in a later turn, so that requests queue up, and the second before the call returns.
        case byCallInTurns
    }

    private let timing: Timing
    /// The number of requests.
    private(set) var requests = 0
    /// The number of those that NIO's decoder has parsed.
    private(set) var decoded = 0

    init(_ timing: Timing) { self.timing = timing }

    func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        decoded += 1
        return respond(to: BodilessRequest(request), into: &output)
    }

    func respond(to request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        requests += 1
        let fields = request.fields.indices.map { "\(request.fields.name($0)):\(request.fields.value($0))" }
        let text = "\(requests) \(request.method) \(request.target) [\(fields.joined(separator: "|"))]"
        // A quotation mark cannot hide a line break of a field.
        let answer = EchoingAnswer(text: text.debugDescription)
        switch timing {
        case .atOnce:
            output.write(answer)
            return nil
        case .byTask: return .task { answer }
        case .byCallInTurns where requests.isMultiple(of: 2):
            return .call { resume in resume { answer } }
        case .byCallInLaterTurn, .byCallInTurns:
            let loop = request.connection.channel.eventLoop
            return .call { resume in loop.execute { resume { answer } } }
        }
    }
}

private struct EchoingAnswer: HTTPAnswer {
    let text: String

    var limit: Int { 128 + text.utf8.count }

    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Asked: ")
        writer.write(text.utf8.span)
        writer.write(isHead ? "\r\nX-Head: yes\r\n" : "\r\n")
        closing.write(into: &writer)
    }
}
