// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore

@testable import EdgeListener
@testable import HTTPServer
@testable import SPOPServer

extension Target {
    /// The offload protocol of HAProxy: each notification has one acknowledgement with its numbers, in order, nothing follows a
    /// goodbye, and the split into chunks does not matter. What is read of a message is written again as it was.
    ///
    /// First byte: the seed of the split. The rest follows a handshake, unless the first byte is odd.
    static let spop = Target(name: "spop") { input in
        var input = input
        let seed = input.choice()
        let bytes = (seed & 1 == 0 ? Offload.hello : []) + input.bytes
        let whole = Offload()
        whole.send(bytes[...])
        var random = SplitMix64(seed: UInt64(seed))
        let pieces = Offload()
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...64, using: &random))
            pieces.send(piece)
            rest = rest.dropFirst(piece.count)
        }
        whole.end()
        pieces.end()
        demand(
            pieces.answers == whole.answers,
            or: "chunks: \(pieces.answers.debugText), and not \(whole.answers.debugText)"
        )
    }
}

/// A connection of HAProxy, and the frames on it.
private final class Offload {
    private let service = RepeatingService()
    private let client = EmbeddedConnection()

    var answers: [UInt8] { client.answers }

    static let hello: [UInt8] = {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.helloOfHAProxy, of: .none) { frame in
            for (name, value): (StaticString, StaticString) in [
                ("supported-versions", "2.0"), ("capabilities", "pipelining"),
            ] {
                frame.writeSPOP(string: name)
                frame.writeInteger(8 as UInt8)
                frame.writeSPOP(string: value)
            }
            frame.writeSPOP(string: "max-frame-size")
            frame.writeSPOP(.unsigned(1024))
        }
        return Array(bytes.readableBytesView)
    }()

    init() {
        let handler = SPOPConnectionHandler(
            service,
            limits: SPOPLimits(EmbeddedConnection.limits),
            budget: ByteBudget(16 * 1024),
            onEnd: { _ in }
        )
        client.open { try $0.addHandler(handler) }
    }

    func send(_ bytes: ArraySlice<UInt8>) { client.send(bytes) }

    func end() {
        client.close()
        check()
    }

    private func check() {
        var bytes = ByteBuffer(bytes: answers)
        var (acknowledged, isOver) = (0, false)
        while let length: UInt32 = bytes.readInteger() {
            demand(!isOver && length <= 1024, or: "a frame behind the last one, or too large: \(answers.debugText)")
            guard let body = bytes.readSlice(length: Int(length)),
                let frame = try? SPOPFrame(body.readableBytesUInt8Span)
            else {
                return demand(false, or: "no frame: \(answers.debugText)")
            }
            switch frame.kind {
            case .acknowledge: acknowledged += 1
            case .disconnectOfAgent: isOver = true
            case .helloOfAgent: demand(acknowledged == 0, or: "a second greeting: \(answers.debugText)")
            default: demand(false, or: "a frame of HAProxy: \(answers.debugText)")
            }
        }
        demand(bytes.readableBytes == 0, or: "half a frame: \(answers.debugText)")
        demand(acknowledged == service.requests, or: "\(service.requests) notifications, \(acknowledged) answers")
    }
}

/// A service that tells what it was asked, after it has compared the arguments with what they are written as.
private final class RepeatingService: SPOPService, @unchecked Sendable {  // On one thread.
    private(set) var requests = 0

    func reply(to messages: consuming SPOPMessages, on connection: HTTPConnection) -> Reply<Repetition> {
        requests += 1
        let count = messages.count
        var (all, found) = (copy messages, 0)
        while var message = all.next() {
            found += 1
            while let argument = message.next() { check(SPOPValue(copying: argument.value)) }
        }
        demand(found == count, or: "\(found) messages, and not \(count)")
        let request = SPOERequest(messages)
        let fields = request?.fields
        check(fields)
        for name in fields.map({ fields in fields.indices.map { fields.name($0) } }) ?? [] {
            let isOurs = [":path", ":method", ":scheme", ":authority", ":client", ":variables"].contains(name)
            demand(isOurs || !name.isEmpty && !name.contains(":"), or: "\(name) is no name of a field")
        }
        return .now(Repetition(count: count, fields: fields?.indices.count ?? -1))
    }

    /// Demands that a value is read as it is written.
    private func check(_ value: SPOPValue) {
        var bytes = ByteBuffer()
        bytes.writeSPOP(value)
        var reader = SPOPReader(bytes.readableBytesUInt8Span)
        guard let read = reader.value() else { return demand(false, or: "\(value)") }
        demand(SPOPValue(copying: read) == value && reader.isAtEnd, or: "\(value)")
    }

    /// Demands that the lines of a head tell its fields apart: names and values are read from them as they were put together.
    private func check(_ fields: HTTPFields?) {
        guard let fields, let head = fields.head else { return }
        let lines = head.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        demand(lines.count == fields.indices.count + 2 && lines[0].isEmpty && lines[lines.count - 1].isEmpty, or: head)
        for index in fields.indices {
            let line = lines[index + 1]
            let rest = line.dropFirst()
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return demand(false, or: head) }
            demand(
                Substring(line[..<colon]) == fields.name(index)
                    && Substring(line[line.index(after: colon)...]) == fields.value(index),
                or: head
            )
        }
    }

    struct Repetition: SPOPAnswer {
        let count: Int
        let fields: Int

        func write(into actions: inout SPOPActions) {
            actions.set("count", to: Int64(count))
            actions.set("fields", to: Int64(fields))
        }
    }
}
