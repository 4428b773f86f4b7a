// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HTTPServer
@testable import MediaTokens
@testable import Platform

extension Target {
    /// The HTTP framing of the listeners: each request to the service has one response, in order, and no response follows
    /// one that ends the connection. If responses are immediate, the split into chunks does not matter. A service that reads
    /// no bodies gets the same requests, and its client the same responses, if NIO's decoder reads every head.
    ///
    /// First byte: bit 0 for a service that accepts bodies, bit 1 for one with delayed responses. Second byte: the seed of
    /// the split.
    static let http = Target(name: "http") { input in
        var input = input
        let choice = input.choice()
        var random = SplitMix64(seed: UInt64(input.choice()))
        let bytes = input.bytes
        let whole = Exchange(choice)
        whole.send(bytes[...])
        whole.end()
        let pieces = Exchange(choice)
        let reference = Exchange(choice, readsPlainHeads: false)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...64, using: &random))
            pieces.send(piece)
            reference.send(piece)
            pieces.demandSame(as: reference)
            rest = rest.dropFirst(piece.count)
        }
        pieces.end()
        reference.end()
        pieces.demandSame(as: reference)
        guard choice & 2 == 0 else { return }
        demand(
            pieces.answers == whole.answers,
            or: "chunks: \(pieces.answers.debugText), and not \(whole.answers.debugText)"
        )
    }
}

/// A connection and the responses on it.
private final class Exchange {
    private let service: any NumberingService
    private let client = EmbeddedConnection()

    var answers: [UInt8] { client.answers }

    init(_ choice: UInt8, readsPlainHeads: Bool = true) {
        let timing: Timing = choice & 2 == 0 ? .atOnce : choice & 4 == 0 ? .byTask : .byTurns
        service = choice & 1 == 0 ? HeadService(timing) : BodyService(limit: 64, timing)
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = 512
        decoding.maxHeaderListSize = 1024
        decoding.maxHeaderFieldCount = 16
        let handler = HTTPConnectionHandler(
            service,
            limits: HTTPTimeLimits(EmbeddedConnection.limits),
            budget: ByteBudget(16 * 1024),
            flushes: PendingWrites(client.channel.embeddedEventLoop),
            clock: { Timestamp(millisecondsSince1970: 1_925_114_645_000) }
        )
        client.open { pipeline in
            try pipeline.addHandler(ArrivalHandler(handler, limits: decoding, readsPlainHeads: readsPlainHeads))
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoding)))
            try pipeline.addHandler(handler)
        }
    }

    func demandSame(as other: Exchange) {
        demand(answers == other.answers, or: "heads: \(answers.debugText), and not \(other.answers.debugText)")
    }

    func send(_ bytes: ArraySlice<UInt8>) { client.send(bytes) }

    /// Closes the client's side and checks the responses.
    func end() {
        client.closeInput()
        client.close()
        check()
    }

    private func check() {
        var rest = Input(answers)
        var number = 0
        var isOver = false
        while !rest.rest.isEmpty {
            let status = String(decoding: rest.line(), as: UTF8.self)
            var fields: [String: String] = [:]
            while true {
                let field = String(decoding: rest.line(), as: UTF8.self)
                guard field != "\r", let colon = field.firstIndex(of: ":") else { break }
                fields[String(field[..<colon])] = String(field[field.index(after: colon)...].dropFirst())
            }
            demand(!isOver, or: "an answer behind the last one: \(answers.debugText)")
            switch status {
            case "HTTP/1.1 100 Continue\r": continue
            case "HTTP/1.1 400 Bad Request\r": isOver = true
            case "HTTP/1.1 200 OK\r":
                number += 1
                demand(fields["X-Number"] == "\(number)\r\n" || fields["X-Number"] == "\(number)\r", or: "out of order")
            default: demand(false, or: "not an answer: \(status)")
            }
            if fields["Connection"] != nil { isOver = true }
        }
        demand(number == service.requests, or: "\(service.requests) requests, \(number) answers: \(answers.debugText)")
    }
}

/// The time of an answer, and the form in which it is awaited.
private enum Timing {
    case atOnce
    case byTask
    /// By a task, so that requests queue up, and by a call that knows it at once, in turns.
    case byTurns

    /// Writes an answer, or returns it in the form in which it is awaited.
    func give(_ answer: NumberedAnswer, into output: inout HTTPOutput) -> PendingAnswer? {
        switch self {
        case .atOnce:
            output.write(answer)
            return nil
        case .byTurns where answer.number.isMultiple(of: 2): return .call { resume in resume { answer } }
        case .byTask, .byTurns: return .task { answer }
        }
    }
}

/// A service that numbers its responses.
private protocol NumberingService: HTTPService {
    /// The number of requests.
    var requests: Int { get }
}

/// A service that takes bodies.
private final class BodyService: NumberingService, @unchecked Sendable {  // On one thread.
    private let limit: Int
    private let timing: Timing
    private(set) var requests = 0
    let cancelsAbandoned = false

    init(limit: Int, _ timing: Timing) {
        self.limit = limit
        self.timing = timing
    }

    func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception { .body(limit: limit, nil) }

    func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        requests += 1
        demand(request.isTooLarge || (request.body?.readableBytes ?? 0) <= limit, or: "more than the limit")
        return timing.give(NumberedAnswer(number: Int64(requests), request: 0), into: &output)
    }
}

/// A service that answers at the head, with a sum over all of the head.
private final class HeadService: NumberingService, BodilessService, @unchecked Sendable {  // On one thread.
    private let timing: Timing
    private(set) var requests = 0
    let cancelsAbandoned = false

    init(_ timing: Timing) { self.timing = timing }

    func receive(_ head: HTTPRequestHead, on connection: HTTPConnection) -> HTTPReception { .answer }

    func respond(to request: HTTPRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        respond(to: BodilessRequest(request), into: &output)
    }

    func respond(to request: BodilessRequest, into output: inout HTTPOutput) -> PendingAnswer? {
        requests += 1
        var hash = 0xCBF2_9CE4_8422_2325 as UInt64
        let fields = request.fields
        let texts =
            [request.method.rawValue[...], request.target]
            + fields.indices.flatMap { [fields.name($0), fields.value($0)] }
        for text in texts {
            for byte in text.utf8 + [0xFF] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return timing.give(NumberedAnswer(number: Int64(requests), request: hash), into: &output)
    }
}

private struct NumberedAnswer: HTTPAnswer {
    let number: Int64
    /// The answer's statements about the request.
    let request: UInt64
    var sharedBody: ByteBuffer? { nil }

    var limit: Int { 128 }

    func write(into writer: inout ByteWriter, isHead: Bool, closing: borrowing HTTPCommonFields) {
        writer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Number: ")
        writer.write(decimal: number)
        writer.write("\r\nX-Request: ")
        writer.write(hexadecimal: request)
        writer.write("\r\n")
        closing.write(into: &writer)
    }
}
