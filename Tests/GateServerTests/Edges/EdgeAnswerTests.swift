// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeListener
import EdgeTokens
import Encodings
import GateTestSupport
import NIOCore
import Platform
import Testing

@testable import EdgeChecks
@testable import GateConfiguration
@testable import HTTPServer
@testable import PlaybackGate

/// The header fields by which an answer delivers a grant.
@Suite struct `An answer to an edge` {
    /// Returns the lines of an answer to an allowed check that may be cached for five seconds.
    private static func lines(session: SessionID? = nil, grant: DeliveredGrant? = nil) -> [String] {
        let allowance = Decision.Allowance(reason: .unprotected, subject: .nothing)
        var answer = EdgeAnswer(
            decision: .allow(allowance),
            trace: TraceID.new(),
            tokenSources: 0,
            sources: [],
            keeping: EdgeAnswer.Keeping(seconds: 5, varying: "Host", tokenHeaders: "Cookie")
        )
        answer.session = session
        answer.grant = grant
        var output = HTTPOutput()
        output.closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)
        output.write(answer)
        var text = ""
        output.drain { text += String(buffer: $0) }
        return text.components("\r\n")
    }

    private static func values(of name: String, in lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    @Test func `without a grant has no field of one, and may be cached`() {
        let lines = Self.lines()
        for name in ["Set-Cookie", "X-Playgate-Set-Cookie", "X-Playgate-Grant", "X-Playgate-Session"] {
            #expect(Self.values(of: name, in: lines).isEmpty, "\(name)")
        }
        #expect(Self.values(of: "Cache-Control", in: lines) == ["max-age=5, must-revalidate"])
        #expect(Self.values(of: "X-Accel-Expires", in: lines) == ["5"])
        #expect(Self.values(of: "Vary", in: lines) == ["Host, Cookie"])
    }

    @Test func `to a grant that stays names its session, and may be cached`() {
        let lines = Self.lines(session: SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16"))
        #expect(Self.values(of: "X-Playgate-Session", in: lines) == ["e688045c604d5ecc272cf7d83b00ec16"])
        #expect(Self.values(of: "Cache-Control", in: lines) == ["max-age=5, must-revalidate"])
        #expect(
            Self.values(
                of: "X-Playgate-Session",
                in: Self.lines(session: SessionID(hexadecimal: String(repeating: "0", count: 31) + "1"))
            ) == [String(repeating: "0", count: 31) + "1"]
        )
    }

    @Test func `delivers a grant in a cookie, for every edge, and is not cached`() throws {
        let cookie = "CTA-Common-Access-Token=2D3R.hE-_; Path=/live/tnt/; Max-Age=300; Secure; HttpOnly; SameSite=None"
        let grant = try #require(DeliveredGrant(token: "2D3R.hE-_", cookie: cookie))
        let lines = Self.lines(session: SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16"), grant: grant)
        #expect(Self.values(of: "Set-Cookie", in: lines) == [cookie])
        #expect(Self.values(of: "X-Playgate-Set-Cookie", in: lines) == [cookie])
        #expect(Self.values(of: "X-Playgate-Grant", in: lines) == ["2D3R.hE-_"])
        #expect(Self.values(of: "X-Playgate-Session", in: lines).count == 1)
        #expect(Self.values(of: "CTA-Common-Access-Token", in: lines).isEmpty)
        #expect(Self.values(of: "Cache-Control", in: lines) == ["no-store"])
        #expect(Self.values(of: "X-Accel-Expires", in: lines) == ["0"])
        #expect(lines.suffix(2) == ["", ""])
    }

    /// The largest head is what docs/concepts/edges.md says.
    @Test(arguments: [(EdgeDialect.nginx, 24), (.forward, 32), (.envoy, 32), (.ats, 24)])
    func `has the fields of a grant that its edges use, and no larger head than is documented`(
        dialect: EdgeDialect,
        kibibytes: Int
    ) throws {
        let text = String(repeating: "a", count: GrantDelivery.maximumSize)
        let fields = dialect.row.grantFields
        let grant = try #require(
            DeliveredGrant(token: text, cookie: text, headers: [.standard, .older], fields: fields)
        )
        let lines = Self.lines(session: SessionID(hexadecimal: String(repeating: "f", count: 32)), grant: grant)
        let names = [
            "Set-Cookie", "X-Playgate-Set-Cookie", "X-Playgate-Grant", "CTA-Common-Access-Token", "Common-Access-Token",
        ]
        let wanted: [EdgeDialect: [String]] = [.nginx: Array(names[1...3]), .ats: []]
        #expect(names.filter { !Self.values(of: $0, in: lines).isEmpty } == wanted[dialect] ?? names)
        // Three texts of a subject, of which each byte may be encoded, come on top.
        let size = lines.reduce(0) { $0 + $1.utf8.count + 2 } + 3 * 3 * ByteWriter.escapedLimit
        #expect(size <= kibibytes * 1024, "\(size)")
    }

    @Test func `delivers a grant in the header fields that players read`() throws {
        let headers: DeliveredGrant.PlayerHeaders = [.standard, .older]
        // The largest that fit.
        let token = String(repeating: "a", count: GrantDelivery.maximumSize)
        let cookie = String(repeating: "c", count: GrantDelivery.maximumSize)
        let grant = try #require(DeliveredGrant(token: token, cookie: cookie, headers: headers))
        let lines = Self.lines(session: SessionID(hexadecimal: String(repeating: "f", count: 32)), grant: grant)
        for name in ["CTA-Common-Access-Token", "Common-Access-Token", "X-Playgate-Grant"] {
            #expect(Self.values(of: name, in: lines) == [token])
        }
        let header = try #require(DeliveredGrant(token: "a", cookie: nil, headers: .standard))
        #expect(Self.values(of: "Set-Cookie", in: Self.lines(grant: header)).isEmpty)
        #expect(Self.values(of: "X-Playgate-Set-Cookie", in: Self.lines(grant: header)).isEmpty)
    }

    @Test(arguments: [
        ("", "a=b"), ("a b", nil), ("a\r\nX-Accel-Redirect: /", nil), ("a=", nil), ("a+/", nil), ("a~", nil),
        ("é", nil),
        ("a", ""), ("a", "a=b\r\nX-Accel-Redirect: /"), ("a", "a=\nb"), ("a", "a=\0"), ("a", "a=é"), ("a", "a=\u{7F}"),
        (String(repeating: "a", count: 4097), nil), ("a", String(repeating: "a", count: 4097)),
    ])
    func `delivers no text that could be another field`(token: String, cookie: String?) {
        #expect(DeliveredGrant(token: token, cookie: cookie) == nil)
    }
}

extension String {
    fileprivate func components(_ separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
