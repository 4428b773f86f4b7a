// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Fields of a token` {
    private let fixture: Fixture

    init() throws { fixture = try Fixture.shared.get() }

    private func read(_ body: String) throws -> Verification {
        try fixture.verifier().authenticate(fixture.token(body: body).serialized, at: Fixture.now)
    }

    @Test(arguments: ["sessionGUID", "requestorID", "resourceID", "ttl", "issueTime", "mvpdId"])
    func `are mandatory, once and not empty`(name: String) throws {
        let value = try #require(Body().fields.first { $0.0 == name }).1
        let rows: [(String, RefusalReason)] = [
            ("", .missingField), ("<\(name)></\(name)>", .emptyField), ("<\(name)/>", .emptyField),
            ("<\(name)> \t\r\n</\(name)>", .emptyField), ("<\(name)><![CDATA[]]></\(name)>", .emptyField),
            ("<\(name)><![CDATA[ ]]></\(name)>", .emptyField),
            ("<\(name)>\(value)</\(name)><\(name)>\(value)</\(name)>", .repeatedField),
            ("<\(name)>\(value)</\(name)><\(name)/>", .repeatedField),
            ("<\(name)>\(value)</\(name)><x/><\(name)>\(value)</\(name)>", .repeatedField),
            ("<\(name)>\(value)", .malformedBody), ("<\(name) a=\"b\">\(value)</\(name)>", .malformedBody),
            ("<\(name)>\(value)<x/></\(name)>", .malformedBody), ("<\(name)>\(value)</x>", .malformedBody),
            ("<\(name)>\(value)<!-- --></\(name)>", .malformedBody),
            ("<\(name)>\(value)<?x?></\(name)>", .malformedBody),
            ("<\(name)>\(value)&nbsp;</\(name)>", .malformedBody), ("<\(name)>\(value)&</\(name)>", .malformedBody),
            ("<\(name)>\(value)&#0;</\(name)>", .malformedBody),
            ("<\(name)>\(value)&#xFFFE;</\(name)>", .malformedBody),
            ("<\(name)>\(value)&#xD800;</\(name)>", .malformedBody), ("<\(name)>\(value)&#;</\(name)>", .malformedBody),
            ("<\(name)>\(value)&#x110000;</\(name)>", .malformedBody),
            ("<\(name)>\(value)&#1</\(name)>", .malformedBody),
            ("<\(name)>\(value)]]></\(name)>", .malformedBody), ("<\(name)>\(value)\u{1}</\(name)>", .malformedBody),
            ("<\(name)>\(value)\u{FFFE}</\(name)>", .malformedBody),
            ("<\(name)>\(value)\u{0}</\(name)>", .malformedBody),
            ("<\(name)><![CDATA[\(value)]]</\(name)>", .malformedBody),
            ("<\(name)><![CDATA[</\(name)>", .malformedBody),
            ("<x:\(name)>\(value)</x:\(name)>", .missingField), ("<x><\(name)>\(value)</\(name)></x>", .missingField),
            ("<\(name.uppercased())>\(value)</\(name.uppercased())>", .missingField),
        ]
        for (element, reason) in rows {
            let answer = try read(Body().replacing(name, with: element))
            #expect(answer.reason == reason, "\(element)")
            #expect(answer.token == nil)
        }
        // Ways of writing the same.
        let characters = value.unicodeScalars.map { "&#\($0.value);" }.joined()
        let hexadecimal = value.unicodeScalars.map { "&#x\(String($0.value, radix: 16));" }.joined()
        for text in [
            value, "<![CDATA[\(value)]]>", characters, hexadecimal,
            "\(value.prefix(1))<![CDATA[\(value.dropFirst())]]>",
        ] {
            #expect(try read(Body().replacing(name, with: "<\(name) >\(text)</\(name)\n>")).isValid, "\(text)")
        }
    }

    @Test(
        arguments: [
            "<authToken>x", "x<ttl>1</ttl>", "<!DOCTYPE a>", "<!ENTITY a 'b'>", "<![CDATA[x]]>", "<?a b?>",
            "<!-- a -->",
            "</authToken><authToken>", "&amp;", "<x", "<x>", "<x></y>", "<1/>", "< x/>", "<x a/>", "<x a=b/>",
            "<x a='b'c='d'/>",
            "<x a='b' a='c'/>", "<x a='<'/>", "<x a='&x;'/>", "<x>&x;</x>", "<x>]]></x>", "<x><!-- --></x>", "<x/ >",
            String(repeating: "<x>", count: 17) + String(repeating: "</x>", count: 17),
        ])
    func `stand beside nothing that is no element`(junk: String) throws {
        #expect(try read(Body().replacing("", with: junk)).reason == .malformedBody)
    }

    @Test(
        arguments: [
            "<x/>", "<x a='b' c = \"d &amp; ' > e\" />", "<x>text &lt; <![CDATA[<ttl>]]></x>",
            "<x><ttl>1</ttl><y><z/></y></x>",
            "<authToken><ttl/></authToken>", "<ns:ttl>9</ns:ttl>", " \r\n\t", "<x>é ☃ 𝄞</x>", "<ttls>1</ttls>",
            "<tt>1</tt>",
            String(repeating: "<x>", count: 16) + String(repeating: "</x>", count: 16),
        ])
    func `are found among elements of other names`(other: String) throws {
        for name in ["", "sessionGUID", "mvpdId"] {
            let field = Body().fields.first { $0.0 == name }.map { "<\($0.0)>\($0.1)</\($0.0)>" } ?? ""
            #expect(try read(Body().replacing(name, with: other + field)).isValid)
            #expect(try read(Body().replacing(name, with: field + other)).isValid)
        }
    }

    @Test func `may come in any order`() throws {
        var body = Body()
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<50 {
            body.fields.shuffle(using: &generator)
            #expect(try read(body.text).isValid)
        }
    }

    @Test(
        arguments: [
            ("", nil), ("<proxyMvpdId/>", nil), ("<proxyMvpdId> </proxyMvpdId>", nil),
            ("<proxyMvpdId>P</proxyMvpdId>", "P"),
            ("<proxyMvpdId><![CDATA[P]]>Q</proxyMvpdId>", "PQ"),
        ] as [(String, String?)]
    )
    func `say a proxied provider where there is one`(element: String, value: String?) throws {
        #expect(try read(Body().replacing("", with: element)).token?.proxyMVPDID == value)
        #expect(try read(Body().replacing("", with: "<proxyMvpdId/><proxyMvpdId/>")).reason == .repeatedField)
    }

    /// What stands in the token, and the resource that it says.
    @Test(
        arguments: [
            ("TNT", "TNT"), (" T\tN ", " T\tN "), ("A &amp; B &lt;&gt;&quot;&apos;", "A & B <>\"'"),
            ("<![CDATA[<a>&amp;]]>", "<a>&amp;"),
            ("a\r\nb\rc", "a\nb\nc"), ("<![CDATA[a\r\nb]]>", "a\nb"), ("&#13;&#10;x", "\r\nx"), ("é☃𝄞", "é☃𝄞"),
            ("]] >", "]] >"),
            ("a>b]>", "a>b]>"), ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"), ("&#x1D11E;", "𝄞"),
            ("<![CDATA[<rss><![CDATA[Law & Order]]]]>><![CDATA[</rss>]]>", "<rss><![CDATA[Law & Order]]></rss>"),
            ("&amp;lt;", "&lt;"), ("<![CDATA[]]>a<![CDATA[]]>", "a"),
        ])
    func `say a resource byte for byte`(text: String, resource: String) throws {
        let token = try read(Body().replacing("resourceID", with: "<resourceID>\(text)</resourceID>")).token
        #expect(token.map { Array($0.resourceID.utf8) } == Array(resource.utf8))
    }

    @Test(arguments: [[0xC3, 0x28], [0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xEF, 0xBF, 0xBF]] as [[UInt8]])
    func `are UTF-8`(bytes: [UInt8]) throws {
        func body(_ resource: String, _ rest: String) -> [UInt8] {
            let parts = Body().replacing("resourceID", with: "@").split(separator: "@").map { Array($0.utf8) }
            return parts[0] + resource.utf8 + bytes + rest.utf8 + parts[1]
        }
        for body in [body("<resourceID>", "</resourceID>"), body("<resourceID>TNT</resourceID><x>", "</x>")] {
            let token = try fixture.issuer.sign(body: body)
            let raw = Array("<signatureInfo>".utf8) + Array(token.raw.utf8.dropFirst(15).prefix { $0 != 0x3C })
            let text = raw + Array("<signatureInfo>".utf8) + body
            let answer = try fixture.verifier().verify(text.span, for: MediaResource("TNT"), at: Fixture.now)
            #expect(answer.reason == .malformedBody)
        }
    }

    @Test(
        arguments: [
            ("420000", nil), ("1", nil), ("0", .ttlNotPositive), ("-1", .ttlNotPositive), ("0000420000", nil),
            ("900000", nil), ("900001", .ttlTooLong), ("999999999999999999", .ttlTooLong),
            ("9999999999999999999", .invalidTTL), ("+1", .invalidTTL), (" 1", .invalidTTL), ("1 ", .invalidTTL),
            ("1e3", .invalidTTL),
            ("1.0", .invalidTTL), ("0x10", .invalidTTL), ("-", .invalidTTL), ("--1", .invalidTTL), ("４２", .invalidTTL),
            ("7m", .invalidTTL),
        ] as [(String, RefusalReason?)]
    )
    func `say a life in whole milliseconds`(ttl: String, reason: RefusalReason?) throws {
        #expect(try read(Body().replacing("ttl", with: "<ttl>\(ttl)</ttl>")).reason == reason)
    }
}

