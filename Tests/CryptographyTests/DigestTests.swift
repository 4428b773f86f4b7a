// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Testing

@Suite struct `Digests` {
    /// FIPS 180-4: the digests of "abc" (NIST, examples with intermediate values); for MD5, RFC 1321 §A.5.
    @Test(arguments: [
        (MessageDigest.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (.sha512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"), (.md5, "900150983cd24fb0d6963f7d28e17f72"),
    ])
    func `are those of the standard`(function: MessageDigest, hex: String) {
        let digest = [UInt8](hex: hex)
        for _ in 0..<2 { #expect(function.digest([UInt8]("abc".utf8)) == digest) }
        #expect(function.isDigest(digest, of: [UInt8]("abc".utf8)))
        #expect(!function.isDigest(digest, of: [UInt8]("abd".utf8)))
        #expect(!function.isDigest(digest.dropLast(), of: [UInt8]("abc".utf8)))
        #expect(digest.count == function.size)
    }

    @Test func `compares bytes`() {
        let (one, other): ([UInt8], [UInt8]) = ([1, 2, 3], [1, 2, 4])
        #expect(ConstantTime.equals(one, to: [1, 2, 3]))
        #expect(!ConstantTime.equals(one, to: other))
        #expect(!ConstantTime.equals(one, to: [1, 2]))
        #expect(ConstantTime.equals([UInt8](), to: [UInt8]()))
    }

    @Test func `makes random bytes that differ`() throws {
        let made = try (0..<100).map { _ in try RandomBytes.make(16) }
        #expect(Set(made).count == 100 && made.allSatisfy { $0.count == 16 })
        #expect(try RandomBytes.make(0) == [])
    }
}
