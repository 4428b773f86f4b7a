// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOEmbedded
import SPOPServer
import Testing

/// Notifications whose answers are not there at once. All of this is on one thread, and nothing waits for time.
@Suite struct `Answers that come later` {
    private static func notifications(_ names: [StaticString]) -> ByteBuffer {
        var bytes = ByteBuffer()
        for (number, name) in names.enumerated() {
            bytes.writeImmutableBuffer(Peer.notification(name, stream: UInt64(number), frame: 1))
        }
        return bytes
    }

    @Test func `do not hold up others, and arrive once each`() throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(Self.notifications(["later", "a", "later", "b"]))
        #expect(try peer.frames().map(\.id.stream) == [1, 3] && peer.service.count == 4)
        try peer.send(Peer.notification("c", stream: 9))
        #expect(try peer.frames().map(\.id.stream) == [9])
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        let late = try peer.frames()
        #expect(late.map(\.id.stream) == [2, 0] && late.allSatisfy { $0.items.contains("name=later") }, "\(late)")
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().isEmpty && peer.service.count == 5)
    }

    @Test func `are waited for by as many notifications as there may be`() throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(Self.notifications([StaticString](repeating: "later", count: 200)))
        #expect(peer.service.count == 128)
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().count == 128 && peer.service.count == 200)
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().count == 72)
        try peer.send(Peer.notification("a"))
        #expect(try peer.frames().count == 1)
    }

    @Test func `are waited for by one notification without pipelining`() throws {
        let peer = try Peer()
        try peer.greet(capabilities: .string(ByteBuffer(string: "async")))
        try peer.send(Self.notifications(["later", "a"]))
        #expect(try peer.frames().isEmpty && peer.service.count == 1)
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().map(\.id.stream) == [0, 1])
    }

    @Test func `arrive before the goodbye of a shutdown`() throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(Self.notifications(["later", "later"]))
        peer.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try peer.frames().isEmpty)
        // A notification that crosses the shutdown is answered too.
        try peer.send(Peer.notification("a", stream: 5))
        #expect(try peer.frames().map(\.kind) == [.acknowledge])
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().map(\.kind) == [.acknowledge, .acknowledge, .disconnectOfAgent])
    }

    @Test func `are no longer written to a connection that is gone`() throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(Peer.notification("later"))
        _ = try peer.channel.finish(acceptAlreadyClosed: true)
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().isEmpty)
        let broken = try Peer()
        try broken.greet()
        try broken.send(Peer.notification("later"))
        try broken.send(ByteBuffer(bytes: [0, 0, 0, 1]))
        broken.service.release()
        broken.channel.embeddedEventLoop.run()
        #expect(try broken.frames().map(\.status) == ["status-code=4"])
    }

    @Test func `have no deadline, but that of the store`() throws {
        let peer = try Peer()
        try peer.greet()
        try peer.send(Peer.notification("later"))
        peer.channel.embeddedEventLoop.advanceTime(by: .seconds(100))
        #expect(peer.channel.isActive)
        peer.service.release()
        peer.channel.embeddedEventLoop.run()
        #expect(try peer.frames().count == 1)
        peer.channel.embeddedEventLoop.advanceTime(by: .seconds(61))
        #expect(!peer.channel.isActive)
    }
}
