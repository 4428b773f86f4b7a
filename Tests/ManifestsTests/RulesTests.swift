// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

@Suite("Rules of rewriting") struct RulesTests {
    static let refused:
        [(url: String, grant: String, mode: ManifestRules.Mode, hosts: [String]?, ManifestRulesError.Code)] = [
            ("/live/a.m3u8", "G", .segment(), nil, .urlInvalid),
            ("ftp://cdn.example/a.m3u8", "G", .segment(), nil, .urlInvalid),
            ("https://user@cdn.example/a.m3u8", "G", .segment(), nil, .urlInvalid),
            ("https://cdn.example/a b.m3u8", "G", .segment(), nil, .urlInvalid),
            ("https://cdn.example/~c%61t=G/a.m3u8", "G", .segment(), nil, .urlInvalid),
            ("https://cdn.example/a.m3u8", "", .segment(), nil, .grantInvalid),
            ("https://cdn.example/a.m3u8", "a/b", .segment(), nil, .grantInvalid),
            ("https://cdn.example/a.m3u8", "a=", .segment(), nil, .grantInvalid),
            ("https://cdn.example/a.m3u8", "a~", .segment(), nil, .grantInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(prefix: ""), nil, .modeInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(prefix: "."), nil, .modeInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(prefix: "a/b="), nil, .modeInvalid),
            ("https://cdn.example/a.m3u8", "G", .query(name: "a&b"), nil, .modeInvalid),
            ("https://cdn.example/a.m3u8", "G", .query(name: "a="), nil, .modeInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(), [], .hostInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(), ["https://cdn.example"], .hostInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(), ["cdn.example:0"], .hostInvalid),
            ("https://cdn.example/a.m3u8", "G", .segment(), ["*.example"], .hostInvalid),
        ]

    @Test("that cannot be followed", arguments: refused)
    func refusal(url: String, grant: String, mode: ManifestRules.Mode, hosts: [String]?, code: ManifestRulesError.Code)
    {
        let error = #expect(throws: ManifestRulesError.self) {
            try ManifestRules(url: url, grant: grant, mode: mode, hosts: hosts)
        }
        #expect(error?.code == code)
    }

    @Test("of the largest sizes") func sizes() throws {
        let url = "https://cdn.example/"
        let path = String(repeating: "a", count: ManifestRules.maximumURLSize - url.utf8.count)
        let grant = String(repeating: "a", count: ManifestRules.maximumGrantSize)
        _ = try ManifestRules(url: url + path, grant: grant, mode: .segment())
        #expect(throws: ManifestRulesError.self) {
            try ManifestRules(url: url + path + "a", grant: grant, mode: .segment())
        }
        #expect(throws: ManifestRulesError.self) { try ManifestRules(url: url, grant: grant + "a", mode: .segment()) }
    }

    static let hosts: [(url: String, hosts: [String]?, reference: String, isProtected: Bool)] = [
        ("https://cdn.example/", nil, "https://cdn.example:443/a", true),
        ("https://cdn.example:443/", nil, "https://cdn.example/a", true),
        ("https://cdn.example:8443/", nil, "https://cdn.example:8443/a", true),
        ("https://cdn.example:8443/", nil, "https://cdn.example/a", false),
        ("http://cdn.example/", nil, "https://cdn.example/a", true),
        ("http://cdn.example/", nil, "http://cdn.example:80/a", true),
        ("http://cdn.example:8080/", nil, "https://cdn.example/a", false),
        ("https://a.example/", ["b.example"], "a", false),
        ("https://a.example/", ["b.example"], "https://b.example/a", true),
        ("https://a.example/", ["b.example"], "http://b.example/a", false),
        ("https://a.example/", ["b.example:443"], "https://b.example/a", true),
        ("https://a.example/", ["b.example:8443"], "https://b.example/a", false),
        ("https://a.example/", ["B.Example."], "https://b.example/a", true),
        ("https://[2001:db8::1]:8443/", nil, "https://[2001:DB8::1]:8443/a", true),
        ("https://a.example/", ["127.0.0.1"], "https://127.1/a", false),
    ]

    @Test("about hosts", arguments: hosts)
    func host(url: String, hosts: [String]?, reference: String, isProtected: Bool) throws {
        let rules = try ManifestRules(url: url, grant: "G", mode: .segment(), hosts: hosts)
        var writer = ReferenceWriter(rules)
        var output: [UInt8] = []
        let outcome = try writer.write(reference.utf8.span, against: rules.base, to: &output)
        #expect((outcome == .written) == isProtected)
    }

    @Test("are not printed with the grant") func printing() throws {
        let rules = try ManifestRules(url: "https://cdn.example/a", grant: "SECRET", mode: .query())
        var text = "\(rules) \(String(reflecting: rules))"
        dump(rules, to: &text)
        #expect(!text.contains("SECRET"))
        for fault in ReferenceFault.allCases {
            #expect(
                ManifestFault(fault, line: 3).description == "line 3: \(fault.rawValue) [manifest_reference_invalid]"
            )
        }
    }
}