@Suite struct `Issue times` {
    @Test(
        arguments: [
            ("2031-01-02 03:04:05 -0700", 1_925_114_645_000), ("2031-01-02 10:04:05 +0000", 1_925_114_645_000),
            ("2031-01-02 10:04:05 GMT", 1_925_114_645_000), ("2031-01-02 10:04:05 UTC", 1_925_114_645_000),
            ("2031/01/02 12:04:05 GMT +0200", 1_925_114_645_000), ("2031/01/02 10:04:05 GMT", 1_925_114_645_000),
            ("2031/01/02_12:04:05_GMT_+0200", 1_925_114_645_000), ("2031/01/02_10:04:05_GMT", 1_925_114_645_000),
            ("2031-01-02T10:04:05Z", 1_925_114_645_000), ("2031-01-02T03:04:05-07:00", 1_925_114_645_000),
            ("2031-01-02T03:04:05-0700", 1_925_114_645_000), ("2031-01-02T10:04:05.5Z", 1_925_114_645_500),
            ("2031-01-02T10:04:05.123456789Z", 1_925_114_645_123), ("1925114645000", 1_925_114_645_000), ("0", 0),
            ("2024-02-29 00:00:00 +0000", 1_709_164_800_000), ("2000-02-29 23:59:59 +0000", 951_868_799_000),
            ("1970-01-01 00:00:00 +0000", 0), ("1969-12-31 23:59:59 +0000", -1000),
            ("2031-01-02 23:04:05 +1300", 1_925_114_645_000),
            ("2031-01-03 00:04:05 +1400", 1_925_114_645_000),
        ] as [(String, Int64)]
    )
    func `have these forms`(text: String, milliseconds: Int64) {
        #expect(IssueTime.parse(Array(text.utf8).span)?.millisecondsSince1970 == milliseconds)
    }

