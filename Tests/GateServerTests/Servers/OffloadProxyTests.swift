// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import HTTPServer
import NIOCore
import NIOPosix
import SPOPServer
import Synchronization
import Testing

/// HAProxy with the configuration of its page: what it does when its offload does not, and what passes beside it.
@Suite(.serialized) struct `Behind HAProxy and its offload` {
    private static let edge = EdgeProxy.haproxy

    @Test(
        .needs(.haproxy),
        arguments: [
            "{ advanced: { capacity: 1000 } }", "{ deadline: 10s, sqlite: uses.sqlite }",
        ]
    )
    func `26: one of 50 parallel requests uses a token up`(use: String) async throws {
        try await Self.edge.withGate(use: use) { (gate, proxy) throws in
            for _ in 0..<3 {
                let token = try gate.token(GateSample.claims(session: UUID().uuidString))
                let (outcomes, address) = (Outcomes(), proxy.address)
                DispatchQueue.concurrentPerform(iterations: 50) { _ in
                    let answer = try? HTTPConnection(address).request("GET", path: "/live/tnt/a.m3u8?token=\(token)")
                    outcomes.add("\(answer?.status ?? 0) \(answer?.headers["x-playgate-code"] ?? "")")
                }
                #expect(outcomes.counts == ["200 verified": 1, "403 token_already_used": 49])
            }
            #expect(proxy.origin.requests == 3)
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"spoe\",status=\"200\"}") == 3)
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"spoe\",status=\"403\"}") == 147)
        }
    }

    private final class Outcomes: Sendable {
        private let state = Mutex([String: Int]())
        var counts: [String: Int] { state.withLock { $0 } }
        func add(_ outcome: String) { state.withLock { $0[outcome, default: 0] += 1 } }
    }

    @Test(.needs(.haproxy), arguments: FaultyAgent.Fault.allCases)
    func `14: nothing opens if the agent`(fault: FaultyAgent.Fault) throws {
        let folder = try TemporaryFolder()
        let agent = try FaultyAgent(at: folder.file("spoe.sock"), fault: fault)
        let options = RunningEdge.Options(isPatient: false)
        let proxy = try RunningEdge(Self.edge, in: folder, gate: folder.file("spoe.sock"), options: options)
        for target in ["/live/free/1", "/live/tnt/1?token=abc", "/live/seg/1"] {
            let answer = try proxy.get(target)
            #expect(answer.status == (fault == .refusesWithoutStatus ? 403 : 503), "\(fault) \(answer)")
            #expect(answer.headers["cache-control"] == "no-store", "\(answer)")
        }
        #expect(proxy.origin.requests == 0)
        if fault != .hangsUp { #expect(agent.requests > 0) }
    }

    @Test func `names in its page the variables that its page uses`() throws {
        let folder = try TemporaryFolder()
        let block = { kind in try Self.edge.block(kind, in: folder, gate: "unix:gate.sock", origin: 8089) }
        let used = try block("haproxy").matches(of: /txn\.playgate\.(?<name>[a-z_]+)/).map { String($0.name) }
        let named = try #require(block("spoe").firstMatch(of: /variables=str\("(?<names>[a-z_ ]+)"\)/)).names
        // HAProxy sets that of an error itself.
        #expect(Set(used).subtracting(["error"]) == Set(named.split(separator: " ").map(String.init)))
    }

    @Test(.needs(.haproxy)) func `passes bodies on as they are, and the largest heads`() async throws {
        let catalogue = EdgeProxy.catalogue + "\n    - { path: /upload/, protected: false, methods: [POST] }"
        try await Self.edge.withGate(catalogue: catalogue) { (_, proxy) throws in
            let body = String(repeating: "{\"segment\": 1}\n", count: 3000)
            let answer = try proxy.connect().request("POST", path: "/upload/a", body: body)
            #expect(answer.status == 200 && answer.body.hasSuffix("\n\n\(body)"), "\(answer.status)")
            #expect(try proxy.connect().request("POST", path: "/live/free/a", body: body).status == 403)
            for size in [1000, 8000, 14_000, 15_000] {
                let filled = try proxy.get("/live/free/a", headers: ["X-Filler": String(repeating: "a", count: size)])
                #expect(filled.headers["x-playgate-code"] == "unprotected", "\(size) \(filled)")
            }
            // A larger head is too large for HAProxy itself.
            let larger = try? proxy.get("/live/free/a", headers: ["X-Filler": String(repeating: "a", count: 20_000)])
            #expect(larger?.status != 200)
        }
    }

    @Test(.needs(.haproxy))
    func `checks the health of the gate, and lets nobody pass once it stops`() async throws {
        let checks = [
            "    mode tcp\n": "    mode tcp\n    option spop-check\n    default-server check inter 50ms fall 2 rise 1\n"
        ]
        let left = Left()
        try await Self.edge.withGate(replacing: checks) { (gate, proxy) throws in
            #expect(try proxy.get("/live/free/a").status == 200)
            let connections = { try gate.metric("playgate_connections_total{listener=\"spoe\"}") ?? 0 }
            #expect(try eventually { try connections() > 5 })
            #expect(try proxy.get("/live/free/a").status == 200)
            #expect(!(try proxy.logs().contains("is DOWN")))
            // No check ended in an error of the protocol.
            for status in 1...13 {
                #expect(try gate.metric("playgate_spoe_disconnects_total{by=\"gate\",status=\"\(status)\"}") ?? 0 == 0)
            }
            left.store(proxy)
        }
        // The gate has stopped, while HAProxy had connections to it.
        let proxy = try #require(left.kept)
        #expect(try proxy.get("/live/free/a").status == 503)
        #expect(try eventually { try proxy.logs().contains("is DOWN") })
        #expect(try proxy.get("/live/free/a").status == 503 && proxy.origin.requests == 2)
    }

    private final class Left: @unchecked Sendable {  // Written before the test goes on.
        private(set) var kept: RunningEdge?
        func store(_ proxy: RunningEdge) { kept = proxy }
    }
}

