// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Issuers` {
    private static func body(
        _ claims: TokenClaims = Sample.claims,
        root: Issuer.Root = .authToken,
        offsetMinutes: Int = 0
    ) throws -> String {
        let issuer = Issuer(key: try TestSigner.main.get().signingKey, root: root, offsetMinutes: offsetMinutes)
        return String(
            decoding: try UnverifiedToken(reading: try issuer.issue(claims, at: Sample.time).raw).signedBytes,
            as: UTF8.self
        )
    }

    @Test func `write tokens as they are on the wire`() throws {
        var claims = Sample.claims
        let fields = """
            <sessionGUID>00112233445566778899aabbccddeeff</sessionGUID><requestorID>REF30</requestorID>\
            <resourceID>TNT</resourceID><ttl>420000</ttl><issueTime>2031-01-02 03:04:05 -0700</issueTime>\
            <mvpdId>SandboxMVPD</mvpdId>
            """
        #expect(try Self.body(claims, offsetMinutes: -420) == "<authToken>\(fields)</authToken>")
        #expect(TokenBody.plain.text == "<authToken>\(fields)</authToken>")
        claims.proxyMVPDID = "Proxied"
        #expect(
            try Self.body(claims, root: .shortAuthorizationToken, offsetMinutes: -420)
                == "<shortAuthorizationToken>\(fields)<proxyMvpdId>Proxied</proxyMvpdId></shortAuthorizationToken>"
        )
        let issued = try Sample.token()
        let token = try UnverifiedToken(reading: issued.raw)
        #expect(token.signature.count == 256)
        #expect(token.root == "authToken")
        let signature = Base64.encode(token.signature)
        let signed = String(decoding: token.signedBytes, as: UTF8.self)
        #expect(signature.utf8.count == 344)
        #expect(issued.raw == "<signatureInfo>\(signature)<signatureInfo>\(signed)")
        #expect(issued.serialized == Base64.encode([UInt8](issued.raw.utf8)))
        #expect(issued.serialized.hasPrefix("PHNpZ25hdHVyZUluZm8+"))
    }

    @Test func `tell tokens of one second apart if they write milliseconds`() throws {
        let issuer = Issuer(key: try TestSigner.main.get().signingKey, writesMilliseconds: true)
        let times = [0, 1, 999].map { Sample.time.advanced(byMilliseconds: $0) }
        let raws = try times.map { try issuer.issue(Sample.claims, at: $0).raw }
        #expect(Set(raws).count == 3)
        #expect(raws[1].contains("<issueTime>2031-01-02T10:04:05.001Z</issueTime>"))
        #expect(try raws.map { try UnverifiedToken(reading: $0).content.timeIssued } == times)
    }

    @Test(
        arguments: [
            ("TNT", "TNT"), ("A & B", "A &amp; B"), ("a > b", "a &gt; b"), ("]]>", "]]&gt;"), ("\"'", "\"'"),
            ("é€", "é€"),
            ("a\rb", "a&#13;b"), ("<a/>", "<![CDATA[<a/>]]>"), ("<a>&amp;</a>", "<![CDATA[<a>&amp;</a>]]>"),
            ("<a><![CDATA[x]]></a>", "<![CDATA[<a><![CDATA[x]]]]>><![CDATA[</a>]]>"),
            ("<]]>", "<![CDATA[<]]]]>><![CDATA[]]>"), ("<]]]>]]>x", "<![CDATA[<]]]]]>><![CDATA[]]]]>><![CDATA[x]]>"),
            ("<a>\r</a>", "&lt;a&gt;&#13;&lt;/a&gt;"), ("<]>", "<![CDATA[<]>]]>"),
        ]
    )
    func `spell resources so that they come back`(resource: String, spelling: String) throws {
        var claims = Sample.claims
        claims.resourceID = resource
        #expect(try Self.body(claims).contains("<resourceID>\(spelling)</resourceID>"))
        let issued = try TestSigner.main.get().issuer.issue(claims, at: Sample.time)
        let token = try #require(try Sample.verifier().authenticate(issued.serialized, at: Sample.time).token)
        #expect(Array(token.resourceID.utf8) == Array(resource.utf8))
    }

    @Test(arguments: UInt64(0)..<200)
    func `lose no text`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let pieces = [
            "]", "]]", ">", "<", "&", "\r", "\n", "\r\n", "a", "é", "<![CDATA[", "]]>", "&amp;", "\"", "\u{1F600}",
        ]
        var claims = Sample.claims
        claims.resourceID = "x" + (0..<Int.random(in: 0...12, using: &random)).map { _ in random.pick(pieces) }.joined()
        claims.mvpdID = "y" + (0..<Int.random(in: 0...12, using: &random)).map { _ in random.pick(pieces) }.joined()
        let issued = try TestSigner.main.get().issuer.issue(claims, at: Sample.time)
        let token = try #require(try Sample.verifier().authenticate(issued.raw, at: Sample.time).token)
        #expect(Array(token.resourceID.utf8) == Array(claims.resourceID.utf8))
        #expect(Array(token.mvpdID.utf8) == Array(claims.mvpdID.utf8))
    }

    @Test(arguments: [
        (0, "10:04:05 +0000"), (345, "15:49:05 +0545"), (-30, "09:34:05 -0030"), (9999, "00:04:05 +1400"),
    ])
    func `write times at their offset`(offset: Int, expected: String) throws {
        #expect(try Self.body(offsetMinutes: offset).contains(" \(expected)</issueTime>"))
    }

    @Test(arguments: ["", " ", "\n\t"])
    func `issue no empty field`(empty: String) throws {
        let changes: [(String, WritableKeyPath<TokenClaims, String>)] = [
            ("sessionGUID", \.userSessionGUID), ("requestorID", \.requestorID), ("resourceID", \.resourceID),
            ("mvpdId", \.mvpdID),
        ]
        for (name, path) in changes {
            var claims = Sample.claims
            claims[keyPath: path] = empty
            #expect(throws: IssueError.emptyField(name)) { _ = try Self.body(claims) }
            claims[keyPath: path] = "a\u{1}"
            #expect(throws: IssueError.invalidCharacter(name)) { _ = try Self.body(claims) }
        }
        var claims = Sample.claims
        claims.proxyMVPDID = empty
        #expect(throws: IssueError.emptyField("proxyMvpdId")) { _ = try Self.body(claims) }
    }

    @Test func `issue no token that is too large`() throws {
        var claims = Sample.claims
        claims.resourceID = String(repeating: "x", count: 12_000)
        #expect(throws: IssueError.tooLarge) { _ = try Self.body(claims) }
        claims.resourceID = String(repeating: "x", count: 11_000)
        #expect(try Self.body(claims).utf8.count > 11_000)
    }

    @Test(
        arguments: [
            IssueError.emptyField("a"), .invalidCharacter("a"), .tooLarge, .signingFailed,
        ]
    )
    func `have errors with codes`(error: IssueError) {
        #expect(error.description.hasSuffix("]") && error.description.contains("[issue_"))
    }
}

