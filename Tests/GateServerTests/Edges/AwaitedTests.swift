// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

@Suite struct `An answer that is awaited without a task` {
    private typealias Resume = Awaited<Int>.Resume

    /// Delivers an answer, and returns the answers as they arrive.
    private static func deliver(
        on loop: EmbeddedEventLoop,
        _ begin: @escaping @Sendable (@escaping Resume) -> Void
    ) -> NIOLoopBoundBox<[Int]> {
        let arrived = NIOLoopBoundBox<[Int]>([], eventLoop: loop)
        let task = Awaited.call(begin).deliver(on: loop, executor: EventLoopExecutor(loop)) { arrived.value.append($0) }
        #expect(task == nil)
        return arrived
    }

    /// A store that fails at once must not process the next request inside this one.
    @Test func `arrives after the call for it has returned`() {
        let loop = EmbeddedEventLoop()
        let arrived = Self.deliver(on: loop) { resume in resume { 7 } }
        #expect(arrived.value.isEmpty)
        loop.run()
        #expect(arrived.value == [7])
    }

    @Test func `arrives from its event loop later`() {
        let loop = EmbeddedEventLoop()
        let arrived = Self.deliver(on: loop) { resume in
            loop.execute {
                resume { 8 }
                resume { 9 }
            }
        }
        #expect(arrived.value.isEmpty)
        loop.run()
        #expect(arrived.value == [8, 9])
    }

    @Test func `is the same in another form, and for a task`() async {
        let number = Awaited<Int>.call { resume in resume { 9 } }
        #expect(await number.value == 9)
        #expect(await number.map { "\($0)" }.value == "9")
        #expect(await Awaited<Int>.task { 10 }.map { -$0 }.value == -10)
    }
}
