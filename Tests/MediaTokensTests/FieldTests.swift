// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `Fields of tokens` {
    private static func reason(_ body: TokenBody) throws -> RefusalReason? {
        try Sample.verifier().authenticate(try Sample.token(body), at: Sample.time).reason
    }

    @Test(arguments: TokenBody.mandatory)
    func `must be there once and with text`(name: String) throws {
        let plain = TokenBody.plain
        #expect(try Self.reason(plain.replacing(name, with: "")) == .missingField)
        #expect(try Self.reason(plain.replacing(name, with: "<x\(name)>1</x\(name)>")) == .missingField)
        #expect(try Self.reason(plain.replacing(name, with: "<\(name)x>1</\(name)x>")) == .missingField)
        #expect(try Self.reason(plain.replacing(name, with: "<p:\(name)>1</p:\(name)>")) == .missingField)
        #expect(try Self.reason(plain.replacing(name, with: "<u><\(name)>1</\(name)></u>")) == .missingField)
        let other = name.uppercased() == name ? name.lowercased() : name.uppercased()
        #expect(try Self.reason(plain.replacing(name, with: "<\(other)>1</\(other)>")) == .missingField)
        #expect(try Self.reason(plain.appending("<\(name)>1</\(name)>")) == .repeatedField)
        #expect(try Self.reason(plain.appending("<\(name)/>")) == .repeatedField)
        for empty in ["", " ", "\t\r\n", "&#32;", "<![CDATA[]]>", "<![CDATA[ ]]>&#9;"] {
            #expect(try Self.reason(plain.setting(name, to: empty)) == .emptyField)
        }
        for element in ["<\(name)/>", "<\(name) />", "<\(name)></\(name) >"] {
            #expect(try Self.reason(plain.replacing(name, with: element)) == .emptyField)
        }
    }

    /// Returns a character that cannot be written in a literal.
    private static func scalar(_ value: UInt32) -> String {
        Unicode.Scalar(value).map { String(Character($0)) } ?? ""
    }

    /// Content that no field may hold.
    static let malformations = [
        "a<b", "a<b>c</b>", "<b/>", "a<!-- -->", "<!---->", "<?pi?>", "a<?pi x?>b", "TNT<!-- -->Sports",
        "TNT<?a?>Sports", "a]]>b", "]]>", "a&b", "a&b;", "&",
        "&;", "&nbsp;", "&AMP;", "&amp", "&#;", "&#x;", "&#X41;", "&#-1;", "&#+65;", "&#65", "&#a;", "&#xG;", "&#0;",
        "&#x0;", "&#1;", "&#x1F;", "&#xD800;", "&#xDFFF;", "&#xFFFE;", "&#xFFFF;", "&#x110000;", "&#1114112;",
        "&#99999999999999999999;", "&#xFFFFFFFFFFFFFFFFF;", "<![CDATA[", "<![CDATA[a", "<![CDATA[a]]", "<![CDATA[a]>",
        "<![cdata[a]]>", "<![CDATA [a]]>", "<!DOCTYPE a>", "<!ENTITY a 'b'>", "</", "</a>", "< /b>", "a\u{0}b",
        "a\u{1}b", "a\u{8}b", "a\u{B}b", "a\u{C}b", "a\u{1B}b", "a\u{1F}b", "a\(scalar(0xFFFE))b",
        "a\(scalar(0xFFFF))b",
        "<![CDATA[\u{1}]]>", "<![CDATA[\(scalar(0xFFFE))]]>",
    ]

    @Test(arguments: TokenBody.mandatory + ["proxyMvpdId"], malformations)
    func `hold text and nothing else`(name: String, content: String) throws {
        let proxied = TokenBody.plain.appending("")
        let body =
            name == "proxyMvpdId"
            ? proxied.appending("<proxyMvpdId>\(content)</proxyMvpdId>") : proxied.setting(name, to: content)
        #expect(try Self.reason(body) == .malformedBody)
    }

    @Test(
        arguments: TokenBody.mandatory,
        [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xED, 0xA0, 0x80], [0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]]
    )
    func `are UTF-8`(name: String, bytes: [UInt8]) throws {
        let text = [UInt8]("text".utf8)
        #expect(try Self.reason(.plain.setting(name, to: text + bytes + text)) == .malformedBody)
        #expect(try Self.reason(.plain.setting(name, to: bytes)) == .malformedBody)
    }

    @Test(
        arguments: TokenBody.mandatory,
        [
            "<NAME a=\"1\">1</NAME>", "<NAME xmlns=\"u\">1</NAME>", "<NAME a>1</NAME>", "<NAME>1</NAME",
            "<NAME>1<NAME>",
            "<NAME>1</ NAME>", "<NAME>1</NAMEx>", "<NAME>1</NAM>", "< NAME>1</NAME>", "<NAME>1", "<NAME", "<NAME/",
            "<NAME / >", "<NAME>1</NAME/>", "1</NAME>", "</NAME>",
        ]
    )
    func `stand in tags without attributes`(name: String, element: String) throws {
        let body = TokenBody.plain.replacing(name, with: element.replacing("NAME", with: name))
        #expect(try Self.reason(body) == .malformedBody)
    }

    @Test(
        arguments: [
            "text", "<![CDATA[ ]]>", "&#32;", "&amp;", "<!-- -->", "<?pi?>", "<!DOCTYPE a>", "]]>", "<", ">", "</",
            "</u>",
            "<>", "</>", "<u>", "<u", "<1/>", "<-/>", "<./>", "<ü/>", "\u{A0}", "\u{FEFF}", "\u{0}", "\u{85}",
        ]
    )
    func `have nothing but white space between them`(junk: String) throws {
        #expect(try Self.reason(.plain.appending(junk)) == .malformedBody)
        #expect(try Self.reason(.plain.replacing("ttl", with: "\(junk)<ttl>420000</ttl>")) == .malformedBody)
    }

    @Test(
        arguments: [
            "", "<u/>", "<u />", "<u></u>", "<u></u >", "<u>text</u>", "<u> \r\n</u>", "<u a='1' b=\"2\"/>",
            "<u a = '1'/>",
            "<u\ta='>'\r\nb='\"'>]]&gt;</u>", "<u a='&lt;&#10;'/>", "<u><v/><v><w>x</w></v></u>",
            "<u><![CDATA[<v>]]></u>",
            "<u><![CDATA[]]]]>&gt;</u>", "<u><ttl>1</ttl><mvpdId a='1'/></u>", "<p:u xmlns:p='u'/>", "<_a.b-c/>",
            "<u>ü</u>", "<u a='ü'/>", " \t\r\n<u/>\n<v/> ", "<TTL>1</TTL>", "<ttlx/>", "<tt/>",
            "<u>" + String(repeating: "<v>", count: 15) + String(repeating: "</v>", count: 15) + "</u>",
            "<u>" + String(repeating: "<v/>", count: 500) + "</u>",
            "<u " + (0..<16).map { "a\($0)='1'" }.joined(separator: " ") + "/>",
        ]
    )
    func `stand beside any elements of other names`(element: String) throws {
        #expect(try Self.reason(.plain.appending(element)) == nil)
        #expect(try Self.reason(.plain.replacing("ttl", with: "\(element)<ttl>420000</ttl>\(element)")) == nil)
    }

    @Test(
        arguments: [
            "<u>", "<u><v></u></v>", "<u></v>", "<u><v></u>", "<u a/>", "<u a=/>", "<u a=1/>", "<u a='1/>",
            "<u a='<'/>",
            "<u a='&b;'/>", "<u a='&'/>", "<u a='1'b='2'/>", "<u a='1' a='2'/>", "<u =''/>", "<u 1=''/>", "<u>]]></u>",
            "<u>&b;</u>", "<u>&</u>", "<u><!-- --></u>", "<u><?pi?></u>", "<u><![CDATA[</u>", "<u>\u{1}</u>",
            "<u a='\u{1}'/>", "<u/ >", "<u></u", "<u", "<u ", "<u a", "<u a=", "<u a='", "<u><", "<u></",
            "<u>" + String(repeating: "<v>", count: 16) + String(repeating: "</v>", count: 16) + "</u>",
            String(repeating: "<u>", count: 3000),
            "<u " + (0..<17).map { "a\($0)='1'" }.joined(separator: " ") + "/>",
        ]
    )
    func `do not stand beside malformed or deep elements`(element: String) throws {
        #expect(try Self.reason(.plain.appending(element)) == .malformedBody)
    }

    @Test(
        arguments: [
            ("TNT", "TNT"), (" TNT\t", " TNT\t"), ("A &amp; B", "A & B"),
            ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"), ("&#65;&#x42;&#x00043;&#0068;", "ABCD"), ("&#x20AC;€", "€€"),
            ("&#x1F600;", "\u{1F600}"), ("&amp;amp;", "&amp;"), ("&#38;amp;", "&amp;"), ("x&#13;&#10;", "x\r\n"),
            ("a\r\nb\rc\nd\r\r\n", "a\nb\nc\nd\n\n"), ("<![CDATA[a\r\nb\rc]]>", "a\nb\nc"), ("<![CDATA[TNT]]>", "TNT"),
            ("<![CDATA[<rss>&amp;</rss>]]>", "<rss>&amp;</rss>"), ("a<![CDATA[b]]>c<![CDATA[d]]>", "abcd"),
            ("<![CDATA[]]>x", "x"), ("<![CDATA[a]]]]>><![CDATA[b]]>", "a]]>b"),
            ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
            ("<![CDATA[a]]]]]]>><![CDATA[b]]>", "a]]]]>b"), ("]]&gt;", "]]>"), ("]&#93;>", "]]>"), ("a]]b]>", "a]]b]>"),
            ("a>b", "a>b"), ("]] >", "]] >"), ("<![CDATA[]]]>", "]"), ("<![CDATA[ ]]><![CDATA[x]]>", " x"),
            ("\"'", "\"'"),
            ("\u{7F}", "\u{7F}"), ("\u{FFFD}&#xFDD0;", "\u{FFFD}\(scalar(0xFDD0))"), ("e\u{301}", "e\u{301}"),
            ("\u{FEFF}x", "\u{FEFF}x"),
            (
                """
                <![CDATA[<rss version="2.0"><channel><title>TNT</title><item><title><![CDATA[Law & Order]]]]>><![CDATA[\
                </title></item></channel></rss>]]>
                """,
                """
                <rss version="2.0"><channel><title>TNT</title><item><title><![CDATA[Law & Order]]>\
                </title></item></channel></rss>
                """
            ),
        ]
    )
    func `mean what XML says they mean`(content: String, meaning: String) throws {
        for name in ["resourceID", "sessionGUID", "mvpdId"] {
            let body = TokenBody.plain.setting(name, to: content)
            let token = try #require(
                try Sample.verifier().authenticate(try Sample.token(body), at: Sample.time).token
            )
            let texts = ["resourceID": token.resourceID, "sessionGUID": token.userSessionGUID, "mvpdId": token.mvpdID]
            #expect(Array(try #require(texts[name]).utf8) == Array(meaning.utf8))
        }
    }

    @Test func `mean the same in every spelling of a requestor`() throws {
        for spelling in ["REF30", "&#82;EF30", "<![CDATA[REF]]>30", "<![CDATA[REF30]]>"] {
            #expect(try Self.reason(.plain.setting("requestorID", to: spelling)) == nil)
        }
    }

    @Test(
        arguments: [
            ("", nil), ("<proxyMvpdId>Proxied</proxyMvpdId>", "Proxied"), ("<proxyMvpdId></proxyMvpdId>", nil),
            ("<proxyMvpdId/>", nil), ("<proxyMvpdId> \n</proxyMvpdId>", nil),
            ("<proxyMvpdId><![CDATA[]]></proxyMvpdId>", nil),
            ("<proxyMvpdId><![CDATA[P&Q]]></proxyMvpdId>", "P&Q"),
        ] as [(String, String?)]
    )
    func `need no proxied provider`(element: String, expected: String?) throws {
        let answer = try Sample.verify(try Sample.token(.plain.appending(element)))
        #expect(answer.isValid)
        #expect(answer.token?.proxyMVPDID == expected)
        #expect(answer.token?.mvpdID == "SandboxMVPD")
    }

    @Test func `have one proxied provider at most`() throws {
        let twice = "<proxyMvpdId>A</proxyMvpdId><proxyMvpdId/>"
        #expect(try Self.reason(.plain.appending(twice)) == .repeatedField)
    }

    @Test(
        arguments: [
            "x", "7m", "420000ms", "420000.0", "4.2e5", "+420000", "--1", "-", " 420000", "420000 ", "420 000",
            "420,000",
            "0x66", "٤٢", "1234567890123456789", "-1234567890123456789", "99999999999999999999999", "4200-", "４２",
        ]
    )
    func `have a life in whole milliseconds`(ttl: String) throws {
        #expect(try Self.reason(.plain.setting("ttl", to: ttl)) == .invalidTTL)
    }

    @Test(
        arguments: [
            ("420000", 420_000), ("0420000", 420_000), ("000000000000000001", 1), ("&#52;20000", 420_000),
            ("<![CDATA[420000]]>", 420_000), ("-0", 0), ("-1", -1), ("999999999999999999", 999_999_999_999_999_999),
        ] as [(String, Int64)]
    )
    func `have a life of up to 18 digits`(ttl: String, expected: Int64) throws {
        let token = try Sample.token(.plain.setting("ttl", to: ttl))
        #expect(try Sample.verify(token).token?.timeToLiveMilliseconds == expected)
    }
}
