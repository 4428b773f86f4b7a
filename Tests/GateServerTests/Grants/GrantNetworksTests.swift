// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateTestSupport
import Platform
import Testing

/// One playback with a grant for each of several networks, as docs/how-to/several-networks.md configures it.
@Suite struct `A gate in front of several networks` {
    typealias Object = [String: Any]

    static let page: String =
        (try? String(contentsOfFile: repository + "/docs/how-to/several-networks.md", encoding: .utf8)) ?? ""

    /// The configuration that the page prints, with the keys in files.
    private static func configuration() throws -> String {
        let yaml = try #require(page.components(separatedBy: "```yaml\n").dropFirst().first)
        let printed = try #require(yaml.components(separatedBy: "```").first)
        return """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }] }
            api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate, g] }
            admin: { listen: "127.0.0.1:0" }
            watch: false
            replayStore: { advanced: { capacity: 1000 } }
            \(printed)
            """
    }

    private static func with(_ body: @escaping @Sendable (RunningGate) throws -> Void) async throws {
        let rsa = try PrivateKey(generating: .rsa(bits: 2048))
        let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
        let files = [
            "grant.key": secret, "subject.key": secret, "akamai.hex": String(repeating: "0f", count: 32) + "\n",
            "nginx.txt": "a secret of more than 32 characters", "cloudfront.pem": try rsa.pem(),
        ]
        try await RunningGate.with(configuration(), files: files) { gate in try body(gate) }
    }

    private static func start(_ gate: RunningGate) throws -> [Object] {
        let answer = try gate.play(path: "/live/tnt/master.m3u8", token: gate.token(), playbackID: "7f1c")
        #expect(answer.status == 200, "\(answer)")
        return answer.json["grants"] as? [Object] ?? []
    }

    private static func check(
        by gate: RunningGate,
        target: String,
        cookie: String? = nil
    ) throws -> HTTPConnection.Response {
        var headers = [
            "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Host": "cdn.example",
            "X-Forwarded-Proto": "https",
        ]
        headers["Cookie"] = cookie
        return try HTTPConnection(gate.edge).request("GET", path: "/v1/check/forward", headers: headers)
    }

    @Test func `answers with a grant for each, of one session`() async throws {
        try await Self.with { gate in
            let grants = try Self.start(gate)
            #expect(
                grants.compactMap { $0["format"] as? String }
                    == ["cat", "uri-signing", "edgeauth", "cloudfront", "secure-link"]
            )
            #expect(Set(grants.compactMap { $0["session"] as? String }).count == 1)
            let byFormat = Dictionary(grants.map { ($0["format"] as? String ?? "", $0) }) { first, _ in first }
            let akamai = try #require(byFormat["edgeauth"]?["url"] as? String)
            #expect(akamai.hasPrefix("https://akamai.example/hdntl=exp=") && akamai.hasSuffix("/live/tnt/master.m3u8"))
            let cookies = byFormat["cloudfront"]?["setCookies"] as? [String] ?? []
            #expect(cookies.contains { $0.hasPrefix("CloudFront-Policy=") && $0.contains("Path=/live/tnt/;") })
            #expect(byFormat["cloudfront"]?["renewAfter"] is NSNull)
            let nginx = try #require(byFormat["secure-link"]?["url"] as? String)
            #expect(nginx.hasPrefix("https://origin.example/s/"))
            #expect(try gate.metric("playgate_grants_issued_total{profile=\"akamai\",format=\"edgeauth\"}") == 1)
        }
    }

    @Test func `explains signed URIs as it does Common Access Tokens`() async throws {
        try await Self.with { gate in
            let signed = try #require(try Self.start(gate).first { $0["format"] as? String == "uri-signing" })
            let token = try #require(signed["token"] as? String)
            let explain = { (url: String) in
                try gate.post("/v1/grants/verify", body: "{\"grant\":\"\(token)\",\"url\":\"\(url)\"}").json
            }
            let good = try explain("https://cdn.example/live/tnt/seg-1.m4s?x=1")
            #expect(good["valid"] as? Bool == true && good["action"] as? String == "none", "\(good)")
            let names = (good["claims"] as? [Object] ?? []).compactMap { $0["claim"] as? String }
            #expect(names.contains("cdniuc") && names.contains("exp"), "\(names)")
            let bad = try explain("https://cdn.example/live/tbs/seg-1.m4s")
            #expect(bad["code"] as? String == "grant_uri_mismatch" && bad["claim"] as? String == "cdniuc", "\(bad)")
        }
    }

    @Test func `checks signed URIs in path, query and cookie, cut from the target before the catalogue`() async throws {
        try await Self.with { gate in
            let grants = try Self.start(gate)
            let signed = try #require(grants.first { $0["format"] as? String == "uri-signing" })
            let token = try #require(signed["token"] as? String)
            let path = try #require(signed["path"] as? String)
            #expect(path == "/live/tnt;URISigningPackage=\(token)/master.m3u8")
            let targets = [
                "/live/tnt;URISigningPackage=\(token)/720p/seg-1.m4s", "/live/tnt/seg-1.m4s?URISigningPackage=\(token)",
                "/live/tnt/seg-1.m4s?x=1&URISigningPackage=\(token)", "/live/tnt/seg-1.m4s;URISigningPackage=\(token)",
            ]
            for target in targets { #expect(try Self.check(by: gate, target: target).status == 200, "\(target)") }
            let cookie = "URISigningPackage=\(token)"
            #expect(try Self.check(by: gate, target: "/live/tnt/seg-1.m4s", cookie: cookie).status == 200)
            let refusals = [
                ("/live/tnt/seg-1.m4s", "grant_missing"), ("/live/tnt/a;x=1/seg-1.m4s?\(cookie)", "invalid_path"),
                ("/live/tnt/seg-1.m4s?\(cookie)x", "grant_malformed"),
                ("/live/tnt;URISigningPackage=\(token)/../tbs/seg-1.m4s", "edge_request_invalid"),
                ("/live/tnt/seg-1.m4s?URISigningPackage=/../../vod/x.jpg", "edge_request_invalid"),
                ("/live/tnt/URISigningPackage=/../../vod/seg-1.m4s", "edge_request_invalid"),
            ]
            for (target, code) in refusals {
                let answer = try Self.check(by: gate, target: target)
                #expect(answer.status != 200 && answer.values("X-Playgate-Code") == [code], "\(target): \(answer)")
            }
            gate.now = gate.now.advanced(byMilliseconds: 250_000)
            let renewed = try Self.check(by: gate, target: "/live/tnt/seg-1.m4s", cookie: cookie)
            #expect(
                renewed.values("X-Playgate-Set-Cookie").first?.hasPrefix("URISigningPackage=ey") ?? false,
                "\(renewed)"
            )
        }
    }
}