/// An agent that breaks the protocol, in one of many ways, once it gets a request.
final class FaultyAgent: Sendable {
    enum Fault: String, CaseIterable, Sendable {
        case hangsUp = "hangs up at once"
        case garblesHello = "answers the first frame with garbage"
        case refusesHello = "refuses the terms"
        case stallsHello = "does not answer the first frame"
        case dies = "closes the connection when it is asked"
        case stalls = "does not answer"
        case disconnects = "says goodbye when it is asked"
        case garbles = "answers with garbage"
        case answersAnother = "allows another request"
        case answersNothing = "sets no variable"
        case allowsWithoutCode = "allows, and says nothing else"
        case allowsInText = "allows in words, which are not true"
        case refusesWithoutStatus = "refuses, and does not say why"
        case sendsTooMuch = "answers with a frame that is too large"
    }

    private let channel: any Channel
    private let counter = Counter()

    private final class Counter: Sendable { let value = Mutex(0) }

    /// The number of frames that it was sent.
    var requests: Int { counter.value.withLock { $0 } }

    init(at path: String, fault: Fault) throws {
        let counter = counter
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answerer(fault: fault, counter: counter))
                }
            }
            .bind(unixDomainSocketPath: path).wait()
    }

    deinit { channel.close(promise: nil) }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let fault: Fault
        private let counter: Counter
        private var input = ByteBuffer()

        init(fault: Fault, counter: Counter) { (self.fault, self.counter) = (fault, counter) }

        func channelActive(context: ChannelHandlerContext) { if fault == .hangsUp { context.close(promise: nil) } }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            input.writeBuffer(&bytes)
            while let length = input.getInteger(at: input.readerIndex, as: UInt32.self),
                input.readableBytes >= 4 + Int(length)
            {
                input.moveReaderIndex(forwardBy: 4)
                counter.value.withLock { $0 += 1 }
                guard let bytes = input.readSlice(length: Int(length)),
                    let frame = try? SPOPFrame(bytes.readableBytesUInt8Span)
                else { return }
                let answer = frame.kind == .notify ? answer(frame.id) : hello(frame)
                if let answer { context.writeAndFlush(wrapOutboundOut(answer), promise: nil) }
                if answer == nil, fault == .dies, frame.kind == .notify { context.close(promise: nil) }
            }
        }

        private static let garbage = ByteBuffer(
            bytes: [0, 0, 0, 9, 103, 0, 0, 0, 1, 255, 255, 255, 255] + Array("GET /".utf8)
        )

        private func hello(_ frame: borrowing SPOPFrame) -> ByteBuffer? {
            var bytes = ByteBuffer()
            switch fault {
            case .garblesHello: return Self.garbage
            case .stallsHello: return nil
            case .refusesHello: bytes.writeSPOP(disconnect: .badVersion)
            default:
                guard let terms = try? SPOPHello(frame, limit: 16_380) else { return nil }
                bytes.writeSPOP(hello: terms)
            }
            return bytes
        }

        private func answer(_ id: SPOPFrame.ID) -> ByteBuffer? {
            var bytes = ByteBuffer()
            switch fault {
            case .dies, .stalls: return nil
            case .garbles: return Self.garbage
            case .disconnects: bytes.writeSPOP(disconnect: .unknown)
            case .sendsTooMuch: bytes.writeInteger(UInt32.max)
            case .answersAnother:
                let other = SPOPFrame.ID(stream: id.stream + 1000, frame: id.frame)
                set(
                    in: &bytes,
                    for: other,
                    variables: [("allowed", .bool(true)), ("code", .string(ByteBuffer(string: "verified")))]
                )
            case .allowsWithoutCode: set(in: &bytes, for: id, variables: [("allowed", .bool(true))])
            case .allowsInText: set(in: &bytes, for: id, variables: [("allowed", .string(ByteBuffer(string: "true")))])
            case .refusesWithoutStatus:
                set(
                    in: &bytes,
                    for: id,
                    variables: [("allowed", .bool(false)), ("code", .string(ByteBuffer(string: "x")))]
                )
            default: set(in: &bytes, for: id, variables: [])
            }
            return bytes
        }

        private func set(in bytes: inout ByteBuffer, for id: SPOPFrame.ID, variables: [(StaticString, SPOPValue)]) {
            bytes.writeSPOP(.acknowledge, of: id) { frame in
                for (name, value) in variables {
                    frame.writeBytes([1, 3, 2])
                    frame.writeSPOP(string: name)
                    frame.writeSPOP(value)
                }
            }
        }
    }
}
