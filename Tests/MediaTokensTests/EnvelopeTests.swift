// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Envelopes of tokens` {
    /// The two parts of a plain token.
    private static func parts() throws -> (signature: String, body: String) {
        let token = try UnverifiedToken(reading: try Sample.token().raw)
        return (Base64.encode(token.signature), String(decoding: token.signedBytes, as: UTF8.self))
    }

    struct Spelling: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expected: RefusalReason?
        let make: @Sendable (_ signature: String, _ body: String) -> String

        init(
            _ name: String,
            expected: RefusalReason?,
            make: @escaping @Sendable (_ signature: String, _ body: String) -> String
        ) {
            testDescription = name
            self.expected = expected
            self.make = make
        }
    }

    @Test(
        arguments: [
            Spelling("as issued", expected: nil) { "<signatureInfo>\($0)<signatureInfo>\($1)" },
            Spelling("a closed marker", expected: nil) { "<signatureInfo>\($0)</signatureInfo>\($1)" },
            Spelling("white space before the root", expected: nil) {
                "<signatureInfo>\($0)<signatureInfo> \t\r\n\($1)"
            },
            Spelling("white space after the root", expected: nil) { "<signatureInfo>\($0)<signatureInfo>\($1)\r\n \t" },
            Spelling("an unpadded signature", expected: nil) {
                "<signatureInfo>\($0.filter { $0 != "=" })<signatureInfo>\($1)"
            },
            Spelling("a URL-safe signature", expected: nil) { "<signatureInfo>\(urlSafe($0))<signatureInfo>\($1)" },
            Spelling("white space in front", expected: .invalidBase64) { " <signatureInfo>\($0)<signatureInfo>\($1)" },
            Spelling("junk in front", expected: .invalidBase64) { "x<signatureInfo>\($0)<signatureInfo>\($1)" },
            Spelling("a comment in front", expected: .invalidEnvelope) {
                "<!---->\n<signatureInfo>\($0)<signatureInfo>\($1)"
            },
            Spelling("a byte order mark in front", expected: .invalidBase64) {
                "\u{FEFF}<signatureInfo>\($0)<signatureInfo>\($1)"
            },
            Spelling("junk behind", expected: .invalidEnvelope) { "<signatureInfo>\($0)<signatureInfo>\($1)x" },
            Spelling("a null behind", expected: .invalidEnvelope) { "<signatureInfo>\($0)<signatureInfo>\($1)\0" },
            Spelling("junk between", expected: .invalidEnvelope) { "<signatureInfo>\($0)<signatureInfo>x\($1)" },
            Spelling("an element behind", expected: .invalidEnvelope) {
                "<signatureInfo>\($0)<signatureInfo>\($1)<a/>"
            },
            Spelling("a second root", expected: .untrustedSignature) {
                "<signatureInfo>\($0)<signatureInfo>\($1)\($1)"
            },
            Spelling("a third marker", expected: .unsupportedRoot) {
                "<signatureInfo>\($0)<signatureInfo><signatureInfo>\($1)"
            },
            Spelling("one marker", expected: .invalidEnvelope) { "<signatureInfo>\($0)\($1)" },
            Spelling("no marker", expected: .invalidEnvelope) { _, body in body },
            Spelling("markers in upper case", expected: .invalidEnvelope) {
                "<SIGNATUREINFO>\($0)<SIGNATUREINFO>\($1)"
            },
            Spelling("a marker with a space", expected: .invalidEnvelope) {
                "<signatureInfo >\($0)<signatureInfo>\($1)"
            },
            Spelling("a marker that is cut", expected: .invalidEnvelope) { signature, _ in
                "<signatureInfo>\(signature)<signa"
            },
            Spelling("nothing but markers", expected: .invalidEnvelope) { _, _ in "<signatureInfo><signatureInfo>" },
            Spelling("no root", expected: .invalidEnvelope) { signature, _ in
                "<signatureInfo>\(signature)<signatureInfo>"
            },
            Spelling("a root without end", expected: .invalidEnvelope) {
                "<signatureInfo>\($0)<signatureInfo>\($1.dropLast(12))"
            },
            Spelling("a root that overlaps its end", expected: .invalidEnvelope) { signature, _ in
                "<signatureInfo>\(signature)<signatureInfo><authToken>/authToken>"
            },
            Spelling("an empty root", expected: .untrustedSignature) { signature, _ in
                "<signatureInfo>\(signature)<signatureInfo><authToken></authToken>"
            },
            Spelling("a root with an attribute", expected: .unsupportedRoot) {
                "<signatureInfo>\($0)<signatureInfo><authToken a=\"\">\($1.dropFirst(11))"
            },
            Spelling("a root with a longer name", expected: .unsupportedRoot) {
                "<signatureInfo>\($0)<signatureInfo><authTokens>\($1.dropFirst(11).dropLast())s>"
            },
            Spelling("a root in upper case", expected: .unsupportedRoot) {
                "<signatureInfo>\($0)<signatureInfo>\($1.replacing("authToken", with: "AUTHTOKEN"))"
            },
            Spelling("an end tag of the other root", expected: .invalidEnvelope) {
                "<signatureInfo>\($0)<signatureInfo>\($1.replacing("</authToken>", with: "</shortAuthorizationToken>"))"
            },
            Spelling("the other root", expected: .untrustedSignature) {
                "<signatureInfo>\($0)<signatureInfo>\($1.replacing("authToken", with: "shortAuthorizationToken"))"
            },
            Spelling("a declaration", expected: .unsupportedRoot) {
                "<signatureInfo>\($0)<signatureInfo><?xml version='1.0'?>\($1)"
            },
            Spelling("no signature", expected: .invalidSignatureEncoding) { "<signatureInfo><signatureInfo>\($1)" },
            Spelling("white space in the signature", expected: .invalidSignatureEncoding) {
                "<signatureInfo>\($0.prefix(64))\n\($0.dropFirst(64))<signatureInfo>\($1)"
            },
            Spelling("white space behind the signature", expected: .invalidSignatureEncoding) {
                "<signatureInfo>\($0) <signatureInfo>\($1)"
            },
            Spelling("half of the padding", expected: .invalidSignatureEncoding) {
                "<signatureInfo>\($0.dropLast())<signatureInfo>\($1)"
            },
            Spelling("too much padding", expected: .invalidSignatureEncoding) {
                "<signatureInfo>\($0)=<signatureInfo>\($1)"
            },
            Spelling("a signature that is too short", expected: .signatureLength) {
                "<signatureInfo>\($0.dropFirst(4))<signatureInfo>\($1)"
            },
            Spelling("a signature that is too long", expected: .signatureLength) {
                "<signatureInfo>AAAA\($0)<signatureInfo>\($1)"
            },
            Spelling("a signature for no key at all", expected: .invalidSignatureEncoding) {
                "<signatureInfo>\(String(repeating: "A", count: 1369))<signatureInfo>\($1)"
            },
            Spelling("a signature of zeros", expected: .untrustedSignature) {
                "<signatureInfo>\(String(repeating: "A", count: $0.utf8.count - 2))==<signatureInfo>\($1)"
            },
        ]
    )
    func `are read as they stand on the wire and in no other way`(spelling: Spelling) throws {
        let parts = try Self.parts()
        let raw = spelling.make(parts.signature, parts.body)
        #expect(try Sample.verify(raw).reason == spelling.expected)
        // A text that does not start as a raw token is decoded as Base64; inside Base64 it is an invalid envelope.
        let inside = spelling.expected == .invalidBase64 ? RefusalReason.invalidEnvelope : spelling.expected
        #expect(try Sample.verify(Base64.encode([UInt8](raw.utf8))).reason == inside)
    }

    private static func unpadded(_ text: String) -> String { text.filter { $0 != "=" } }

    private static func urlSafe(_ text: String) -> String {
        unpadded(text).replacing("+", with: "-").replacing("/", with: "_")
    }

    @Test(
        arguments: [
            Spelling("standard", expected: nil) { text, _ in text },
            Spelling("URL-safe", expected: nil) { text, _ in urlSafe(text) },
            Spelling("unpadded", expected: nil) { text, _ in unpadded(text) },
            Spelling("both alphabets", expected: nil) { text, _ in text.replacing("+", with: "-") },
            Spelling("a line end behind", expected: .invalidBase64) { text, _ in text + "\n" },
            Spelling("a space in front", expected: .invalidBase64) { text, _ in " " + text },
            Spelling("lines", expected: .invalidBase64) { text, _ in text.prefix(76) + "\r\n" + text.dropFirst(76) },
            Spelling("a space inside", expected: .invalidBase64) { text, _ in
                text.prefix(400) + " " + text.dropFirst(400)
            },
            Spelling("blanks for plus signs", expected: .blanksForPlus) { text, _ in text.replacing("+", with: " ") },
            Spelling("one more padding", expected: .invalidBase64) { text, _ in text + "=" },
            Spelling("four paddings", expected: .invalidBase64) { text, _ in text + "====" },
            Spelling("padding in the middle", expected: .invalidBase64) { text, _ in
                text.prefix(4) + "AA==" + text.dropFirst(4)
            },
            Spelling("percent signs", expected: .invalidBase64) { text, _ in text.replacing("=", with: "%3D") + "%3D" },
            Spelling("twice", expected: .invalidEnvelope) { text, _ in Base64.encode([UInt8](text.utf8)) },
            Spelling("a letter of another script", expected: .invalidBase64) { text, _ in
                text.prefix(4) + "Ж" + text.dropFirst(4)
            },
            Spelling("only padding", expected: .invalidBase64) { _, _ in "====" },
            Spelling("a single padding", expected: .invalidBase64) { _, _ in "=" },
            Spelling("a single character", expected: .invalidBase64) { _, _ in "P" },
        ]
    )
    func `are decoded once and strictly`(spelling: Spelling) throws {
        // A session whose Base64 has both characters in which the alphabets differ.
        let token = try Sample.token(.plain.setting("sessionGUID", to: "~~~???>>>ÿþ~~~???>>>ÿÿ"))
        #expect(try Sample.verify(spelling.make(token, "")).reason == spelling.expected)
    }

    @Test(arguments: ["simpleAuthenticationToken", "simpleAuthorizationToken"], [true, false])
    func `of long-lived tokens are refused though the signature is good`(root: String, hasMediaFields: Bool) throws {
        let longLived = """
            <\(root)><simpleTokenRequestorID>REF30</simpleTokenRequestorID>\
            <simpleTokenResourceID>TNT</simpleTokenResourceID>\
            <simpleTokenTTL>2031/03/17 14:40:08 GMT +0200</simpleTokenTTL></\(root)>
            """
        let body = hasMediaFields ? TokenBody.plain.rooted(root).bytes : [UInt8](longLived.utf8)
        let issued = try TestSigner.main.get().issuer.sign(body: body)
        #expect(try Sample.verify(issued.serialized).reason == .unsupportedRoot)
        #expect(try Sample.verify(issued.raw).reason == .unsupportedRoot)
        #expect(try Sample.verifier().authenticate(issued.raw, at: Sample.time).reason == .unsupportedRoot)
    }

    @Test(arguments: [(0, nil), (1, .tokenTooLarge)] as [(Int, RefusalReason?)])
    func `have at most 16 KiB`(excess: Int, expected: RefusalReason?) throws {
        let raw = try Sample.token().raw
        let padded = raw + String(repeating: " ", count: Verifier.maximumEncodedSize - raw.utf8.count + excess)
        #expect(try Sample.verify(padded).reason == expected)
    }

    @Test func `may be full of text`() throws {
        let issued = try TestSigner.main.get().issuer.sign(
            body: TokenBody.plain.setting("resourceID", to: String(repeating: "&lt;", count: 2800)).bytes
        )
        let answer = try Sample.verifier().authenticate(issued.serialized, at: Sample.time)
        #expect(answer.token?.resourceID == String(repeating: "<", count: 2800))
    }
}

