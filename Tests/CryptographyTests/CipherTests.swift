// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Testing

@testable import Cryptography

@Suite struct `AES for small texts` {
    private let zeros = [UInt8](repeating: 0, count: 16)

    /// The second test case of D. McGrew and J. Viega, The Galois/Counter Mode of Operation.
    @Test func `GCM gives the published text and tag`() throws {
        let cipher = try #require(AuthenticatedCipher(zeros))
        let nonce = [UInt8](repeating: 0, count: 12)
        let sealed = try #require(cipher.seal(zeros, nonce: nonce, authenticating: []))
        #expect(sealed.text.hexadecimal == "0388dace60b6a392f328c2b971b2fe78")
        #expect(sealed.tag.hexadecimal == "ab6e47d42cec13bdf53a67b21257bddf")
        #expect(cipher.open(sealed.text, nonce: nonce, authenticating: [], tag: sealed.tag) == zeros)
        #expect(cipher.open(sealed.text, nonce: nonce, authenticating: [0], tag: sealed.tag) == nil)
        for bit in 0..<8 {
            var (text, tag) = sealed
            text[3] ^= 1 << UInt8(bit)
            #expect(cipher.open(text, nonce: nonce, authenticating: [], tag: sealed.tag) == nil)
            tag[15] ^= 1 << UInt8(bit)
            #expect(cipher.open(sealed.text, nonce: nonce, authenticating: [], tag: tag) == nil)
        }
        #expect(cipher.open(sealed.text, nonce: nonce, authenticating: [], tag: Array(sealed.tag.prefix(4))) == nil)
        #expect(cipher.seal([], nonce: nonce, authenticating: [1])?.text == [])
        #expect(cipher.seal([], nonce: [0], authenticating: []) == nil)
        #expect(AuthenticatedCipher([UInt8](repeating: 0, count: 24)) == nil)
    }

    /// RFC 3394 §4.1 and §4.3.
    @Test func `key wrap gives the published bytes`() throws {
        let data = (0..<16).map { UInt8($0 * 0x11) }
        let rows: [(Int, String)] = [
            (16, "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"),
            (32, "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7"),
        ]
        for (size, text) in rows {
            let key = try #require(KeyWrap((0..<size).map { UInt8($0) }))
            let wrapped = try #require(key.wrap(data))
            #expect(wrapped.hexadecimal == text)
            #expect(key.unwrap(wrapped) == data)
            for index in wrapped.indices {
                var changed = wrapped
                changed[index] ^= 1
                #expect(key.unwrap(changed) == nil, "\(index)")
            }
            #expect(key.unwrap(Array(wrapped.dropLast())) == nil && key.wrap([1]) == nil)
        }
    }
}
