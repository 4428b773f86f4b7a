// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaResources

/// These tests also run under the address sanitizer (`make sanitize`).
@Suite struct `Hostile resources` {
    private static func nested(_ depth: Int) -> String {
        fragment("T", item: String(repeating: "<x>", count: depth - 3) + String(repeating: "</x>", count: depth - 3))
    }

    private static func elements(_ count: Int) -> String {
        fragment("T", item: String(repeating: "<x/>", count: count - 4))
    }

    private static let bomb =
        "<!DOCTYPE rss [<!ENTITY a \"aaaaaaaaaa\">" + (0..<9).map { "<!ENTITY a\($0) \"&a;&a;&a;&a;&a;&a;\">" }.joined()
        + "]>"
        + fragment("&a8;")

    @Test(
        arguments: [
            ("", .empty), (" \r\n\t", .empty), ("a\u{0}b", .invalidCharacter), ("a\nb", .invalidCharacter),
            ("a\u{7F}", .invalidCharacter),
            ("\u{FFFE}", .invalidCharacter), (fragment("\u{0}"), .invalidCharacter),
            (fragment("\u{1}"), .invalidCharacter),
            (fragment("&#0;"), .malformedXML), (fragment("&#xD800;"), .malformedXML), (fragment("&x;"), .malformedXML),
            ("<!DOCTYPE rss SYSTEM \"file:///etc/passwd\">" + fragment("T"), .doctype),
            ("<!DOCTYPE rss [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" + fragment("&x;"), .doctype),
            ("<!DOCTYPE rss [<!ENTITY % x SYSTEM \"http://127.0.0.1/\">%x;]>" + fragment("T"), .doctype),
            ("<!DOCTYPE html><html/>", .doctype), (bomb, .doctype),
            (
                "<!DOCTYPE rss [<!ENTITY a \"\(String(repeating: "a", count: 4000))\">]>" + fragment("&a;&a;&a;"),
                .doctype
            ),
            (nested(9), .tooDeep), (nested(500), .tooDeep), (elements(65), .tooManyElements),
            (fragment("T", item: "<x a='\(String(repeating: "y", count: 8200))'/>"), .tooLarge),
            (String(repeating: "a", count: 8193), .tooLarge), ("<rss", .malformedXML), ("<", .malformedXML),
            ("<rss/>", .missingChannel),
            ("<rss></rss>junk", .malformedXML), ("<rss></rss><rss></rss>", .malformedXML),
            ("<rss xmlns='u'><channel><title>T</title></channel></rss>", .missingChannel),
            ("<rss><channel/></rss>", .missingChannel), (fragment(""), .missingChannel),
            (fragment(" "), .missingChannel),
            ("<rss><channel><title>T</title></channel><channel><title>T</title></channel></rss>", .repeatedElement),
            ("<rss><channel><title>T</title><title>T</title></channel></rss>", .repeatedElement),
            ("<rss><channel><title>T</title><item/><item/></channel></rss>", .repeatedElement),
            (fragment("T", item: "<title/><title>a</title>"), .repeatedElement),
            (fragment("T", item: "<guid>a</guid><guid/>"), .repeatedElement),
            (fragment("T<b>N</b>T"), .mixedContent), (fragment("T", item: "stray"), .mixedContent),
            (fragment("T", item: "<x>a<y/></x>"), .mixedContent),
            (fragment("T", item: "<guid><x/></guid>"), .mixedContent), ("<rss>x<channel/></rss>", .mixedContent),
            (fragment("T", item: "<media:rating>x</media:rating>"), .malformedXML),
            (fragment("T", item: "<x a='1' a='2'/>"), .malformedXML),
            ("<?xml version='1.0' encoding='ISO-8859-1'?>" + fragment("T"), .unsupportedEncoding),
            ("<?xml version='1.0' encoding='UTF-7'?>" + fragment("T"), .unsupportedEncoding),
            ("<?xml version='1.0' encoding='x-none'?>" + fragment("T"), .malformedXML),
            (fragment("T") + "<!--", .malformedXML),
        ] as [(String, ResourceError.Code)]
    )
    func `are refused with their code`(text: String, code: ResourceError.Code) {
        let error = #expect(throws: ResourceError.self) { try MediaResource(text) }
        #expect(error?.code == code, "\(String(describing: error))")
        #expect((error?.reason.utf8.count ?? 0) < 400)
    }

    @Test func `are read up to the limits`() {
        let attribute = String(repeating: "y", count: 8000)
        for text in [
            Self.nested(8), Self.elements(64), String(repeating: "a", count: 8192),
            fragment("T", item: "<x a='\(attribute)'/>"),
        ] {
            #expect(throws: Never.self) { try MediaResource(text) }
        }
    }

