// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Platform
import Testing

@testable import RequestTargets
@testable import VendorTokens

/// The carriers of tokens, and the URLs that players are given.
@Suite struct `Vendors' tokens` {
    @Test(arguments: VendorFormat.allCases)
    func `are delivered in carriers of their format`(format: VendorFormat) throws {
        let issuer = try VendorSample.issuer(for: format)
        var request = try VendorSample.request()
        request.file = VendorSample.manifest
        let delivery = try issuer.issue(request)
        #expect(issuer.format == format && delivery.format == format)
        #expect(delivery.carriers.isSubset(of: issuer.carriers) && !delivery.carriers.isEmpty)
        #expect(delivery.expires == Timestamp(secondsSince1970: VendorSample.expires))
        for cookie in delivery.cookies {
            #expect(cookie.path == VendorSample.folder)
            let line = try #require(cookie.line(until: delivery.expires, at: request.issued))
            #expect(line.hasSuffix("; Path=/live/tnt/; Max-Age=300; Secure; HttpOnly; SameSite=None"))
        }
        if issuer.carriers == [.cookie] {
            #expect(delivery.url == nil)
        } else {
            let url = try #require(delivery.url)
            #expect(url.hasPrefix("https://cdn.example/") && url.contains("a.m3u8"))
            let carried = delivery.path.map { String($0.dropFirst()) } ?? delivery.query
            #expect(url.contains(try #require(carried)))
        }
        // A life in fractions of a second is rounded down, and never up.
        request.expires = Timestamp(millisecondsSince1970: VendorSample.expires * 1000 + 999)
        #expect(try issuer.issue(request).expires == Timestamp(secondsSince1970: VendorSample.expires))
    }

    @Test func `stand in the path where relative references retain them`() throws {
        var request = try VendorSample.request()
        request.file = VendorSample.manifest
        let akamai = try VendorSample.issuer(for: .edgeAuth, adding: ["name": "hdntl"]).issue(request)
        #expect(akamai.url == "https://cdn.example/hdntl=\(akamai.token)/live/tnt/a.m3u8")
        let nginx = try VendorSample.issuer(for: .secureLink, adding: ["prefix": "s"]).issue(request)
        #expect(nginx.url == "https://cdn.example/s/\(nginx.token)/live/tnt/a.m3u8")
        let segment = try VendorSample.issuer(for: .urlSig, adding: ["place": "segment"]).issue(request)
        #expect(segment.url == "https://cdn.example/live/tnt/\(segment.token)/a.m3u8")
        let anchor = try VendorSample.issuer(for: .urlSig, adding: ["anchor": "urlsig"]).issue(request)
        #expect(anchor.url == "https://cdn.example/live/tnt;urlsig=\(anchor.token)/a.m3u8")
        request.query = "a=1"
        #expect(try VendorSample.issuer(for: .cloudflare).issue(request).url?.contains("a.m3u8?a=1&verify=") == true)
    }

    /// A token that holds what a carrier cannot is offered only in the others.
    @Test func `are left out of carriers that would change them`() throws {
        let blank = try EdgeAuthIssuer(VendorSample.bytes(), rules: rules { $0.data = "a&b" }).issue(
            VendorSample.request()
        )
        #expect(blank.carriers == [.cookie, .segment])
        let error = signingError {
            _ = try EdgeAuthIssuer(VendorSample.bytes(), rules: rules { $0.data = "tnt live" }).issue(
                VendorSample.request()
            )
        }
        #expect(error == SigningError(.character, value: "token", character: " "))
    }

    private func rules(_ change: (inout EdgeAuthRules) -> Void) -> EdgeAuthRules {
        var rules = EdgeAuthRules()
        change(&rules)
        return rules
    }

    /// The rule adds its life to the time of issue, so a shorter life is dated back, and none is longer than the rule's.
    @Test func `of Cloudflare end with the session`() throws {
        let issuer = try VendorSample.issuer(for: .cloudflare, adding: ["life": "600"])
        let short = try issuer.issue(VendorSample.request())
        #expect(short.token.hasPrefix("\(VendorSample.expires - 600)-"))
        #expect(short.expires == Timestamp(secondsSince1970: VendorSample.expires))
        let long = try VendorSample.issuer(for: .cloudflare, adding: ["life": "60"]).issue(VendorSample.request())
        #expect(long.token.hasPrefix("\(VendorSample.issued)-"))
        #expect(long.expires == Timestamp(secondsSince1970: VendorSample.issued + 60))
    }

    @Test func `name addresses and networks as edges do`() throws {
        let texts = [
            "203.0.113.9", "0.0.0.0", "2001:db8::1", "::", "::1", "1::", "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1",
            "fe80::1:0:0:1",
        ]
        for text in texts { #expect(try VendorSample.network(text).address.text == text) }
        #expect(IPAddress("2001:DB8:0:0:1:0:0:1")?.text == "2001:db8::1:0:0:1")
        #expect(IPAddress("::ffff:203.0.113.9")?.text == "203.0.113.9")
        for (text, description) in [
            ("203.0.113.9/24", "203.0.113.0/24"), ("203.0.113.9/0", "0.0.0.0/0"), ("2001:db8::1/32", "2001:db8::/32"),
            ("::1/0", "::/0"), ("203.0.113.9", "203.0.113.9/32"),
        ] {
            #expect(try VendorSample.network(text).description == description)
        }
        let address = try #require(IPAddress("203.0.113.9"))
        #expect(ClientNetwork(address, length: 33) == nil && ClientNetwork(address, length: -1) == nil)
    }
}