@Suite struct `Base64 of tokens` {
    private static func decode(_ text: String) -> [UInt8]? { decode([UInt8](text.utf8)) }

    private static func decode(_ input: [UInt8]) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: Base64.decodedCapacity(input.count))
        var span = output.mutableSpan
        return Base64.decode(input.span, into: &span).map { Array(output.prefix($0)) }
    }

    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func `goes both ways`(text: String, encoded: String) {
        #expect(Base64.encode([UInt8](text.utf8)) == encoded)
        #expect(Self.decode(encoded) == [UInt8](text.utf8))
        #expect(Self.decode(encoded.filter { $0 != "=" }) == [UInt8](text.utf8))
    }

    @Test func `retains every byte in every position`() {
        var random = SplitMix64(seed: 1)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Self.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: [
        "Zh==", "Zm9=", "Zm9vYh", "Zg=", "Zg===", "Z", "Zg==Zg==", "Z===", "====", "=Zg=", "Zm9v\n", "Zm 9v",
    ])
    func `has one spelling of a byte`(text: String) {
        #expect(Self.decode(text) == nil)
    }

    @Test func `has 64 characters and two more`() {
        let known = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)
        for byte in UInt8.min...UInt8.max {
            for index in 0..<4 {
                var text = [UInt8]("AAAA".utf8)
                text[index] = byte
                // Padding may be at the end, and then the unused bits of the character before it are ignored.
                let isPadding = byte == UInt8(ascii: "=") && index == 3
                var output = [UInt8](repeating: 0, count: 8)
                var span = output.mutableSpan
                let isDecoded = Base64.decode(text.span, into: &span) != nil
                #expect(isDecoded == (known.contains(byte) || isPadding))
            }
        }
    }

    /// Long texts are decoded in blocks, groups of four characters are not.
    @Test func `reads a long text as it reads its groups`() {
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: "=") {
            for index in 0..<100 {
                var text = [UInt8](repeating: UInt8(ascii: "Q"), count: 100)
                text[index] = byte
                let groups = stride(from: 0, to: 100, by: 4).map { start in
                    Self.decode(Array(text[start..<(start + 4)]))
                }
                let whole = groups.contains(nil) ? nil : groups.flatMap { $0 ?? [] }
                #expect(Self.decode(text) == whole, "byte \(byte) at \(index)")
            }
        }
    }

    @Test(arguments: 0..<200)
    func `writes within the capacity that it asks for`(count: Int) {
        let text = [UInt8](repeating: UInt8(ascii: "Q"), count: count)
        let capacity = Base64.decodedCapacity(count)
        var output = [UInt8](repeating: 0xAA, count: capacity + 64)
        unsafe output.withUnsafeMutableBufferPointer { output in
            var front = unsafe MutableSpan(_unsafeElements: output.extracting(..<capacity))
            _ = Base64.decode(text.span, into: &front)
        }
        #expect(output.dropFirst(capacity).allSatisfy { $0 == 0xAA })
    }
}
