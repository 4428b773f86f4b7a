// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import GateTestSupport
import NIOHTTP1
import RequestTargets
import Testing

import struct HTTPServer.HTTPFields

@testable import EdgeChecks
@testable import EdgeListener
@testable import GateConfiguration

/// The facts that restrictions in grants need, as each dialect states them.
@Suite struct `The facts of a request` {
    /// What a dialect's fields say.
    private struct Reported {
        let origin: (scheme: RequestURI.Scheme?, authority: URIAuthority?)
        let facts: RequestFacts

        var uri: RequestURI { facts.uri }
    }

    private static func facts(
        by dialect: EdgeDialect,
        from fields: [(String, String)],
        target: String = "/a?b",
        forwardedFor: ForwardedFor = .oneAddress
    ) throws -> Reported {
        let sources = TokenSources(tokens: [], grants: [])
        let reader = EdgeFieldReader(row: dialect.row, sources: sources, forwardedFor: forwardedFor)
        let found = EdgeFields(HTTPFields(HTTPHeaders(fields)), names: reader.names)
        let parsed = try #require(ParsedTarget(target[...], tokens: sources.targetNames))
        let report = EdgeFieldReport(fields: found, target: parsed, sentTarget: target[...], reader: reader)
        let authority = found.value(.host).flatMap { URIAuthority($0) }
        let origin: (scheme: RequestURI.Scheme?, authority: URIAuthority?) =
            switch report.origin(authority) {
            case .own(let scheme): (scheme, authority)
            case .other(let scheme, let authority): (scheme, authority)
            }
        let uri = try #require(
            RequestURI(parsed.text(hiding: []), scheme: origin.scheme, parsed: origin.authority, form: .asIs)
        )
        var facts = RequestFacts(uri: uri)
        facts.client = report
        return Reported(origin: origin, facts: facts)
    }

    /// The names of the fields of each dialect: scheme, host, client address.
    private static let names: [EdgeDialect: [String]] = [
        .nginx: ["X-Original-Scheme", "X-Original-Host", "X-Original-Client"],
        .forward: ["X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-For"],
        .envoy: ["X-Forwarded-Proto", "Host", "X-Envoy-External-Address"],
        .grpc: ["X-Forwarded-Proto", "Host", "X-Envoy-External-Address"],
        .ats: ["X-Playgate-Scheme", "X-Forwarded-Host", "X-Playgate-Client"],
        .spoe: [":scheme", ":authority", ":client"],
    ]

    private static let common = [
        ("X-Original-ALPN", "h2"), ("X-Original-Client-Key", "MAEF"), ("X-Original-ASN", "64500"),
        ("X-Original-Geo", "us, US-ca"), ("X-Original-Position", "48.8566, -2.3522"),
    ]

    /// The text of a fact: `-` for one that the edge does not report, `!` for a malformed one, `2` for a repeated one.
    private static func text<Value>(
        in reported: Reported,
        of fact: RequestFact,
        value: Value?,
        format text: (Value) -> String
    ) -> String {
        if let value { return text(value) }
        return switch reported.facts.unknown(fact).reason {
        case .notReported: "-"
        case .malformed: "!"
        case .repeated: "2"
        }
    }

    private static func scheme(_ facts: Reported) -> String {
        text(in: facts, of: .scheme, value: facts.origin.scheme, format: \.rawValue)
    }

    private static func authority(_ facts: Reported) -> String {
        text(in: facts, of: .host, value: facts.uri.host) { host in
            let port = facts.uri.port.flatMap { facts.uri.hasDefaultPort ? nil : ":\($0)" }
            return String(host) + (port ?? "")
        }
    }

    private static func address(_ facts: Reported) -> String {
        text(in: facts, of: .clientAddress, value: facts.facts.clientAddress) { String($0.number, radix: 16) }
    }

    private static func number(_ facts: Reported) -> String {
        text(in: facts, of: .clientASN, value: facts.facts.clientASN) { "\($0)" }
    }
    private static func countries(_ facts: Reported) -> String {
        text(in: facts, of: .countries, value: facts.facts.countries) { "\($0)" }
    }
    private static func position(_ facts: Reported) -> String {
        text(in: facts, of: .position, value: facts.facts.position) { "\($0.latitude) \($0.longitude)" }
    }

    private static func tls(in facts: Reported, for fact: RequestFact) -> String {
        switch fact == .alpn ? facts.facts.alpn : facts.facts.clientKey {
        case .unknown: text(in: facts, of: fact, value: nil as String?) { $0 }
        case .none: "none"
        case .value(let bytes): "\(bytes)"
        }
    }

    @Test(arguments: EdgeDialect.allCases) func `are read by their dialect's names, without case`(
        dialect: EdgeDialect
    ) throws {
        let names = try #require(Self.names[dialect])
        let own = [(names[0], "https"), (names[1], "CDN.Example.:443"), (names[2], "203.0.113.9")]
        for fields in [own + Self.common, (own + Self.common).map { ($0.lowercased(), $1) }] {
            let facts = try Self.facts(by: dialect, from: fields)
            #expect(Self.scheme(facts) == "https")
            #expect(Self.authority(facts) == "cdn.example")
            #expect(Self.address(facts) == "ffffcb007109")
            #expect(Self.tls(in: facts, for: .alpn) == "\(Array("h2".utf8))")
            #expect(Self.tls(in: facts, for: .clientKey) == "[48, 1, 5]")
            #expect(Self.number(facts) == "64500")
            #expect(Self.countries(facts) == "[\"US\", \"US-CA\"]")
            #expect(Self.position(facts) == "48.8566 -2.3522")
        }
        // A repeated field says nothing, whatever it says; the others are as they were.
        for (index, field) in (own + Self.common).enumerated() {
            let facts = try Self.facts(by: dialect, from: own + Self.common + [field])
            let reported = [
                Self.scheme(facts), Self.authority(facts), Self.address(facts), Self.tls(in: facts, for: .alpn),
                Self.tls(in: facts, for: .clientKey), Self.number(facts), Self.countries(facts), Self.position(facts),
            ]
            #expect(reported.enumerated().allSatisfy { ($1 == "2") == ($0 == index) }, "\(field): \(reported)")
        }
    }

    @Test(arguments: EdgeDialect.allCases) func `are unknown if the edge says nothing, or only in other words`(
        dialect: EdgeDialect
    ) throws {
        let own = try #require(Self.names[dialect])
        let foreign = Set(Self.names.values.joined()).subtracting(own).map { ($0, "https") }
        let similar = (own + Self.common.map(\.0)).flatMap { name in
            [name.replacing("-", with: "_"), name.replacing("-", with: "."), name + "s"].map { ($0, "http") }
        }
        let others = [("Forwarded", "for=1.2.3.4;host=x;proto=https"), ("X-Real-IP", "1.2.3.4"), ("X-Original", "x")]
        for fields in [[], foreign, similar.filter { !own.contains($0.0) }, others] {
            // Fields without a meaning may be repeated.
            let facts = try Self.facts(by: dialect, from: fields + fields)
            #expect(Self.scheme(facts) == "-")
            #expect(Self.authority(facts) == "-")
            #expect(Self.address(facts) == "-")
            #expect(Self.tls(in: facts, for: .alpn) == "-")
            #expect(Self.tls(in: facts, for: .clientKey) == "-")
            #expect(Self.number(facts) == "-")
            #expect(Self.countries(facts) == "-")
            #expect(Self.position(facts) == "-")
        }
    }

    /// Scheme and host, and what they mean.
    static let hosts: [(scheme: String, host: String, reportedScheme: String, reportedHost: String)] = [
        ("http", "cdn.example:80", "http", "cdn.example"), ("http", "cdn.example:443", "http", "cdn.example:443"),
        ("https", "cdn.example:0443", "https", "cdn.example"),
        ("HTTPS", "cdn.example:8443", "https", "cdn.example:8443"),
        ("", "cdn.example:443", "-", "cdn.example:443"), ("https", "", "https", "-"), (" https ", "a", "https", "a"),
        ("https", " a ", "https", "!"),
        ("https", "[2001:DB8::1]:443", "https", "[2001:db8::1]"), ("https", "[::1]:8443", "https", "[::1]:8443"),
        ("https", "cdn.example.", "https", "cdn.example"), ("https", "a:", "https", "a"),
        ("ftp", "a", "!", "a"), ("https,http", "a", "!", "a"), ("wss", "a", "!", "a"), ("https:", "a", "!", "a"),
        ("https", "a,b", "https", "!"), ("https", "user@a", "https", "!"), ("https", "a b", "https", "!"),
        ("https", "a:0", "https", "!"), ("https", "a:65536", "https", "!"), ("https", "a:+1", "https", "!"),
        ("https", "a/b", "https", "!"), ("https", ".", "https", "!"), ("https", "a:443:1", "https", "!"),
        ("https", "a%2e", "https", "!"), ("https", "é", "https", "!"), ("https", "[::1", "https", "!"),
    ]

    @Test(arguments: EdgeDialect.allCases) func `have scheme and host in normal form`(dialect: EdgeDialect) throws {
        let names = try #require(Self.names[dialect])
        for row in Self.hosts {
            let facts = try Self.facts(by: dialect, from: [(names[0], row.scheme), (names[1], row.host)])
            #expect(Self.scheme(facts) == row.reportedScheme, "\(row)")
            #expect(Self.authority(facts) == row.reportedHost, "\(row)")
        }
    }

    /// Values of `X-Original-URL` for the target `/a?b`, and what they mean.
    static let urls: [(fields: [String: String], scheme: String, host: String)] = [
        (["URL": "https://CDN.example/a?b"], "https", "cdn.example"), (["URL": "http://a:8080/a?b"], "http", "a:8080"),
        (["URL": "https://a:443/a?b", "Scheme": "https", "Host": "A."], "https", "a"),
        (["URL": "https://a:8443/a?b", "Host": "a"], "https", "a:8443"),
        (["URL": "https://a/a?b", "Host": "a:443"], "https", "a"),
        (["URL": "https://a/a?b", "Host": "b"], "https", "!"), (["URL": "https://a/a?b", "Scheme": "http"], "!", "!"),
        (["URL": "https://a/a?b", "Host": "a:8443"], "https", "!"), (["URL": "https://a/a"], "!", "!"),
        (["URL": "https://a/a?b#c"], "!", "!"), (["URL": "https://a//a?b"], "!", "!"), (["URL": "/a?b"], "!", "!"),
        (["URL": "https://a/b/a?b"], "!", "!"), (["URL": "https:///a?b"], "!", "!"), (["URL": "//a/a?b"], "!", "!"),
        (["URL": "https://x@a/a?b"], "!", "!"), (["URL": "https://a\\@b/a?b"], "!", "!"),
        (["URL": "https:/a?b"], "!", "!"),
        (["URL": "ftp://a/a?b"], "!", "!"), (["URL": "https://a/%61?b"], "!", "!"), (["URL": ""], "-", "-"),
        (["URL": "https://a?/a?b"], "!", "!"), (["URL": " https://a/a?b"], "!", "!"),
    ]

    @Test func `have a whole URL for nginx, which agrees with its parts and the target`() throws {
        for row in Self.urls {
            let fields = row.fields.map { ("X-Original-\($0)", $1) }
            let facts = try Self.facts(by: .nginx, from: fields)
            #expect(Self.scheme(facts) == row.scheme, "\(row)")
            #expect(Self.authority(facts) == row.host, "\(row)")
            // The other dialects do not read it.
            if row.fields.count == 1 { #expect(try Self.scheme(Self.facts(by: .forward, from: fields)) == "-") }
        }
        let url = [("X-Original-URL", "https://a/a?b")]
        let twice = try Self.facts(
            by: .nginx,
            from: url + url + [("X-Original-Scheme", "https"), ("X-Original-Host", "a")]
        )
        #expect(twice.origin.scheme == nil && twice.origin.authority == nil)
    }

    /// Addresses, and the numbers that they mean.
    static let addresses: [(text: String, reported: String)] = [
        ("203.0.113.9", "ffffcb007109"), ("::ffff:203.0.113.9", "ffffcb007109"), ("::FFFF:cb00:7109", "ffffcb007109"),
        ("2001:db8::1", "20010db8000000000000000000000001".drop("0")), ("::1", "1"), (" 203.0.113.9 ", "ffffcb007109"),
        ("", "-"), (" ", "-"), ("203.0.113.9, 10.0.0.1", "!"), ("203.0.113.9,", "!"),
        ("203.0.113.9:4711", "ffffcb007109"),
        ("[2001:db8::1]", "20010db8000000000000000000000001".drop("0")),
        ("[2001:db8::1]:443", "20010db8000000000000000000000001".drop("0")),
        ("203.0.113.9:", "!"), ("203.0.113.9:65536", "!"), ("203.0.113.9:+1", "!"), ("[203.0.113.9]:1", "!"),
        ("[::1", "!"),
        ("[::1]443", "!"), ("_hidden", "!"), ("_hidden:443", "!"), ("unknown:443", "!"), ("fe80::1%eth0", "!"),
        ("203.0.113", "!"), ("203.0.113.256", "!"), ("0x7f.0.0.1", "!"),
        ("127.0.0.01", "!"), ("203.0.113.9/32", "!"), ("unknown", "!"), ("unix:", "!"), ("203.0.113.9\0", "!"),
        ("2130706433", "!"), ("1:2:3:4:5:6:7:8:9", "!"), ("é", "!"),
    ]

    @Test(arguments: EdgeDialect.allCases) func `have one address of the client`(dialect: EdgeDialect) throws {
        let name = try #require(Self.names[dialect]?[2])
        for row in Self.addresses {
            #expect(try Self.address(Self.facts(by: dialect, from: [(name, row.text)])) == row.reported, "\(row)")
        }
    }

    /// Rules for `X-Forwarded-For`, its lines, and the last digits of the client's address.
    static let forwarded: [(rule: ForwardedFor, lines: [String], reported: String)] = [
        (.hops(1), ["203.0.113.9"], "9"), (.hops(1), ["10.0.0.8, 203.0.113.9"], "9"),
        (.hops(1), ["10.0.0.8", "203.0.113.9"], "9"), (.hops(2), ["1.1.1.1, 203.0.113.9", "10.0.0.8"], "9"),
        (.hops(2), ["1.1.1.1, 203.0.113.9:4711, 10.0.0.8"], "9"), (.hops(2), ["203.0.113.9"], "!"),
        (.hops(1), ["203.0.113.9, unknown"], "!"), (.hops(2), ["_hidden, 203.0.113.9"], "!"), (.hops(1), [""], "-"),
        (.hops(1), ["203.0.113.9,"], "-"), (.hops(2), ["203.0.113.9,"], "9"), (.hops(1), [], "-"),
        (.networks(networks), ["203.0.113.9, 10.0.0.8, 10.0.0.7"], "9"), (.networks(networks), ["203.0.113.9"], "9"),
        (.networks(networks), ["1.1.1.1, 203.0.113.9", "[fd00::1]:443", "10.0.0.7"], "9"),
        (.networks(networks), ["10.0.0.7"], "!"), (.networks(networks), ["203.0.113.9, unknown, 10.0.0.7"], "!"),
        (.networks(networks), ["203.0.113.9, 10.0.0.7,"], "!"), (.oneAddress, ["203.0.113.9"], "9"),
        (.oneAddress, ["203.0.113.9, 10.0.0.8"], "!"), (.oneAddress, ["203.0.113.9", "203.0.113.9"], "2"),
        (.hops(1), [Array(repeating: "203.0.113.9", count: 65).joined(separator: ",")], "!"),
    ]

    private static let networks = [IPNetwork("10.0.0.0/8"), IPNetwork("fd00::/8")].compactMap { $0 }

    @Test func `have the client's address that trusted proxies have added`() throws {
        for row in Self.forwarded {
            let fields = row.lines.map { ("X-Forwarded-For", $0) }
            let reported = try Self.address(Self.facts(by: .forward, from: fields, forwardedFor: row.rule))
            #expect(reported == (row.reported == "9" ? "ffffcb007109" : row.reported), "\(row)")
            // The other dialects report one address.
            let client = row.lines.map { ("X-Original-Client", $0) }
            guard row.lines.count == 1, row.lines[0].utf8.contains(UInt8(ascii: ",")) else { continue }
            #expect(try Self.address(Self.facts(by: .nginx, from: client, forwardedFor: row.rule)) == "!", "\(row)")
        }
    }

    @Test func `have a network and a position, or say that they are malformed`() throws {
        for (text, reported) in [
            ("1", "1"), ("4294967295", "4294967295"), ("0", "!"), ("4294967296", "!"), ("AS1", "!"), ("+1", "!"),
            ("-1", "!"),
            ("", "-"), ("1,2", "!"), ("00000000001", "!"), ("\u{661}", "!"),
        ] {
            #expect(try Self.number(Self.facts(by: .nginx, from: [("X-Original-ASN", text)])) == reported, "\(text)")
        }
        for (text, reported) in [
            ("US", "[\"US\"]"), ("usa,us-ca , US-NYC", "[\"USA\", \"US-CA\", \"US-NYC\"]"), ("", "-"), (",", "!"),
            ("US,", "!"),
            ("U", "!"), ("USAA", "!"), ("US-", "!"), ("USA-CA", "!"), ("US-CALI", "!"), ("U1", "!"), ("US CA", "!"),
            ("é", "!"),
            ("a-b", "!"), (Array(repeating: "US", count: 9).joined(separator: ","), "!"), ("US-C-A", "!"),
        ] {
            #expect(try Self.countries(Self.facts(by: .ats, from: [("X-Original-Geo", text)])) == reported, "\(text)")
        }
        for (text, reported) in [
            ("0,0", "0.0 0.0"), ("-90,180", "-90.0 180.0"), ("+1.5,-0.25", "1.5 -0.25"), ("90.000001,0", "!"),
            ("0,-180.1", "!"),
            ("", "-"), ("0", "!"), ("0,0,0", "!"), ("nan,0", "!"), ("inf,0", "!"), ("1e1,0", "!"), ("0x1,0", "!"),
            (".5,0", "!"),
            ("1.,0", "!"), ("--1,0", "!"), ("0000,0", "!"), ("1.0000000000000,0", "!"), ("0;0", "!"),
        ] {
            let facts = try Self.facts(by: .envoy, from: [("X-Original-Position", text)])
            #expect(Self.position(facts) == reported, "\(text)")
        }
    }

    @Test func `have protocol and key of TLS, or that there is none`() throws {
        for (text, reported) in [
            ("h2", "\(Array("h2".utf8))"), ("http/1.1", "\(Array("http/1.1".utf8))"), ("", "none"), ("h2,h3", "!"),
            ("h 2", "!"),
            (String(repeating: "a", count: 256), "!"), ("é", "!"),
        ] {
            #expect(
                try Self.tls(in: Self.facts(by: .nginx, from: [("X-Original-ALPN", text)]), for: .alpn) == reported,
                "\(text)"
            )
        }
        let long = [0x30, 0x81, 0x80] + Array(repeating: 7, count: 128) as [UInt8]
        for (text, reported) in [
            ("MAA=", "!"), ("MAEF", "[48, 1, 5]"), (long.base64, "\(long)"), ("", "none"), ("MAA", "!"), ("M-A=", "!"),
            ("MQA=", "!"), ("MAEFAA==", "!"), ("MAIF", "!"), ("MIAA", "!"), ("MIEF", "!"), ("MA==", "!"), ("!", "!"),
            (Array(long.dropLast()).base64, "!"), (([0x30, 0x82, 0, 1, 5] as [UInt8]).base64, "!"),
            (String(repeating: "A", count: 4100), "!"),
        ] {
            #expect(
                try Self.tls(in: Self.facts(by: .nginx, from: [("X-Original-Client-Key", text)]), for: .clientKey)
                    == reported,
                "\(text)"
            )
        }
    }
}

extension String {
    fileprivate func drop(_ digit: Character) -> String { String(drop { $0 == digit }) }
}

extension [UInt8] {
    fileprivate var base64: String { Base64.encode(self) }
}
