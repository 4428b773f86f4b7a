// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Real edges with the lines of their pages for signed URIs. Traffic Server has a plugin of its own: see
/// ``SigningTrafficServer``.
@Suite(.serialized) struct `Signed URIs behind a real edge` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    private static let catalogue = """
            - { path: /film/master.m3u8, resource: TNT, grant: signed }
            - { path: /film/, resource: TNT, admits: grant, grant: signed }
        """
    private static let grants = """
        keys: { k1: { secret: \(secret) } }
        grants:
          subjectKey: \(secret)
          profiles:
            signed: { format: uri-signing, issuer: playgate, key: k1, host: gate, scheme: http, cookie: { sameSite: Lax } }
        """

    /// Returns a package of a new playback.
    private static func start(_ gate: RunningGate, session: String) throws -> String {
        let token = try gate.token(GateSample.claims(session: session))
        let answer = try gate.play(path: "/film/master.m3u8", token: token)
        let grants = try #require(
            answer.json["grants"] as? [[String: Any]] ?? (answer.json["grant"] as? [String: Any]).map { [$0] }
        )
        return try #require(grants.first?["token"] as? String, "\(answer)")
    }

    /// The locations of a package in a target and in a cookie.
    private static func requests(_ package: String) -> [(target: String, cookie: String?)] {
        let attribute = "URISigningPackage=\(package)"
        return [
            ("/film/1.ts?\(attribute)", nil), ("/film/1.ts?x=1&\(attribute)", nil),
            ("/film/1.ts?\(attribute)&x=1", nil),
            ("/film;\(attribute)/1.ts", nil), ("/film/1.ts;\(attribute)", nil), ("/film;\(attribute)/1.ts?x=1", nil),
            ("/film;\(attribute)/1.ts?\(attribute)", attribute), ("/film/1.ts", attribute),
        ]
    }

    @Test(arguments: EdgeProxy.allCases.filter { $0 != .trafficserver && $0 != .caddy })
    func `reach the cache and the origin without the package`(edge: EdgeProxy) async throws {
        try await edge.withGate(
            packages: true,
            catalogue: Self.catalogue,
            more: Self.grants,
            isOnPort: true
        ) {
            (gate, proxy) throws in
            let packages = [try Self.start(gate, session: "a"), try Self.start(gate, session: "b")]
            #expect(packages[0] != packages[1])
            for package in packages {
                for (target, cookie) in Self.requests(package) {
                    let answer = try proxy.get(target, headers: cookie.map { ["Cookie": $0] } ?? [:])
                    let first = answer.body.split(separator: "\n").first
                    #expect(answer.status == 200 && first == "GET /film/1.ts", "\(target) \(answer)")
                    #expect(!answer.body.contains("URISigningPackage"), "\(target)")
                }
            }
            // One entry of the cache for all packages, viewers and places.
            let count = Self.requests("").count * packages.count
            #expect(proxy.origin.requests == (edge.sharesContent ? 1 : count))
            let attribute = "URISigningPackage=\(packages[0])"
            let refused = [
                "/film/1.ts", "/film/1.ts?\(attribute)x", "/film;\(attribute)x/1.ts", "/other;\(attribute)/1.ts",
                "/film;\(attribute);x=1/1.ts", "/film;\(attribute)/../other/1.ts",
                "/film;%55RISigningPackage=x/1.ts",
                "/film/1.ts;URISigningPackage=", "/film/1.ts?a=/\(attribute)", "/film/\(attribute)/1.ts",
                "/film,\(attribute),1.ts",
            ]
            let requests = proxy.origin.requests
            for target in refused { #expect(try proxy.get(target).status / 100 == 4, "\(target)") }
            #expect(proxy.origin.requests == requests)
            proxy.stop()
            let logs = try proxy.logs()
            for package in packages { #expect(!logs.contains(package.suffix(40)), "\(logs)") }
        }
    }
}
