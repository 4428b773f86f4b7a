// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Encodings
import GateTestSupport
import Testing

@testable import EdgeTokens
@testable import RequestTargets

/// The normal form of URIs and their components, against a table and against an implementation in Python.
@Suite struct `Request URIs` {
    @Test func `a target in normal form is not copied`() throws {
        let uri = try #require(RequestURI("/live/tnt/a.m3u8?x=1", scheme: .https, authority: "CDN.example.:443"))
        #expect(uri.host == "cdn.example")
        #expect(uri.path == "/live/tnt/a.m3u8")
        #expect(uri.query == "x=1")
        #expect(uri.hasDefaultPort)
        #expect(uri.withoutQuery == "https://cdn.example/live/tnt/a.m3u8")
    }

    @Test(
        arguments: [
            ("/", "/"), ("/a/%7Euser/%2d", "/a/~user/-"), ("/a%2fb", "/a%2Fb"), ("/a%2f..", nil), ("/a%2f/b", nil),
            ("/a%5Cb", nil), ("/a\\b", nil),
            ("/a;b", nil),
            ("/a%3bb", nil), ("/a%00b", nil), ("/a%", nil), ("/a%2", nil), ("/a%2561", nil), ("/a%ff", nil),
            ("/a#b", nil),
            ("/a/./b/../c", "/a/c"), ("/a/%2e%2e/b", "/b"), ("/..", nil), ("/a//b", "/a/b"), ("/a/", "/a/"), ("a", nil),
            ("", nil), ("/é", "/%C3%A9"), ("/%c3%a9", "/%C3%A9"), ("/a b", "/a%20b"), ("/a\"b", "/a%22b"),
            ("/a%21", "/a%21"),
            ("/a!", "/a!"), ("/[a]", "/%5Ba%5D"), ("/a?b?c", "/a"),
        ] as [(String, String?)]
    )
    func `paths have one form, or none`(target: String, path: String?) {
        #expect(RequestURI(target[...]).map { String($0.path) } == path)
    }

    @Test func `a path that is not resolved is none where the edge does not resolve it`() {
        #expect(RequestURI("/a/../b", form: .asIs) == nil)
        #expect(RequestURI("/a//b", form: .asIs) == nil)
        #expect(RequestURI("/%61/b", form: .asIs)?.path == "/a/b")
    }

    @Test func `a query that servers read differently is unknown to a rule`() throws {
        let uri = try #require(RequestURI("/a?x=100%"))
        #expect(uri.query == nil)
        let match = uri.match(.query, operand: Span()) { _ in true }
        #expect(match == .unknown(.query))
    }

    @Test func `an unknown host, scheme or port is unknown to a rule`() throws {
        let uri = try #require(RequestURI("/a"))
        for (component, fact) in [(URIComponent.host, RequestFact.host), (.scheme, .scheme), (.port, .host)] {
            let match = uri.match(component, operand: Span()) { _ in true }
            #expect(match == .unknown(fact))
        }
        // The empty text is the default port of the scheme, which is not known.
        let port = { (authority: Substring, own: String) throws in
            let uri = try #require(RequestURI("/a", authority: authority))
            return uri.match(.port, operand: Span()) { $0.hasSameBytes(as: own.utf8.span) }
        }
        #expect(try port("a:443", "") == .unknown(.scheme) && port("a:80", "") == .unknown(.scheme))
        #expect(try port("a:8443", "") == .fails && port("a:443", "443") == .holds && port("a:443", "80") == .fails)
        for target in ["/a%3fb", "/a%3Fb", "/a%23b", "/a%23/../b"] {
            #expect(RequestURI(target[...]) == nil, "\(target)")
        }
        for authority in ["a:0", "a:65536", "a:123456", "a b", "u@a", "a,b", "", ":80"] {
            #expect(RequestURI("/a", authority: authority[...]) == nil, "\(authority)")
        }
    }

    struct Row {
        let target: String
        let scheme: String
        let authority: String
        let component: Int
        let match: Int
        let operand: String