    @Test(
        arguments: [
            ([0xFF, 0xFE, 0x54, 0x00], .invalidUTF8), ([0x54, 0x00], .invalidCharacter), ([0xC3, 0x28], .invalidUTF8),
            ([], .empty),
            (Array(fragment("T").utf16.flatMap { [UInt8(0), UInt8($0)] }), .invalidCharacter),
            ([0xEF, 0xBB, 0xBF] + Array(fragment("T").utf8), nil), (Array(fragment("T").utf8) + [0xE9], .invalidUTF8),
            ([UInt8](repeating: 0x41, count: 8193), .tooLarge),
        ] as [([UInt8], ResourceError.Code?)]
    )
    func `in other encodings are refused`(bytes: [UInt8], code: ResourceError.Code?) {
        do {
            _ = try MediaResource(utf8: bytes)
            #expect(code == nil)
        } catch { #expect(error.code == code) }
    }

    @Test func `in UTF-8 may say so`() throws {
        #expect(try MediaResource("\u{FEFF}" + fragment("T")) == MediaResource("T"))
        for name in ["UTF-8", "utf-8", "US-ASCII"] {
            let text = "<?xml version='1.0' encoding='\(name)'?>" + fragment("T")
            #expect(try MediaResource(text) == MediaResource("T"))
        }
    }

    @Test func `say where they are at fault`() {
        let error = #expect(throws: ResourceError.self) { try MediaResource("<rss>\n<channel>\n<title>T</titel>") }
        #expect(error?.line == 3 && (error?.column ?? 0) > 8)
        let second = #expect(throws: ResourceError.self) {
            try MediaResource("<rss>\n<channel><title>T</title>\n<title>T</title></channel></rss>")
        }
        #expect(second?.line == 3)
        let spread = #expect(throws: ResourceError.self) {
            try MediaResource("<rss>\n<channel><title>T</title>\n<title\n a='1'\n>T</title></channel></rss>")
        }
        #expect(spread?.line == 3)
        #expect(
            second?.description.contains("line 3") == true
                && second?.description.contains("resource_repeated_element") == true
        )
    }

    @Test func `cut short are never the whole`() throws {
        let text =
            "<rss version=\"2.0\"\(media)><channel><title>TNT</title><item><title><![CDATA[a]]></title>"
            + rating("TV-PG")
            + "</item></channel></rss>"
        let whole = try MediaResource(text)
        for length in 0..<text.utf8.count {
            let cut = try? MediaResource(String(decoding: Array(text.utf8.prefix(length)), as: UTF8.self))
            #expect(cut != whole)
        }
    }

    @Test func `by the ten thousand are read or refused`() throws {
        var generator = ResourceGenerator(seed: 99)
        var (read, refused) = (0, 0)
        let junk = Array("<>/&;\"'=[]!?- \u{0}\u{FF}xmlns:rss".utf8)
        for _ in 0..<20_000 {
            var bytes = Array(generator.spell(generator.facts()).utf8)
            for _ in 0..<Int.random(in: 0...3, using: &generator.random) {
                let index = Int.random(in: bytes.indices, using: &generator.random)
                switch Int.random(in: 0..<4, using: &generator.random) {
                case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &generator.random)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(junk.randomElement(using: &generator.random) ?? 0, at: index)
                default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
                }
                if bytes.isEmpty { bytes = [0x3C] }
            }
            do {
                let resource = try MediaResource(utf8: bytes)
                #expect(!resource.channel.isEmpty)
                read += 1
            } catch { refused += 1 }
        }
        #expect(read > 2000 && refused > 2000, "\(read) read, \(refused) refused")
    }

    /// libxml2 stores every name in its dictionary, and the sender chooses the names.
    @Test func `with ever new names do not fill libxml2's dictionary`() throws {
        let name = String(repeating: "n", count: 400)
        for index in 0..<40_000 {
            #expect(throws: Never.self) { try MediaResource(fragment("T", item: "<\(name)\(index)/>")) }
        }
    }
}

/// These tests also run under the thread sanitizer (`make sanitize`).
@Suite struct `Concurrency of resources` {
    @Test func `16 tasks read and match at once`() async throws {
        let wanted = try MediaResource("TNT")
        await withTaskGroup(of: Int.self) { group in
            for worker in 0..<16 {
                group.addTask {
                    (0..<300).count { round in
                        switch (worker + round) % 3 {
                        case 0: wanted.mismatch(withGranted: fragment("TNT")) != nil
                        case 1:
                            wanted.mismatch(withGranted: fragment("TNT", item: "<guid>\(round)</guid>"))
                                != .assetForChannel
                        default: wanted.mismatch(withGranted: fragment("&x;")) != .malformedGrant
                        }
                    }
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }
}

#if canImport(Glibc)
    @Suite struct `Standard error` {
        /// libxml2 prints no errors: the child process fails at the first byte on its standard error.
        @Test func `gets nothing from libxml2`() async throws {
            let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
                for text in [
                    "<rss", "<!DOCTYPE a [<!ENTITY b 'c'>]><rss>&b;", "<rss><a:b/></rss>", "<rss>&x;</rss>",
                    "<?xml encoding='x'?><rss/>",
                ] {
                    _ = try? MediaResource(text)
                }
                var reader = FeedReader()
                try? reader.read(Array("<?xml version='1.0' encoding='nope'?><rss>".utf8).span) { _ in }
                try? reader.finish { _ in }
            }
            #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("error") == false)
        }
    }
#endif
