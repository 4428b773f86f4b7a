// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import Testing

@testable import RedisStore

@Suite struct `A command of Redis` {
    /// Redis's protocol counts bytes, not characters.
    @Test(
        arguments: [
            ([], "*0\r\n"),
            (["PING"], "*1\r\n$4\r\nPING\r\n"),
            (["SET", "", "a\r\n$1"], "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\n$1\r\n"),
            (["é€"], "*1\r\n$5\r\né€\r\n"),
        ] as [([String], String)]
    )
    func `is an array of counted words`(words: [String], wire: String) {
        #expect(bytes(of: RedisCommand(words)) == [UInt8](wire.utf8))
    }

    @Test func `has words of texts, numbers and hexadecimal digits`() {
        var words = RedisWords(capacity: 1)
        words.append("key")
        words.append(-7)
        words.append(Int64.min)
        words.append("p:", then: "use:{", hexadecimal: [0x00, 0x9F, 0xA0], suffix: "}:1")
        words.append("", then: "", hexadecimal: [])
        let texts = ["key", "-7", "-9223372036854775808", "p:use:{009fa0}:1", ""]
        #expect((0..<6).map { words.word($0).map { String(decoding: $0, as: UTF8.self) } } == texts + [nil])
        let command = RedisCommand(first: RedisWords(["EVALSHA", "digest"]), others: words)
        #expect(bytes(of: command) == bytes(of: RedisCommand(["EVALSHA", "digest"] + texts)))
    }

    private func bytes(of command: RedisCommand) -> [UInt8] {
        var buffer = ByteBuffer()
        command.write(into: &buffer)
        return [UInt8](buffer.readableBytesView)
    }
}
