// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// The statements of docs/how-to/sign-uris.md about the gate, at a running one.
@Suite struct `A gate with signed URIs` {
    private static let address = SignedURIGate.address

    @Test func `encrypts the player's address and the subject, and checks the address by the edge's word`() async throws
    {
        try await SignedURIGate.with { sample in
            let path = "/live/bound/master.m3u8"
            let unbound = try sample.post("/v1/playback", body: ["path": path, "token": try sample.gate.token()])
            #expect(unbound.status == 403 && unbound.json["code"] as? String == "grant_context_missing", "\(unbound)")
            let token = try sample.token(path, client: Self.address, profile: "viewer")
            let claims = try SignedURIGate.claims(token)
            let key = try SignedURIGate.encryptionKey()
            let address = try #require((claims["cdniip"] as? String).flatMap { JWE($0.utf8.span) })
            #expect(address.keyID == KeyID("enc-1") && address.algorithm == "A256KW")
            #expect(address.decrypted(by: [key]) == [UInt8](Self.address.utf8))
            let subject = try #require((claims["sub"] as? String).flatMap { JWE($0.utf8.span) })
            let tag = try #require(subject.decrypted(by: [key]))
            #expect(tag.count == 32, "a tag, no name: \(String(decoding: tag, as: UTF8.self))")
            #expect(!token.contains(Base64.encodeURLSafe([UInt8](Self.address.utf8))))
            let rows: [(client: String?, code: String)] = [
                (Self.address, "granted"), ("203.0.113.8", "grant_address_mismatch"), (nil, "grant_address_mismatch"),
                ("2001:db8::1", "grant_address_mismatch"),
            ]
            for (client, code) in rows {
                #expect(
                    try sample.code(for: "/live/bound/seg-1.m4s", token: token, client: client) == code,
                    "\(client ?? "nobody")"
                )
            }
            // The answer is for one player.
            let answer = try sample.check("/live/bound/seg-1.m4s", token: token, client: Self.address)
            #expect(answer.values("Cache-Control") == ["no-store"], "\(answer)")
        }
    }

    @Test func `refuses an address that none of the issuer's keys decrypts, by name`() async throws {
        try await SignedURIGate.with { sample in
            let url = "https://cdn.example/partner/a.ts"
            let keys = [
                ("granted", try SignedURIGate.encryptionKey()),
                ("grant_address_mismatch", try SignedURIGate.encryptionKey(of: SignedURIGate.partnerSecret)),
                (
                    "grant_address_mismatch",
                    try SignedURIGate.encryptionKey(of: SignedURIGate.encryptionSecret, name: "enc-2")
                ),
            ]
            for (code, key) in keys {
                let text = try key.encrypt([UInt8]("203.0.113.0/24".utf8))
                let token = try sample.partnerToken(#"{"iss":"partner","exp":%,"cdniip":"\#(text)"}"#)
                #expect(try sample.code(for: "/partner/a.ts", token: token, client: Self.address) == code)
                let explained = try sample.post(
                    "/v1/grants/verify",
                    body: ["grant": token, "url": url, "client": Self.address]
                )
                #expect(explained.json["claim"] as? String == (code == "granted" ? nil : "cdniip"), "\(explained.body)")
            }
            for subject in ["in clear", "a.b.c.d.e"] {
                let token = try sample.partnerToken(#"{"iss":"partner","exp":%,"sub":"\#(subject)"}"#)
                #expect(try sample.code(for: "/partner/a.ts", token: token) == "grant_subject_invalid")
            }
        }
    }

    @Test func `issues and verifies tokens whose header is known beside them`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token("/live/short/master.m3u8", profile: "short")
            #expect(token.split(separator: ".").count == 2)
            #expect(try sample.code(for: "/live/short/seg-1.m4s", token: token) == "granted")
            #expect(try sample.code(for: "/live/short/seg-1.m4s", token: token) == "granted", "from the cache")
            #expect(
                try sample.code(for: "/live/short/seg-1.m4s", token: String(token.dropLast(4)) + "AAAA")
                    == "grant_signature_invalid"
            )
            sample.gate.now = sample.gate.now.advanced(byMilliseconds: 200_000)
            let renewed = try sample.check("/live/short/seg-1.m4s", token: token)
            #expect(renewed.values("X-Playgate-Code") == ["renewed"])
            #expect(renewed.values("X-Playgate-Grant").first?.split(separator: ".").count == 2)

            let claims = #"{"iss":"partner","exp":%,"cdniuc":"regex:https://cdn.example/partner/"}"#
            let bare = try sample.partnerToken(claims, omitsHeader: true)
            #expect(try sample.code(for: "/partner/a.ts", token: bare) == "granted")
            #expect(try sample.code(for: "/partner/a.ts", token: try sample.partnerToken(claims)) == "granted")
            // The header is the issuer's: it selects no key of another one, and no other key of this one.
            let other = try SignedURIGate.partnerKey(SignedURIGate.encryptionSecret)
            let forged = try other.signJWS([UInt8](#"{"iss":"partner"}"#.utf8), form: JWSForm(omitsHeader: true))
            #expect(try sample.code(for: "/partner/a.ts", token: forged) == "grant_signature_invalid")
        }
        try await SignedURIGate.with(changes: [
            ("      jwtHeader: eyJhbGciOiJIUzI1NiIsImtpZCI6InBhcnRuZXItMSJ9", "      ")
        ]) {
            sample in
            let bare = try sample.partnerToken(#"{"iss":"partner","exp":%}"#, omitsHeader: true)
            #expect(try sample.code(for: "/partner/a.ts", token: bare) != "granted")
        }
    }

    @Test func `opens one URL by its digest, or a folder by a pattern`() async throws {
        try await SignedURIGate.with { sample in
            let file = try #require(try sample.start("/vod/film.mp4")["file"])
            #expect(file["scope"] as? [String] == ["https://cdn.example/vod/film.mp4"])
            let token = try #require(file["token"] as? String)
            let container = try #require(try SignedURIGate.claims(token)["cdniuc"] as? String)
            #expect(container.hasPrefix("hash:sha-256;"))
            #expect(try sample.code(for: "/vod/film.mp4", token: token) == "granted")
            for target in ["/vod/film.mp4?x=1", "/vod/other.mp4"] {
                #expect(try sample.code(for: target, token: token) == "grant_uri_mismatch", "\(target)")
            }
            let folder = try sample.token("/live/tnt/master.m3u8", profile: "cdni")
            #expect(
                try SignedURIGate.claims(folder)["cdniuc"] as? String == #"regex:^https://cdn\.example/live/tnt/.*$"#
            )
            #expect(try sample.code(for: "/live/tnt/720p/seg-1.m4s", token: folder) == "granted")
            // The partner's patterns match a beginning, as its settings say; both containers are verified.
            let rows = [
                ("regex:https://cdn.example/part", "granted"), ("regex:/partner/", "grant_uri_mismatch"),
                ("regex:https://cdn.example/p[a-z]+/a[.]ts", "granted"), ("glob:*", "grant_uri_mismatch"),
                ("hash:sha-256;AAAA", "grant_uri_mismatch"), ("regex:(a", "grant_claim_unsupported"),
            ]
            for (text, code) in rows {
                let token = try sample.partnerToken(#"{"iss":"partner","exp":%,"cdniuc":"\#(text)"}"#)
                #expect(try sample.code(for: "/partner/a.ts", token: token) == code, "\(text)")
            }
        }
        try await SignedURIGate.with(changes: [("        match: start\n", "")]) { sample in
            let token = try sample.partnerToken(#"{"iss":"partner","exp":%,"cdniuc":"regex:https://cdn.example/part"}"#)
            #expect(try sample.code(for: "/partner/a.ts", token: token) == "grant_uri_mismatch")
        }
    }

    @Test func `demands issuer, expiry and container unless the issuer's settings say otherwise`() async throws {
        let rows = [
            ("iss, ", #"{"exp":%,"cdniuc":"regex:https://.*"}"#, "grant_issuer_refused"),
            ("exp, ", #"{"iss":"partner","cdniuc":"regex:https://.*"}"#, "grant_malformed"),
            (", cdniuc", #"{"iss":"partner","exp":%}"#, "grant_uri_mismatch"),
        ]
        for (setting, payload, code) in rows {
            try await SignedURIGate.with { sample in
                let token = try sample.partnerToken(payload)
                #expect(try sample.code(for: "/partner/a.ts", token: token) == "granted", "\(setting)")
                #expect(
                    try sample.code(for: "/live/tnt/a.ts", token: token) == "grant_issuer_refused",
                    "another's entry"
                )
                let wrong = try sample.partnerToken(#"{"iss":"other","exp":%,"cdniuc":"regex:https://.*"}"#)
                #expect(try sample.code(for: "/partner/a.ts", token: wrong) == "grant_issuer_refused")
            }
            try await SignedURIGate.with(changes: [("\(setting)", "")]) { (sample) throws in
                #expect(
                    try sample.code(for: "/partner/a.ts", token: try sample.partnerToken(payload)) == code,
                    "\(setting)"
                )
            }
        }
    }

    @Test func `signs and verifies by RS256 and ES512, pinned to their keys, and publishes them`() async throws {
        try await SignedURIGate.with { sample in
            let paths = ["RS256": ("/live/bound/master.m3u8", "viewer"), "ES512": ("/live/tnt/master.m3u8", "dcdn")]
            for (algorithm, (path, profile)) in paths {
                let token = try sample.token(path, client: Self.address, profile: profile)
                #expect(try UnverifiedJWS(token.utf8.span).algorithm?.rawValue == algorithm)
                let id = algorithm == "RS256" ? "rsa-1" : "ec-1"
                let rest = token.drop { $0 != "." }
                let folder = path.dropLast("master.m3u8".count)
                for (other, code) in [
                    ("none", "grant_algorithm_refused"), ("HS256", "grant_algorithm_refused"),
                    ("PS256", "grant_algorithm_refused"), ("ES256", "grant_algorithm_refused"),
                    ("RS384", "grant_algorithm_refused"),
                ] {
                    let header = Base64.encodeURLSafe([UInt8](#"{"alg":"\#(other)","kid":"\#(id)"}"#.utf8))
                    #expect(
                        try sample.code(for: "\(folder)a.ts", token: header + rest, client: Self.address) == code,
                        "\(other)"
                    )
                }
            }
            let set = try sample.gate.get("/.well-known/jwks.json").json["keys"] as? [SignedURIGate.Object] ?? []
            #expect(Set(set.compactMap { $0["alg"] as? String }) == ["RS256", "ES512"])
            #expect(set.allSatisfy { $0["k"] == nil && $0["d"] == nil })
            #expect(try sample.gate.get("/.well-known/cose-keys").status == 200)
        }
    }
}
