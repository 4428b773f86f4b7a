// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

@testable import GateConfiguration
@testable import GateServer

@Suite struct `A configuration with grants` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    /// Parts of a configuration, each with a default.
    struct Parts: Sendable {
        var entries = "{ path: /live/tnt/, resource: TNT, admits: grant, grant: live }"
        var keys = "{ k1: { secret: \(secret) } }"
        var live = "issuer: playgate, key: k1"
        var more = ""
        var issuers = ""
        var edge = "tokens: [{ query: token }]"

        var text: String {
            """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }] }
            catalogue: { entries: [\(entries)] }
            api: { anonymous: true }
            keys: \(keys)
            grants:
              subjectKey: { file: subject.key }
              profiles:
                live: { \(live) }
            \(more)
              issuers: [\(issuers)]
            edge: { listen: "127.0.0.1:0", \(edge) }
            """
        }
    }

    static let good: [(String, Parts)] = [
        ("the least", Parts()),
        ("a secret in a file", Parts(keys: "{ k1: { secret: { file: grant.key }, algorithm: HS256 } }")),
        ("a secret in URL-safe Base64", Parts(keys: "{ k1: { secret: \(String(repeating: "-_", count: 24)) } }")),
        ("a private key", Parts(keys: "{ k1: { private: { file: signer.key }, algorithm: PS256 } }")),
        (
            "the key before, for verification only",
            Parts(
                keys: "{ k1: { secret: \(secret) }, k0: { public: { file: signer.pem } } }",
                issuers: "{ issuer: playgate, keys: [k0, k1] }"
            )
        ),
        (
            "the times of keys",
            Parts(
                keys:
                    "{ k1: { secret: \(secret), signUntil: 2031-02-01T00:00:00Z, verifyUntil: 2031-03-01T00:00:00Z } }"
            )
        ),
        ("grants that are not renewed", Parts(live: "issuer: playgate, key: k1, life: 60s, renew: { type: none }")),
        (
            "a short renewal by header",
            Parts(live: "issuer: playgate, key: k1, life: 5s, renew: { type: header, deadline: 2s }")
        ),
        (
            "a demonstration without TLS",
            Parts(live: "issuer: playgate, key: k1, scheme: http, cookie: { sameSite: Lax }")
        ),
        (
            "grants that are bound to networks and players",
            Parts(live: "issuer: playgate, key: k1, bind: { address: prefix, headers: [User-Agent, X-Device] }")
        ),
        ("a host with a port", Parts(live: "issuer: playgate, key: k1, host: \"cdn.example:8443\"")),
        ("an address", Parts(live: "issuer: playgate, key: k1, host: \"[2001:db8::1]:8443\"")),
        ("all ways of delivery", Parts(live: "issuer: playgate, key: k1, deliver: [cookie, segment, query, header]")),
        (
            "a cookie for all hosts of a domain",
            Parts(
                live:
                    "issuer: playgate, key: k1, cookie: { name: __Secure-cat, partitioned: true, domain: example.com }"
            )
        ),
        (
            "grants without tags",
            Parts(live: "issuer: playgate, key: k1, revocation: none, audience: [cdn-2], methods: GET")
        ),
        (
            "a limit",
            Parts(
                live:
                    "issuer: playgate, key: k1, maxConcurrentStreams: 64, session: 30m, advanced: { unverified: true }"
            )
        ),
        (
            "two profiles",
            Parts(
                entries: "{ path: /live/tnt/, resource: TNT, grant: [live, vod] }",
                more: "    vod: { issuer: vod, key: k1, scope: /vod/ }"
            )
        ),
        (
            "media by its manifest",
            Parts(entries: "{ media: tnt, resource: TNT, grant: live, manifest: /live/tnt/a.m3u8 }")
        ),
        ("media by its scope", Parts(entries: "{ media: tnt, resource: TNT, grant: live, scope: /live/tnt/ }")),
        (
            "media by the scope of its profile",
            Parts(
                entries: "{ media: tnt, resource: TNT, grant: live }",
                live: "issuer: playgate, key: k1, scope: /live/"
            )
        ),
        (
            "segments until the token expires",
            Parts(entries: "{ path: /live/tnt/, resource: TNT, admits: ttl, grant: live }")
        ),
        (
            "another issuer",
            Parts(
                issuers:
                    "{ issuer: other, source: other.json, audience: [here], advanced: { optionalClaims: [exp], maximumSession: 12h } }"
            )
        ),
        (
            "other places of grants",
            Parts(edge: "tokens: [{ query: token }], grants: [{ cookie: cat }, { query: grant }]")
        ),
    ]

    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let keys = try GateSample.trusted.get().keys
        try folder.write("signer.pem", contents: keys.signerCertificate)
        try folder.write("signer.key", contents: keys.signerKey)
        for name in ["grant.key", "subject.key"] { try folder.write(name, contents: secret + "\n") }
        try folder.write("other.json", contents: keySet)
        return folder
    }

    private static let keySet = """
        {"keys":[{"kty":"EC","crv":"P-256","kid":"other-1","use":"sig","alg":"ES256",\
        "x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw","y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"}]}
        """

    @Test(arguments: good) func `is good with`(name: String, parts: Parts) throws {
        let folder = try Self.folder()
        let file = try folder.write("gate.yaml", contents: parts.text)
        defer { withExtendedLifetime(folder) {} }
        do throws(ConfigurationError) {
            let summary = try GateServer(configurationFile: file, at: GateSample.time).summary
            #expect(summary.warnings.isEmpty, "\(name): \(summary.warnings)")
        } catch { Issue.record("\(name): \(error.problems)") }
    }

    @Test func `is printed without its secrets`() throws {
        let folder = try Self.folder()
        let file = try folder.write("gate.yaml", contents: Parts().text)
        defer { withExtendedLifetime(folder) {} }
        let text = try GateConfiguration(file: file).effective.line
        #expect(text.contains("\"subjectKey\":\"<secret>\"") && text.contains("\"k1\":{"), "\(text)")
        #expect(!text.contains(Self.secret))
    }

    @Test func `is read again if the keys of another issuer change`() throws {
        let folder = try Self.folder()
        let file = try folder.write("gate.yaml", contents: Parts(issuers: "{ issuer: other, source: other.json }").text)
        let configuration = try GateConfiguration(file: file)
        let before = FileStamps(configuration)
        #expect(FileStamps(configuration) == before)
        try folder.write("other.json", contents: Self.keySet + "\n")
        #expect(FileStamps(configuration) != before)
    }
}
