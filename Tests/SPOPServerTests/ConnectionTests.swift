// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import HTTPServer
import NIOCore
import NIOEmbedded
import SPOPServer
import Testing

/// A connection of HAProxy, from its first frame to its last.
@Suite struct `A connection of HAProxy` {
    @Test func `begins with the terms that both support`() throws {
        let hello = try Peer().greet()
        #expect(hello.map(\.kind) == [.helloOfAgent])
        // Neither fragmentation nor asynchronous answers, which would need more than this agent does.
        #expect(hello[0].items == ["version=2.0", "max-frame-size=2048", "capabilities=pipelining"])
        let small = try Peer().greet(size: .unsigned(256), capabilities: .string(ByteBuffer(string: "fragmentation")))
        #expect(small[0].items == ["version=2.0", "max-frame-size=256", "capabilities="])
        let older = try Peer().greet(versions: .string(ByteBuffer(string: "1.0, 2.3")))
        #expect(older[0].items.first == "version=2.0")
    }

    private static func text(_ text: String) -> SPOPValue { .string(ByteBuffer(string: text)) }

    /// First frames that are refused, and the code.
    static let refusals: [(name: String, code: Int, versions: SPOPValue?, size: SPOPValue?, abilities: SPOPValue?)] = [
        ("without a version", 5, nil, .unsigned(1024), text("")),
        ("without a frame size", 6, text("2.0"), nil, text("")),
        ("without capabilities", 7, text("2.0"), .unsigned(1024), nil),
        ("of version 1", 8, text("1.0,1.5"), .unsigned(1024), text("")),
        ("of no version", 8, text(""), .unsigned(1024), text("")),
        ("with frames that are too small", 9, text("2.0"), .unsigned(255), text("")),
        ("with frames of an impossible size", 9, text("2.0"), .unsigned(1 << 32), text("")),
        ("with a version of another type", 4, .unsigned(2), .unsigned(1024), text("")),
        ("with a frame size of another type", 4, text("2.0"), text("1024"), text("")),
    ]

    @Test(arguments: refusals) func `ends if the first frame is`(
        name: String,
        code: Int,
        versions: SPOPValue?,
        size: SPOPValue?,
        abilities: SPOPValue?
    ) throws {
        let peer = try Peer()
        let frames = try peer.greet(versions: versions, size: size, capabilities: abilities)
        #expect(frames.map(\.status) == ["status-code=\(code)"], "\(frames)")
        #expect(peer.ended == [SPOPEnd(isByAgent: true, status: UInt64(code))])
        try peer.send(Peer.notification("a"))
        #expect(try peer.frames().isEmpty && peer.service.count == 0)
    }

    @Test func `ends after a health check`() throws {
        let peer = try Peer()
        let frames = try peer.greet(more: [("healthcheck", .bool(true))])
        #expect(frames.map(\.kind) == [.helloOfAgent] && !peer.isOver)
        try peer.send(Peer.notification("a"))
        #expect(try peer.frames().isEmpty && peer.service.count == 0)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 64, 4096]) func `accepts frames in pieces of any size`(size: Int) throws {
        let peer = try Peer()
        try peer.greet()
        var bytes = ByteBuffer()
        for number in 0..<40 {
            bytes.writeImmutableBuffer(Peer.notification("abc", stream: 300, frame: UInt64(number)))
        }
        while let piece = bytes.readSlice(length: min(size, bytes.readableBytes)), piece.readableBytes > 0 {
            try peer.send(piece)
        }
        let frames = try peer.frames()
        #expect(frames.map(\.id.frame) == (0..<40).map { UInt64($0) })
        #expect(frames.allSatisfy { $0.kind == .acknowledge && $0.id.stream == 300 })
        #expect(frames.allSatisfy { $0.items == ["is_first=true", "name=abc", "number=-7"] }, "\(frames)")
    }

    /// Frames after the first, and the code that they end the connection with.
    static let malformed: [(name: String, bytes: [UInt8], code: Int)] = [
        ("empty", [0, 0, 0, 0], 4), ("shorter than a frame", [0, 0, 0, 6, 3, 0, 0, 0, 1, 0], 4),
        ("larger than agreed", [0, 0, 8, 1], 3), ("of 4 GiB", [255, 255, 255, 255], 3),
        ("a fragment", [0, 0, 0, 7, 3, 0, 0, 0, 0, 0, 1], 10),
        ("a later fragment", [0, 0, 0, 7, 0, 0, 0, 0, 1, 0, 1], 10),
        ("with half a message", [0, 0, 0, 9, 3, 0, 0, 0, 1, 0, 1, 1, 109], 4),
        ("with a number that does not end", [0, 0, 0, 7, 3, 0, 0, 0, 1, 255, 255], 4),
        ("a second hello", [0, 0, 0, 7, 1, 0, 0, 0, 1, 0, 0], 4),
        ("an agent's", [0, 0, 0, 7, 103, 0, 0, 0, 1, 0, 0], 4),
        ("an agent's goodbye", [0, 0, 0, 7, 102, 0, 0, 0, 1, 0, 0], 4),
    ]