        /// The answer of this package: `refused`, `true` or `false`.
        var answer: String {
            let scheme = RequestURI.Scheme(rawValue: scheme)
            guard let uri = RequestURI(target[...], scheme: scheme, authority: authority[...]) else { return "refused" }
            guard let component = URIComponent(rawValue: UInt8(component)),
                let match = ValueMatch(rawValue: Int64(match))
            else { return "no component" }
            let bytes = match == .sha256 ? CATSample.bytes(operand) : [UInt8](operand.utf8)
            let separator = match == .sha256 ? [] : bytes
            let result = uri.match(component, operand: separator.span) { match.holds(for: $0, against: bytes.span) }
            return result == .holds ? "true" : "false"
        }

        var json: String {
            let members: [JSON.Member] = [
                ("target", .string(target)), ("scheme", .string(scheme)), ("authority", .string(authority)),
                ("component", .number(Int64(component))), ("match", .number(Int64(match))),
                ("operand", .string(operand)),
            ]
            return JSON.object(members).line
        }
    }

    static let targets = [
        "/", "/a", "/live/tnt/a.m3u8", "/live/tnt/", "/live/tnt/seg1.m4s?x=1&y=%2f", "/live/tnt/.hidden", "/a/b.tar.gz",
        "/live/../vod/a.ts", "/live/./a", "/live//tnt//a", "/%6Cive/tnt", "/a%2Fb", "/a%2fb", "/%2e%2e/a",
        "/a/%2E%2E/b",
        "/a;b", "/a%3Bb", "/a\\b", "/a%20b/c", "/é/x", "/%C3%A9/x", "/a%ff", "/a%2525", "/a%25", "/a%", "/a?%zz",
        "/a?b=ü",
        "/a#b", "/a?b#c", "/a/..", "/a/../..", "/..", "/a/.", "/...", "/a/..b", "/A/b", "/a//../b", "/a'()*+,=:@!$&",
    ]

    static let operands = [
        "", "/", "a", "/live/tnt/", "/live/tnt", "m3u8", ".m3u8", "m4s", "seg", "https", "443", "80", "cdn.example",
        "/a",
        "/a/", ".", "/%C3%A9/x", "x=1", "b",
    ]

    static var rows: [Row] {
        var rows: [Row] = []
        var random = SplitMix64(seed: 3)
        let authorities = ["cdn.example", "CDN.example:443", "cdn.example:80", "cdn.example.:8443"]
        for target in targets {
            for component in 0...8 {
                for match in [0, 1, 2, 3, -1] {
                    let operand = random.pick(operands)
                    let isDigest = match == -1
                    guard isDigest || !operand.isEmpty || match == 0 else { continue }
                    rows.append(
                        Row(
                            target: target,
                            scheme: random.pick(["http", "https"]),
                            authority: random.pick(authorities),
                            component: component,
                            match: match,
                            operand: isDigest ? digest(random.pick(["/a", "", "a", "/live/tnt", "/a/b"])) : operand
                        )
                    )
                }
            }
        }
        return rows
    }

    private static func digest(_ text: String) -> String { sha256(text).hexadecimal }

    @Test func `an implementation from RFC 3986 gives the same answers`() throws {
        let python = try #require(Program.installed("python3"))
        let rows = Self.rows
        #expect(rows.count >= 300)
        let input = rows.map(\.json).joined(separator: "\n") + "\n"
        let script = repository + "/Tests/CommonAccessTokensTests/Oracles/uri.py"
        let run = try CommandRun(python, arguments: [script], input: [UInt8](input.utf8))
        #expect(run.status == 0, "\(run.error)")
        let answers = run.output.split(separator: "\n")
        try #require(answers.count == rows.count)
        for (row, answer) in zip(rows, answers) { #expect(row.answer == answer, "\(row.json)") }
        // Each answer occurs, so that the comparison is one.
        #expect(Set(answers) == ["refused", "true", "false"])
    }
}
