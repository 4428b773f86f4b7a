// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Platform
import RequestTargets
import Testing

@testable import VendorTokens

/// Real servers with the configurations of `docs/how-to/vendor-edges.md` serve what is signed here, and refuse what is not.
@Suite(.serialized) struct `Vendors' servers` {
    /// Paths with characters that servers decode, or do not.
    static let paths = [
        "/live/tnt/a.m3u8", "/live/tnt/a%20b.m3u8", "/live/tnt/a%2Fb.m3u8", "/live/tnt/%C3%A9.m3u8",
        "/live/tnt/~a.m3u8", "/live/t~t/(a)+b.m4s",
    ]

    private static func request(_ path: String, host: String = "cdn.example", life: Int64 = 300) -> SigningRequest {
        let now = Timestamp.now()
        var request = SigningRequest(path: path, issued: now, expires: now.advanced(byMilliseconds: life * 1000))
        (request.host, request.scheme, request.session) = (host, .http, "s-1")
        return request
    }

    private static func issuer(for format: VendorFormat, settings: [String: String]) throws -> any VendorIssuer {
        try format.issuer(with: .secret(try SigningSecret(VendorServer.secret, form: .text)), settings: settings)
    }

    /// Polls until the server refuses a token that ends soon, and demands that it serves in the second of the expiry, and not
    /// after it. A busy machine may not ask within that second: then another token is tried.
    ///
    /// - Returns: The last token, which has expired.
    private static func watchEnd(
        issue: () throws -> SignedDelivery,
        ask: (SignedDelivery) throws -> Int
    ) throws -> SignedDelivery {
        for _ in 0..<20 {
            let brief = try issue()
            let end = brief.expires.millisecondsSince1970 / 1000
            var hasServedLast = false
            let isOver = try eventually(within: 30) {
                let before = Timestamp.now().millisecondsSince1970 / 1000
                let status = try ask(brief)
                let after = Timestamp.now().millisecondsSince1970 / 1000
                if status == 200 { #expect(before <= end) } else { #expect(after > end) }
                hasServedLast = hasServedLast || status == 200 && before == end
                return status != 200
            }
            #expect(isOver)
            if hasServedLast || !isOver { return brief }
        }
        throw HTTPConnection.Failure(reason: "no token was served in its last second")
    }

    @Test(
        .enabled(if: VendorServer.hasNginx, "nginx is not installed: run scripts/setup test")
    )
    func `nginx with secure_link`() async throws {
        try await onThread {
            let server = try VendorServer.nginx()
            let settings = ["weak": "true", "template": "{expires}{path} {secret}"]
            let issuer = try Self.issuer(for: .secureLink, settings: settings)
            for path in Self.paths {
                let delivery = try issuer.issue(Self.request(path))
                let url = try #require(delivery.url)
                let decoded = try #require(path[...].percentDecoded)
                #expect(try server.get(url) == (200, decoded), "\(path)")
                let query = try #require(delivery.query)
                for other in [
                    "http://cdn.example\(path)", "http://cdn.example\(path)x?\(query)", url + "0",
                    url.replacing("md5=", with: "md5=A"),
                ] {
                    #expect(try server.get(other).status == 403, "\(other)")
                }
            }
            // What is one path to nginx is one path to our verifier, which reads the same form.
            let whole = try issuer.issue(Self.request("/live/tnt/a/b.mp4"))
            #expect(try server.get("http://cdn.example/live/tnt/a%2Fb.mp4?\(try #require(whole.query))").status == 200)

            let scoped = try Self.issuer(
                for: .secureLink,
                settings: ["weak": "true", "template": "{expires}{scope} {secret}", "prefix": "s"]
            )
            let folder = try #require(try scoped.issue(Self.request("/live/tnt/")).path)
            for file in ["a.m3u8", "v1/1.m4s", "a%20b.m4s", "%C3%A9~.m4s"] {
                #expect(try server.get("http://cdn.example\(folder)\(file)").status == 200, "\(file)")
            }
            for other in [
                folder.replacing("/live/tnt/", with: "/live/tbs/") + "a", folder + "../tbs/a",
                folder.replacing("/s/", with: "/s/A") + "a",
            ] {
                #expect(try server.get("http://cdn.example\(other)").status == 403, "\(other)")
            }
            let brief = try Self.watchEnd {
                try issuer.issue(Self.request("/live/tnt/a.mp4", life: 2))
            } ask: {
                try server.get(try #require($0.url)).status
            }
            #expect(try server.get(try #require(brief.url)).status == 410)
        }
    }

    @Test(
        .enabled(
            if: VendorServer.hasTrafficServer,
            "trafficserver-experimental-plugins or nginx is not installed: run scripts/setup test"
        )
    )
    func `Traffic Server with url_sig`() async throws {
        try await onThread {
            let server = try VendorServer.trafficServer()
            for algorithm in ["sha1", "md5"] {
                let issuer = try Self.issuer(for: .urlSig, settings: ["weak": "true", "algorithm": algorithm])
                for path in Self.paths {
                    var request = Self.request(path)
                    request.query = "a=1"
                    let delivery = try issuer.issue(request)
                    let url = try #require(delivery.url)
                    // The origin gets the path without the signature.
                    #expect(try server.get(url) == (200, "\(path)?a=1"), "\(path)")
                    let query = try #require(delivery.query)
                    let others = [
                        "http://cdn.example\(path)", "http://cdn.example\(path)x?a=1&\(query)",
                        "http://cdn.example\(path)?a=2&\(query)",
                        url.replacing("&E=1", with: "&E=2"), url.replacing("&S=", with: "&S=0"),
                    ]
                    for other in others { #expect(try server.get(other).status == 403, "\(other)") }
                }
                // The plugin compares the raw path: another spelling of it is another path.
                let spelled = try #require(try issuer.issue(Self.request("/live/tnt/~a.mp4")).query)
                #expect(try server.get("http://cdn.example/live/tnt/%7Ea.mp4?\(spelled)").status == 403)
                let folder = try #require(try issuer.issue(Self.request("/live/tnt/")).query)
                #expect(try server.get("http://cdn.example/live/tnt/v1/1.m4s?\(folder)").status == 200)
                #expect(try server.get("http://cdn.example/live/tnt2/1.m4s?\(folder)").status == 403)
                #expect(try server.get("http://cdn.example/live/1.m4s?\(folder)").status == 403)
            }
            let segment = try Self.issuer(for: .urlSig, settings: ["weak": "true", "place": "segment"]).issue(
                Self.request("/live/tnt/")
            )
            let path = try #require(segment.path)
            #expect(try server.get("http://cdn.example\(path)a%20b.m4s") == (200, "/live/tnt/a%20b.m4s"))
            #expect(try server.get("http://cdn.example\(path.replacing("/tnt/", with: "/tbs/"))a.m4s").status == 403)
            let anchored = try Self.issuer(for: .urlSig, settings: ["weak": "true", "anchor": "urlsig"])
                .issue(Self.request("/live/tnt/", host: "anchor.example"))
            let folder = try #require(anchored.path)
            #expect(try server.get("http://anchor.example\(folder)v1/1.m4s") == (200, "/live/tnt/v1/1.m4s"))
            #expect(
                try server.get("http://anchor.example\(folder.replacing("/tnt;", with: "/tbs;"))1.m4s").status == 403
            )
            let plain = try Self.issuer(for: .urlSig, settings: ["weak": "true"])
            let brief = try Self.watchEnd {
                try plain.issue(Self.request("/live/tnt/a.mp4", life: 2))
            } ask: {
                try server.get(try #require($0.url)).status
            }
            #expect(try server.get(try #require(brief.url)).status == 403)
        }
    }

    /// Changes of one character of a token of `access_control`: of its Base64 up to the code, and of the code's digits. In the
    /// code's Base64 a change may give what is no digit, and the plugin reads those as one.
    private static func changes(of token: String) throws -> [String] {
        let text = try #require(Base64.decodeURLSafe(token))
        let code = text.count - 64
        #expect(text[..<code].suffix(4).elementsEqual("&md=".utf8))
        let early = stride(from: 0, to: code / 3 * 4, by: 9).map { index in
            var changed = Array(token.utf8)
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return String(decoding: changed, as: UTF8.self)
        }
        let late = stride(from: code, to: text.count, by: 9).map { index in
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            return Base64.encodeURLSafe(changed)
        }
        return early + late
    }

    @Test(
        .enabled(
            if: VendorServer.hasTrafficServer,
            "trafficserver-experimental-plugins or nginx is not installed: run scripts/setup test"
        )
    )
    func `Traffic Server with access_control`() async throws {
        try await onThread {
            let server = try VendorServer.trafficServer()
            func status(with token: String?, at path: String = "/live/tnt/a.m3u8") throws -> Int {
                try server.get("https://cdn.example\(path)", port: 1, cookie: token.map { "TokenCookie=\($0)" }).status
            }
            let verifier = try AccessControlVerifier([
                AccessControlKey(SigningSecret(VendorServer.secret, form: .text), id: "key1")
            ])
            for settings in [
                ["kid": "key1"], ["kid": "key1", "algorithm": "sha512", "start": "true", "tid": "t-1", "version": "1"],
            ] {
                let token = try Self.issuer(for: .accessControl, settings: settings).issue(Self.request("/live/tnt/"))
                    .token
                for path in Self.paths { #expect(try status(with: token, at: path) == 200, "\(path)") }
            }
            #expect(try status(with: nil) == 400)
            let other = try Self.issuer(for: .accessControl, settings: ["kid": "key2"]).issue(
                Self.request("/live/tnt/")
            ).token
            #expect(try status(with: other) == 500)
            // Changes of one character: the plugin and our verifier refuse alike.
            let token = try Self.issuer(for: .accessControl, settings: ["kid": "key1"]).issue(
                Self.request("/live/tnt/")
            ).token
            for changed in try Self.changes(of: token) {
                #expect(verifier.verify(changed, for: SignedRequest(path: "/live/tnt/a"), at: .now()).grant == nil)
                #expect(try status(with: changed) != 200, "\(changed)")
            }
            let issuer = try Self.issuer(for: .accessControl, settings: ["kid": "key1"])
            let brief = try Self.watchEnd {
                try issuer.issue(Self.request("/live/tnt/", life: 2))
            } ask: {
                try status(with: $0.token)
            }
            #expect(try status(with: brief.token) == 403)
        }
    }
}
