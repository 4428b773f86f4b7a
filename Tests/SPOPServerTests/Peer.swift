// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import HTTPServer
import NIOCore
import NIOEmbedded
import SPOPServer
import Synchronization

/// HAProxy's end of a connection to a service that repeats the name of the first message.
final class Peer {
    let channel = EmbeddedChannel()
    let service: EchoService
    private let ends = Ends()

    private final class Ends: Sendable { let list = Mutex([SPOPEnd]()) }

    init(headerBytes: Int = 2048, budget: Int = 1 << 20) throws {
        service = EchoService()
        let limits = HTTPLimits(
            connections: 1,
            connectionsPerPeer: 1,
            headerBytes: headerBytes,
            bodyBytes: 1024,
            requestTimeout: .seconds(10),
            idleTimeout: .seconds(60)
        )
        let ends = ends
        let handler = SPOPConnectionHandler(
            service,
            limits: SPOPLimits(limits),
            budget: ByteBudget(budget),
            onEnd: { end in ends.list.withLock { $0.append(end) } }
        )
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    /// The ends of the connection that were reported; one at most.
    var ended: [SPOPEnd] { ends.list.withLock { $0 } }

    var isOver: Bool { !ended.isEmpty }

    func send(_ bytes: ByteBuffer) throws {
        try channel.writeInbound(bytes)
        channel.embeddedEventLoop.run()
    }

    /// The frames that have arrived: their types and payloads.
    func frames() throws -> [Frame] {
        var bytes = ByteBuffer()
        while var more = try channel.readOutbound(as: ByteBuffer.self) { bytes.writeBuffer(&more) }
        var frames: [Frame] = []
        while let length: UInt32 = bytes.readInteger(), let frame = bytes.readSlice(length: Int(length)) {
            frames.append(try Frame(frame))
        }
        return frames
    }

    /// Offers terms, and returns the answer.
    @discardableResult
    func greet(
        versions: SPOPValue? = .string(ByteBuffer(string: "2.0")),
        size: SPOPValue? = .unsigned(16380),
        capabilities: SPOPValue? = .string(ByteBuffer(string: "pipelining, async")),
        more: [(StaticString, SPOPValue)] = []
    ) throws -> [Frame] {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.helloOfHAProxy, of: .none) { frame in
            let items: [(StaticString, SPOPValue?)] = [
                ("supported-versions", versions), ("max-frame-size", size), ("capabilities", capabilities),
            ]
            for (name, value) in items + more.map({ ($0, $1) }) {
                guard let value else { continue }
                frame.writeSPOP(string: name)
                frame.writeSPOP(value)
            }
        }
        try send(bytes)
        return try frames()
    }

    /// A NOTIFY frame with a message of that name.
    static func notification(_ name: StaticString, stream: UInt64 = 0, frame: UInt64 = 1) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.notify, of: SPOPFrame.ID(stream: stream, frame: frame)) { frame in
            frame.writeSPOP(string: name)
            frame.writeInteger(0 as UInt8)
        }
        return bytes
    }
}

/// A frame of the agent.
struct Frame: CustomStringConvertible {
    let kind: SPOPFrame.Kind?
    let id: SPOPFrame.ID
    /// The items of a list, or the variables that are set, as text.
    private(set) var items: [String] = []

    init(_ bytes: ByteBuffer) throws {
        let frame = try SPOPFrame(bytes.readableBytesUInt8Span)
        (kind, id) = (frame.kind, frame.id)
        var reader = frame.payload
        while !reader.isAtEnd {
            if kind == .acknowledge, reader.byte() != 1 || reader.byte() != 3 || reader.byte() != 2 {
                throw SPOPStatus.invalid
            }
            guard let name = reader.text(), let value = reader.value() else { throw SPOPStatus.invalid }
            switch value {
            case .string(let bytes): items.append("\(name)=\(bytes.text)")
            case .unsigned(let number): items.append("\(name)=\(number)")
            case .signed(let number): items.append("\(name)=\(number)")
            case .bool(let isTrue): items.append("\(name)=\(isTrue)")
            default: items.append("\(name)=?")
            }
        }
    }

    var description: String { "\(kind.map { "\($0)" } ?? "?") \(id.stream).\(id.frame) \(items)" }

    /// The code of a DISCONNECT frame.
    var status: String? { kind == .disconnectOfAgent ? items.first : nil }
}

/// A service that answers a message `later` on request, by a task and by a call in turn, and each other at once.
final class EchoService: SPOPService {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let awaited = Atomic<Int>(0)
    private let notifications = Atomic<Int>(0)

    /// The number of notifications so far.
    var count: Int { notifications.load(ordering: .relaxed) }

    func reply(to messages: consuming SPOPMessages, on connection: HTTPConnection) -> Reply<Echo> {
        notifications.add(1, ordering: .relaxed)
        let name = Self.firstName(messages) ?? "none"
        switch name {
        case "later":
            let begin: @Sendable (@escaping Awaited<Echo>.Resume) -> Void = { [self] resume in
                waiting.withLock { $0.append { resume { Echo(name: name) } } }
            }
            if awaited.add(1, ordering: .relaxed).newValue.isMultiple(of: 2) { return .later(.call(begin)) }
            return .later(.task { await Awaited.call(begin).value })
        case "last": return .last(Echo(name: name))
        default: return .now(Echo(name: name))
        }
    }

    private static func firstName(_ messages: consuming SPOPMessages) -> String? {
        guard let first = messages.next() else { return nil }
        return first.name.text
    }

    /// Lets the answers arrive that are waited for, the last first.
    func release() {
        let all = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for resume in all.reversed() { resume() }
    }

    struct Echo: SPOPAnswer {
        let name: String

        func write(into actions: inout SPOPActions) {
            actions.set("is_first", to: true)
            actions.set("name", atMost: 64) { $0.write(name.utf8.span) }
            if name == "large" {
                actions.set("filler", atMost: 4096) { $0.write([UInt8](repeating: 97, count: 4096).span) }
            }
            actions.set("empty", atMost: 8) { _ in }
            actions.set("number", to: -7)
        }
    }
}