    @Test(arguments: malformed) func `ends if a frame is`(name: String, bytes: [UInt8], code: Int) throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(ByteBuffer(bytes: bytes))
        #expect(try peer.frames().map(\.status) == ["status-code=\(code)"])
        try peer.send(Peer.notification("a"))
        #expect(try peer.frames().isEmpty && peer.service.count == 0)
    }

    @Test func `ends if there is no handshake, or never does if frames are of unknown types`() throws {
        let hasty = try Peer()
        try hasty.send(Peer.notification("a"))
        #expect(try hasty.frames().map(\.status) == ["status-code=4"] && hasty.service.count == 0)
        let patient = try Peer()
        try patient.greet()
        try patient.send(ByteBuffer(bytes: [0, 0, 0, 7, 77, 0, 0, 0, 1, 0, 0]))
        try patient.send(Peer.notification("a"))
        #expect(try patient.frames().map(\.kind) == [.acknowledge])
    }

    @Test func `is answered a goodbye`() throws {
        let peer = try Peer()
        try peer.greet()
        var bytes = ByteBuffer()
        bytes.writeSPOP(.disconnectOfHAProxy, of: .none) { frame in
            frame.writeSPOP(string: "status-code")
            frame.writeSPOP(.unsigned(2))
        }
        try peer.send(bytes)
        #expect(try peer.frames().map(\.status) == ["status-code=0"])
        #expect(peer.ended == [SPOPEnd(isByAgent: false, status: 2)])
    }

    @Test func `gets no half of a variable that does not fit`() throws {
        let peer = try Peer()
        try peer.greet(size: .unsigned(1024))
        try peer.send(Peer.notification("large"))
        // All after it are missing too, so that the order says what is most important.
        #expect(try peer.frames().map(\.items) == [["is_first=true", "name=large"]])
        try peer.send(Peer.notification("small"))
        #expect(try peer.frames().map(\.items) == [["is_first=true", "name=small", "number=-7"]])
    }

    @Test func `is ended at shutdown, after its answers`() throws {
        let peer = try Peer()
        try peer.greet()
        var bytes = Peer.notification("a")
        let rest = bytes.readableBytes - 4
        let begun = bytes.readSlice(length: 4) ?? ByteBuffer()
        try peer.send(begun)
        // A frame is on its way: it is answered first.
        peer.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try peer.frames().isEmpty)
        try peer.send(bytes.readSlice(length: rest) ?? ByteBuffer())
        #expect(try peer.frames().map(\.kind) == [.acknowledge, .disconnectOfAgent])
        let idle = try Peer()
        try idle.greet()
        idle.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try idle.frames().map(\.status) == ["status-code=0"])
    }

    @Test func `ends with the last answer of a service`() throws {
        let peer = try Peer()
        try peer.greet()
        var bytes = Peer.notification("last")
        bytes.writeImmutableBuffer(Peer.notification("a"))
        try peer.send(bytes)
        #expect(try peer.frames().map(\.kind) == [.acknowledge, .disconnectOfAgent] && peer.service.count == 1)
    }

    @Test func `must send its frames in time, and may be idle for longer`() throws {
        let silent = try Peer()
        silent.channel.embeddedEventLoop.advanceTime(by: .seconds(11))
        #expect(!silent.channel.isActive)
        let slow = try Peer()
        try slow.greet()
        slow.channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        #expect(slow.channel.isActive)
        var bytes = Peer.notification("a")
        for _ in 0..<6 {
            // Each byte in time is not a frame in time.
            try slow.send(bytes.readSlice(length: 1) ?? ByteBuffer())
            slow.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        }
        #expect(!slow.channel.isActive)
        let idle = try Peer()
        try idle.greet()
        idle.channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(!idle.channel.isActive)
    }

    @Test func `ends if all bytes for large frames are taken`() throws {
        let peer = try Peer(headerBytes: 65536, budget: 1000)
        try peer.greet(size: .unsigned(65536))
        try peer.send(ByteBuffer(bytes: [0, 0, 255, 0] + [UInt8](repeating: 3, count: 4200)))
        #expect(!peer.isOver)
        try peer.send(ByteBuffer(bytes: [UInt8](repeating: 3, count: 1000)))
        #expect(try peer.frames().map(\.status) == ["status-code=13"])
    }
}