@Suite struct `Signing keys` {
    @Test func `never print`() throws {
        let signer = try TestSigner.main.get()
        var dumped = ""
        dump(signer.signingKey, to: &dumped)
        let texts = [
            "\(signer.signingKey)", String(reflecting: signer.signingKey), String(describing: [signer.signingKey]),
            dumped,
            String(describing: Mirror(reflecting: signer.signingKey).children.map { "\($0)" }),
        ]
        let lines = signer.keys.signerKey.split(separator: "\n").filter { !$0.hasPrefix("-") }
        for text in texts {
            #expect(!text.contains("BEGIN") && !text.contains("0x"))
            for line in lines { #expect(!text.contains(line)) }
        }
        #expect(texts[0] == "<private key>")
        #expect(Mirror(reflecting: signer.signingKey).children.isEmpty)
    }

    @Test(
        arguments: [
            ("", TrustError.Code.noKey), ("words", .noKey),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", .malformedPEM),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n", .malformedPEM),
            ("-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n", .malformedPEM),
        ]
    )
    func `are refused with their name and the reason`(text: String, code: TrustError.Code) throws {
        let error = try #require(#expect(throws: TrustError.self) { _ = try SigningKey(pem: text, name: "mine") })
        #expect(error.code == code)
        #expect(error.description.hasPrefix("mine: "))
    }

    @Test func `are not public keys and not small`() throws {
        let signer = try TestSigner.main.get()
        for text in [signer.keys.signerCertificate, try signer.publicKey()] {
            let error = #expect(throws: TrustError.self) { _ = try SigningKey(pem: text) }
            #expect(error?.code == .noKey)
        }
        let tiny = try RSAPrivateKey(generatingBits: 768).pem()
        #expect(#expect(throws: TrustError.self) { _ = try SigningKey(pem: tiny) }?.code == .keyTooSmall)
        for (bits, code) in [(512, TrustError.Code.keyTooSmall), (16_384, .keyTooLarge)] {
            let error = #expect(throws: TrustError.self) { _ = try DevelopmentKeys(bits: bits, at: Sample.time) }
            #expect(error?.code == code)
        }
    }
}
