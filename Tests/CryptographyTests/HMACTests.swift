// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Testing

@Suite struct `HMAC` {
    struct Vector: Sendable {
        let key: String
        let message: String
        /// With SHA-256, SHA-384 and SHA-512.
        let codes: [String]
    }

    /// RFC 4231 §4: test cases 1, 2, 3, 4 and 6.
    static let vectors = [
        Vector(
            key: String(repeating: "0b", count: 20),
            message: "4869205468657265",
            codes: [
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
                    + "be9d914eeb61f1702e696c203a126854",
            ]
        ),
        Vector(
            key: "4a656665",
            message: "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            codes: [
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
                    + "caeab1a34d4a6b4b636e070a38bce737",
            ]
        ),
        Vector(
            key: String(repeating: "aa", count: 20),
            message: String(repeating: "dd", count: 50),
            codes: [
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
                "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b2a5ab39dc13814b94e3ab6e101a34f27",
                "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807"
                    + "b946a337bee8942674278859e13292fb",
            ]
        ),
        Vector(
            key: "0102030405060708090a0b0c0d0e0f10111213141516171819",
            message: String(repeating: "cd", count: 50),
            codes: [
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
                "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e6801dd23c4a7d679ccf8a386c674cffb",
                "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275cc5788063"
                    + "a5f19741120c4f2de2adebeb10a298dd",
            ]
        ),
        Vector(
            key: String(repeating: "aa", count: 131),
            message: "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579"
                + "204669727374",
            codes: [
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
                "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e52"
                    + "95e64f73f63f0aec8b915a985d786598",
            ]
        ),
    ]

    /// RFC 2202 §2 and §3, the second test case of each.
    @Test func `gives the codes of RFC 2202`() throws {
        let message = [UInt8]("what do ya want for nothing?".utf8)
        let codes: [(MessageDigest, String)] = [
            (.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"), (.md5, "750c783e6ab0b503eaa86e310a5db738"),
        ]
        for (function, hex) in codes {
            let key = try HMACKey([UInt8]("Jefe".utf8), function: function)
            #expect(key.code(of: message) == [UInt8](hex: hex))
            #expect(key.isValid([UInt8](hex: hex), of: message))
        }
    }

    @Test(arguments: vectors)
    func `gives the codes of RFC 4231`(vector: Vector) throws {
        let message = [UInt8](hex: vector.message)
        for (function, hex) in zip([MessageDigest.sha256, .sha384, .sha512], vector.codes) {
            let key = try HMACKey([UInt8](hex: vector.key), function: function)
            let code = [UInt8](hex: hex)
            // A kept context starts anew each time.
            for _ in 0..<3 {
                #expect(key.code(of: message) == code)
                #expect(key.isValid(code, of: message))
                #expect(!key.isValid(code, of: message.dropLast()))
            }
            // The same message in pieces.
            let (first, rest) = (Array(message.prefix(3)), Array(message.dropFirst(3)))
            let none: [UInt8] = []
            #expect(key.isValid(code, inPieces: [first, none, rest, none]))
            #expect(key.isValid(code, inPieces: [rest, none, first, none]) == (rest + first == message))
        }
    }

    @Test func `refuses codes of another length, and with a wrong bit`() throws {
        let key = try HMACKey([UInt8](repeating: 0x0C, count: 20), function: .sha256)
        let message = [UInt8]("Test With Truncation".utf8)
        let code = [UInt8](hex: "a3b6167473100ee06e0c796c2955552bfa6f7c0a6a8aef8b93f860aab0cd20c5")
        for count in 0..<32 { #expect(!key.isValid(Array(code.prefix(count)), of: message)) }
        #expect(!key.isValid((code + [0]), of: message))
        for bit in 0..<256 {
            var wrong = code
            wrong[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.isValid(wrong, of: message))
        }
        // RFC 4231 §4.6 cuts the code, which only who asks for it accepts.
        let short = Array(code.prefix(8))
        #expect(key.isValid(short, of: message, length: 8))
        #expect(!key.isValid(code, of: message, length: 8))
        #expect(!key.isValid([UInt8](), of: message, length: 0))
    }
}
