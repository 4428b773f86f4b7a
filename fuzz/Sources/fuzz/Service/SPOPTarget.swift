// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore

@testable import GateService
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
        demand(pieces.answers == whole.answers, "chunks: \(pieces.answers.shown), and not \(whole.answers.shown)")
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
            SPOPLimits(EmbeddedConnection.limits),
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
            demand(!isOver && length <= 1024, "a frame behind the last one, or too large: \(answers.shown)")
            guard let body = bytes.readSlice(length: Int(length)), let frame = try? SPOPFrame(body) else {
                return demand(false, "no frame: \(answers.shown)")
            }
            switch frame.kind {
            case .acknowledge: acknowledged += 1
            case .disconnectOfAgent: isOver = true
            case .helloOfAgent: demand(acknowledged == 0, "a second greeting: \(answers.shown)")
            default: demand(false, "a frame of HAProxy: \(answers.shown)")
            }
        }
        demand(bytes.readableBytes == 0, "half a frame: \(answers.shown)")
        demand(acknowledged == service.asked, "\(service.asked) notifications, \(acknowledged) answers")
    }
}

/// A service that tells what it was asked, after it has compared the arguments with what they are written as.
private final class RepeatingService: SPOPService, @unchecked Sendable {  // On one thread.
    private(set) var asked = 0

    func answer(_ messages: [SPOPMessage], _ connection: HTTPConnection) -> SPOPReply<Repetition> {
        asked += 1
        for argument in messages.flatMap(\.arguments) {
            var bytes = ByteBuffer()
            bytes.writeSPOP(argument.value)
            var reader = SPOPReader(bytes)
            demand(reader.value() == argument.value && reader.isAtEnd, "\(argument)")
        }
        let fields = SPOEResponder.fields(messages)
        for name in fields.map({ fields in fields.indices.map { fields.name($0) } }) ?? [] {
            let isOurs = [":path", ":method", ":scheme", ":authority", ":client"].contains(name)
            demand(isOurs || !name.isEmpty && !name.contains(":"), "\(name) is no name of a field")
        }
        return .now(Repetition(count: messages.count, fields: fields?.indices.count ?? -1))
    }

    struct Repetition: SPOPAnswer {
        let count: Int
        let fields: Int

        func write(into actions: inout SPOPActions) {
            actions.set("count", Int64(count))
            actions.set("fields", Int64(fields))
        }
    }
}