    @Test(
        arguments: [
            "", " ", "now", "2031-01-02", "2031-01-02 03:04:05", "2031-01-02T03:04:05", "2031/01/02 03:04:05",
            "2031-01-02 03:04:05 ", "2031-01-02 03:04:05 -070", "2031-01-02 03:04:05 -07000",
            "2031-01-02 03:04:05 0700",
            "2031-01-02 03:04:05 -1401", "2031-01-02 03:04:05 +0060", "2031-01-02 03:04:05 EST",
            "2031-00-02 03:04:05 +0000",
            "2031-13-02 03:04:05 +0000", "2031-01-00 03:04:05 +0000", "2031-01-32 03:04:05 +0000",
            "2031-02-29 03:04:05 +0000",
            "2100-02-29 03:04:05 +0000", "2031-04-31 03:04:05 +0000", "2031-01-02 24:00:00 +0000",
            "2031-01-02 03:60:05 +0000",
            "2031-01-02 03:04:60 +0000", "2031-1-2 03:04:05 +0000", "31-01-02 03:04:05 +0000",
            "2031-01/02 03:04:05 +0000",
            "2031/01/02 03:04:05 +0200", "2031/01/02 03:04:05 GMT+0200", "2031/01/02 03:04:05_GMT",
            "2031/01/02T03:04:05Z",
            "2031-01-02T03:04:05.Z", "2031-01-02T03:04:05.1234567890Z", "2031-01-02T03:04:05,5Z",
            "2031-01-02t03:04:05z",
            "2031-01-02 03:04:05.5 +0000", "2031-01-02  03:04:05 +0000", " 2031-01-02 03:04:05 +0000",
            "2031-01-02 03:04:05 +0000 ",
            "-1", "1925114645000.0", "1234567890123456", "1925114645x00", "2031-01-02 -3:04:05 +0000",
            "2031-01-02 03:04:05 --700",
        ])
    func `have no others`(text: String) { #expect(IssueTime.parse(Array(text.utf8).span) == nil) }

    @Test func `are written as they are read`() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -62_135_596_800...253_402_300_799, using: &generator)
            let time = Timestamp(secondsSince1970: seconds)
            let offset = Int.random(in: -840...840, using: &generator)
            let local = CivilTime(time, offsetMinutes: offset)
            if (0...9999).contains(local.year) {
                #expect(IssueTime.parse(Array(IssueTime.wireForm(time, offsetMinutes: offset).utf8).span) == time)
            }
            #expect(Timestamp(iso8601: time.iso8601) == time)
        }
        #expect(Timestamp(millisecondsSince1970: 1_925_114_645_007).iso8601 == "2031-01-02T10:04:05.007Z")
        #expect(Timestamp(iso8601: "1925114645000") == nil)
    }
}
