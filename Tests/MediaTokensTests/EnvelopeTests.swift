// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `The envelope` {
    private let fixture: Fixture

    init() throws { fixture = try Fixture.shared.get() }

    @Test func `comes raw or in one layer of Base64`() throws {
        let token = try fixture.token { $0.userSessionGUID = "~~~???>>>" }
        let urlSafe = token.serialized.replacing("+", with: "-").replacing("/", with: "_")
        let unpadded = String(token.serialized.prefix { $0 != "=" })
        for text in [token.raw, token.serialized, urlSafe, unpadded] {
            #expect(try fixture.verify(text).isValid, "\(text.prefix(20))")
        }
        let closed = token.raw.replacing("<signatureInfo><authToken>", with: "</signatureInfo><authToken>")
        let spaced = token.raw.replacing("<signatureInfo><authToken>", with: "<signatureInfo>\r\n\t <authToken>")
        for text in [closed, spaced, token.raw + " \r\n\t", Base64.encode(Array(spaced.utf8))] {
            #expect(try fixture.verify(text).isValid)
        }
    }

    @Test func `is refused when anything else is in it`() throws {
        let token = try fixture.token()
        let (raw, serialized) = (token.raw, token.serialized)
        let middle = serialized.index(serialized.startIndex, offsetBy: 400)
        let twice = Base64.encode(Array(serialized.utf8))
        let rows: [(String, RefusalReason)] = [
            (" " + raw, .invalidBase64), ("x" + raw, .invalidBase64), (raw + "x", .invalidEnvelope),
            (raw + "<x/>", .invalidEnvelope), ("<" + raw, .invalidEnvelope), (" " + serialized, .invalidBase64),
            (serialized + "\n", .invalidBase64), (serialized + "=", .invalidBase64), (twice, .invalidEnvelope),
            (serialized[..<middle] + "\n" + serialized[middle...], .invalidBase64),
            (serialized[..<middle] + " " + serialized[middle...], .invalidBase64),
            (raw.replacing("<signatureInfo><auth", with: "<auth"), .invalidEnvelope),
            (raw.replacing("<signatureInfo><auth", with: "<signatureinfo><auth"), .invalidEnvelope),
            (raw.replacing("<signatureInfo><auth", with: "\n<signatureInfo><auth"), .invalidSignatureEncoding),
            (raw.replacing("<signatureInfo><auth", with: "<signatureInfo>x<auth"), .invalidEnvelope),
            (raw.replacing("<signatureInfo><auth", with: "<signatureInfo><!-- --><auth"), .unsupportedRoot),
            (raw.replacing("authToken", with: "AuthToken"), .unsupportedRoot),
            (raw.replacing("<authToken>", with: "<authToken >"), .unsupportedRoot),
            (raw.replacing("<authToken>", with: "<authToken a='b'>"), .unsupportedRoot),
            (raw.replacing("</authToken>", with: "</shortAuthorizationToken>"), .invalidEnvelope),
            (raw.replacing("<authToken>", with: "<!DOCTYPE a><authToken>"), .unsupportedRoot),
            ("<signatureInfo><signatureInfo><authToken></authToken>", .invalidSignatureEncoding),
        ]
        for (text, reason) in rows { #expect(try fixture.verify(text).reason == reason, "\(text.prefix(30))…") }
    }

    /// The list of roots is a security check: these carry a valid signature of the same key.
    @Test(arguments: [
        "simpleAuthenticationToken", "simpleAuthorizationToken", "authTokens", "authtoken", "x:authToken",
    ])
    func `keeps other tokens of the same issuer out`(root: String) throws {
        let body = Body().text.replacing("authToken", with: root)
        let token = try fixture.token(body: body)
        #expect(try fixture.verify(token.raw).reason == .unsupportedRoot)
        #expect(try fixture.verify(token.serialized).reason == .unsupportedRoot)
    }

    @Test func `takes both roots of media tokens`() throws {
        for root in Issuer.Root.allCases {
            let issuer = Issuer(key: try SigningKey(pem: fixture.keys.signerKey), root: root)
            #expect(try fixture.verify(issuer.issue(Fixture.claims, at: Fixture.now).serialized).isValid)
        }
    }

    @Test func `is refused at every length but the whole`() throws {
        let token = try fixture.token()
        for length in 0..<token.raw.utf8.count {
            #expect(try !fixture.verify(String(token.raw.prefix(length))).isValid)
        }
        let padding = token.serialized.utf8.filter { $0 == UInt8(ascii: "=") }.count
        for length in 0..<token.serialized.utf8.count {
            // Without all of its padding it is the same token, in the spelling without padding.
            let isUnpadded = length == token.serialized.utf8.count - padding && padding > 0
            #expect(try fixture.verify(String(token.serialized.prefix(length))).isValid == isUnpadded)
        }
    }

    @Test(arguments: [false, true])
    func `never gives another content when a bit flips`(isRaw: Bool) throws {
        let token = try fixture.token()
        let bytes = Array((isRaw ? token.raw : token.serialized).utf8)
        let verifier = try fixture.verifier()
        let resource = try MediaResource("TNT")
        let good = try #require(verifier.verify(bytes.span, for: resource, at: Fixture.now).token)
        for index in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(bit)
                let answer = verifier.verify(flipped.span, for: resource, at: Fixture.now)
                guard answer.isValid else { continue }
                // Such as a slash for an underscore, which mean the same.
                #expect(answer.token == good, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func `is read as far as 16 KiB and no further`() throws {
        let padding = String(repeating: " ", count: 16_384)
        let raw = try fixture.token().raw
        #expect(try fixture.verify(String((raw + padding).prefix(16_384))).isValid)
        #expect(try fixture.verify(String((raw + padding).prefix(16_385))).reason == .tokenTooLarge)
    }
}

@Suite struct `Base64 of tokens` {
    @Test(
        arguments: [
            ("", []), ("QQ==", [0x41]), ("QQ", [0x41]), ("QUI=", [0x41, 0x42]), ("QUI", [0x41, 0x42]),
            ("QUJD", [0x41, 0x42, 0x43]), ("-_-_", [0xFB, 0xFF, 0xBF]), ("+/+/", [0xFB, 0xFF, 0xBF]),
            ("Q", nil), ("QQ=", nil), ("Q===", nil), ("QR==", nil), ("QUJ=", nil), ("QQ==QQ==", nil), ("=", nil),
            ("====", nil), ("QU JD", nil), ("QUJD\n", nil), ("QUJ\u{0}", nil), ("QUJ\u{E9}", nil), ("Q=JD", nil),
        ] as [(String, [UInt8]?)]
    )
    func `has one reading or none`(text: String, bytes: [UInt8]?) {
        var output = [UInt8](repeating: 0xAA, count: Base64.decodedCapacity(text.utf8.count))
        var span = output.mutableSpan
        let count = Base64.decode(Array(text.utf8).span, into: &span)
        #expect(count.map { Array(output[..<$0]) } == bytes)
    }

    @Test func `decodes what it encodes, and writes nothing behind its capacity`() {
        var generator = SeededGenerator(seed: 1)
        for size in 0..<300 {
            let bytes = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let text = Array(Base64.encode(bytes).utf8)
            var output = [UInt8](repeating: 0, count: Base64.decodedCapacity(text.count))
            var span = output.mutableSpan
            #expect(Base64.decode(text.span, into: &span) == size)
            #expect(Array(output[..<size]) == bytes)
            var small = [UInt8](repeating: 0, count: max(0, size - 1))
            var smallSpan = small.mutableSpan
            if size > 0 { #expect(Base64.decode(text.span, into: &smallSpan) == nil) }
        }
    }
}
