// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

@testable import playgate

@Suite struct `The grant verify command` {
    private let sample: GrantSample

    init() throws { sample = try GrantSample.shared.get() }

    /// A token, the options of the request, and the expected code; `nil` if the grant is valid.
    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let code: String?
        let options: [String]
        let token: @Sendable () throws -> String

        init(
            _ name: String,
            code: String?,
            options: [String] = GrantSample.live,
            token: @escaping @Sendable () throws -> String = { GrantSample.e1 }
        ) {
            testDescription = name
            self.code = code
            self.options = options
            self.token = token
        }
    }

    /// The examples E1 to E3, with facts that they allow and refuse.
    static let examples: [Row] = [
        Row("E1", code: nil), Row("E1 of its issuer", code: nil, options: GrantSample.live + ["--issuer", "playgate"]),
        Row(
            "E1 of another issuer",
            code: "grant_issuer_refused iss",
            options: GrantSample.live + ["--issuer", "other"]
        ),
        Row("E1 by HEAD", code: nil, options: GrantSample.live + ["--method", "HEAD"]),
        Row("E1 by POST", code: "grant_method_refused catm", options: GrantSample.live + ["--method", "POST"]),
        Row("E1 by get", code: "grant_method_refused catm", options: GrantSample.live + ["--method", "get"]),
        Row(
            "E1 in another folder",
            code: "grant_uri_mismatch catu",
            options: ["--url", "https://cdn.example/live/tbs/a"]
        ),
        Row(
            "E1 beside its folder",
            code: "grant_uri_mismatch catu",
            options: ["--url", "https://cdn.example/live/tnt"]
        ),
        Row(
            "E1 out of its folder",
            code: "grant_uri_mismatch catu",
            options: ["--url", "https://cdn.example/live/tnt/../tbs/a"]
        ),
        Row(
            "E1 at another host",
            code: "grant_uri_mismatch catu",
            options: ["--url", "https://other.example/live/tnt/a"]
        ),
        Row("E1 at an unknown host", code: "grant_context_missing catu", options: ["--url", "/live/tnt/a"]),
        Row("E1 with an encoded slash", code: nil, options: ["--url", "https://cdn.example/live/tnt/a%2Fb"]),
        Row(
            "E1 with encoded dots",
            code: "grant_uri_mismatch -",
            options: ["--url", "https://cdn.example/live/tnt/a%2F../b"]
        ),
        Row(
            "E1 in capitals and with dots",
            code: nil,
            options: ["--url", "HTTPS://CDN.Example:443/live/x/../tnt/%61?b#c"]
        ),
        Row("E1 just before its end", code: nil, options: GrantSample.live + ["--at", "1925000419"]),
        Row("E1 at its end", code: "grant_expired exp", options: GrantSample.live + ["--at", "1925000420"]),
        Row(
            "E1 before its start",
            code: "grant_not_yet_valid nbf",
            options: GrantSample.live + ["--at", "1925000119"]
        ),
        Row("E2", code: nil, options: GrantSample.vod) { GrantSample.e2 },
        Row(
            "E2 of the other recipient",
            code: nil,
            options: ["--audience", "edge-2"] + GrantSample.vod[0..<2] + GrantSample.vod[4...]
        ) {
            GrantSample.e2
        },
        Row("E2 of no recipient", code: "grant_audience_mismatch aud", options: Array(GrantSample.vod[0..<2])) {
            GrantSample.e2
        },
        Row("E2 of an unknown client", code: "grant_context_missing catnip", options: Array(GrantSample.vod[0..<4])) {
            GrantSample.e2
        },
        Row(
            "E2 of another client",
            code: "grant_address_mismatch catnip",
            options: GrantSample.vod[0..<4] + ["--client", "198.51.100.1", "--asn", "1"]
        ) {
            GrantSample.e2
        },
        Row(
            "E2 of its system",
            code: nil,
            options: GrantSample.vod[0..<4] + ["--client", "198.51.100.1", "--asn", "64500"]
        ) {
            GrantSample.e2
        },
        Row("E2 of an IPv6 client", code: nil, options: GrantSample.vod[0..<4] + ["--client", "2001:db8:1::7"]) {
            GrantSample.e2
        },
        Row(
            "E2 without TLS",
            code: "grant_uri_mismatch catu",
            options: ["--url", "http://cdn.example/vod/1234/a.m4s"] + GrantSample.vod[2...]
        ) {
            GrantSample.e2
        },
        Row(
            "E2 with another extension",
            code: "grant_uri_mismatch catu",
            options: ["--url", "https://c/vod/1234/a.ts"] + GrantSample.vod[2...]
        ) {
            GrantSample.e2
        },
        Row("E3", code: nil) { GrantSample.e3 },
    ]

    /// What must be refused and accepted (the specification's lists), made from E1 and E2.
    static let changes: [Row] = [
        Row("last character changed", code: "grant_signature_invalid -") { String(GrantSample.e1.dropLast()) + "g" },
        Row("payload bit flipped", code: "grant_signature_invalid -") { try GrantSample.changedToken { $0[40] ^= 1 } },
        Row("tag 17 to 18", code: "grant_algorithm_refused -") { try GrantSample.changedToken { $0[2] = 0xD2 } },
        Row("algorithm 5 to 4", code: "grant_algorithm_refused -") { try GrantSample.changedToken { $0[7] = 4 } },
        Row("algorithm 5 to -7", code: "grant_algorithm_refused -") { try GrantSample.changedToken { $0[7] = 0x26 } },
        Row("kid in both headers", code: "grant_malformed -") {
            try GrantSample.changedToken {
                $0.replaceSubrange(20...20, with: [0xA1, 0x04, 0x4A] + [UInt8]("pg-2026-11".utf8))
            }
        },
        Row("expiry twice", code: "grant_malformed exp") {
            try GrantSample.signedToken { $0.insert(contentsOf: [4, 0x1A, 0, 0, 0, 1], at: 11) }
        },
        Row("expiry not in shortest form", code: "grant_malformed exp") {
            try GrantSample.signedToken { $0.replaceSubrange(12...12, with: [0x1B, 0, 0, 0, 0]) }
        },
        Row("expiry NaN", code: "grant_malformed exp") {
            try GrantSample.signedToken { $0.replaceSubrange(12...16, with: [0xFA, 0x7F, 0xC0, 0, 0]) }
        },
        Row("expiry NaN in 64 bits", code: "grant_malformed exp") {
            try GrantSample.signedToken { $0.replaceSubrange(12...16, with: [0xFB, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0]) }
        },
        Row("version 2", code: "grant_version_unsupported catv") {
            try GrantSample.signedToken { payload in
                guard let range = payload.firstRange(of: GrantSample.bytes("19013601")) else { return }
                payload[range.upperBound - 1] = 2
            }
        },
        Row("empty catu", code: "grant_malformed catu") { try GrantSample.withURI("a0") },
        Row("component 9", code: "grant_claim_unsupported catu") { try GrantSample.withURI("a109a1006161") },
        Row("match 9", code: "grant_claim_unsupported catu") { try GrantSample.withURI("a103a1096178") },
        Row("empty prefix", code: "grant_malformed catu") { try GrantSample.withURI("a103a10160") },
        Row("catnip with tag 53", code: "grant_malformed catnip") {
            try GrantSample.adding("a119013781d83544cb007109")
        },
        Row("claim 318", code: "grant_claim_unsupported catgeoalt") { try GrantSample.adding("a119013e820102") },
        Row("17 nested arrays", code: "grant_too_large 9999") {
            try GrantSample.adding("a119270f" + String(repeating: "81", count: 16) + "00")
        },
        Row("trailing byte", code: "grant_malformed -") { try GrantSample.changedToken { $0.append(0) } },
        Row("plus for minus", code: "grant_malformed -") {
            String(
                decoding: GrantSample.e1.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 },
                as: UTF8.self
            )
        },
        Row("spare bits in the last character", code: "grant_malformed -", options: GrantSample.vod) {
            String(GrantSample.e2.dropLast()) + "B"
        },
        Row("padding once instead of twice", code: "grant_malformed -", options: GrantSample.vod) {
            GrantSample.e2 + "="
        },
        Row("canonical padding", code: nil, options: GrantSample.vod) { GrantSample.e2 + "==" },
        Row("without the CWT tag", code: nil) { try GrantSample.changedToken { $0.removeFirst(2) } },
        Row("tag 17 in two bytes", code: nil) {
            try GrantSample.changedToken { $0.replaceSubrange(2...2, with: [0xD8, 0x11]) }
        },
        Row("kid in the unprotected header alone", code: nil) {
            try GrantSample.signedToken(form: COSEForm(hasUnprotectedKeyID: true))
        },
        Row("unknown claim 9999", code: nil) { try GrantSample.adding("a119270f63616263") },
        Row("expiry in floating point", code: nil) {
            try GrantSample.signedToken {
                $0.replaceSubrange(12...16, with: [0xFB, 0x41, 0xDC, 0xAF, 0x4B, 0x39, 0, 0, 0])
            }
        },
        Row("no issuer", code: "grant_issuer_refused iss") {
            try GrantSample.signedToken { payload in
                payload[0] -= 1
                payload.removeSubrange(1...10)
            }
        },
        Row("nothing", code: "grant_malformed -") { "" },
    ]

    /// The claims of the specification's fragments, with options that satisfy and violate them, and without.
    static let facts: [Row] = [
        Row(
            "header",
            code: nil,
            options: GrantSample.live + ["--header", "user-agent: ExamplePlayer/1"],
            token: header
        ),
        Row(
            "another header",
            code: "grant_header_mismatch cath",
            options: GrantSample.live + ["--header", "User-Agent: X"],
            token: header
        ),
        Row("no header", code: "grant_context_missing cath", options: GrantSample.live, token: header),
        Row("ALPN", code: nil, options: GrantSample.live + ["--alpn", "h2"]) {
            try GrantSample.adding("a119013a8242683248687474702f312e31")
        },
        Row("another ALPN", code: "grant_tls_mismatch catalpn", options: GrantSample.live + ["--alpn", "none"]) {
            try GrantSample.adding("a119013a8242683248687474702f312e31")
        },
        Row("country", code: nil, options: GrantSample.live + ["--country", "US"]) {
            try GrantSample.adding("a119013c826255536555532d4341")
        },
        Row(
            "another country",
            code: "grant_location_mismatch catgeoiso3166",
            options: GrantSample.live + ["--country", "CA"]
        ) {
            try GrantSample.adding("a119013c826255536555532d4341")
        },
        Row("digest of the path", code: nil, options: ["--url", "https://cdn.example/a.m3u8"]) {
            try GrantSample.withURI("a103a1205820a47ee269802183c79e47536c55b240364462bdbc1b4b44f2a24c2004bb5c3998")
        },
        Row("pattern", code: nil, options: ["--url", "https://cdn.example/live/a/12.ts"]) {
            try GrantSample.withURI("a103a1048178185e2f6c6976652f28617c62292f5b302d395d2b5c2e747324")
        },
        Row("geohash", code: nil, options: GrantSample.live + ["--position", "48.669,-4.329"]) {
            try GrantSample.adding("a119011a626762")
        },
        Row(
            "another geohash",
            code: "grant_location_mismatch geohash",
            options: GrantSample.live + ["--position", "0,0"]
        ) {
            try GrantSample.adding("a119011a626762")
        },
        Row(
            "possession without a proof",
            code: "grant_proof_missing cnf",
            options: GrantSample.live + ["--header", "A: b"]
        ) {
            try GrantSample.adding("a108a11901435820fd6f8d4be621e68e1ab89f91bc20ec5d34c7adb3cb962ca5b14d7512d8a4714d")
        },
    ]
    private static let header: @Sendable () throws -> String = {
        try GrantSample.adding("a119013ba16a557365722d4167656e74a1016e4578616d706c65506c617965722f")
    }

    @Test(arguments: examples + changes + facts)
    func `judges`(row: Row) throws {
        let answer = try sample.verify(try row.token(), options: row.options)
        let verdict = answer.refusal.map { "\($0.code.rawValue) \($0.claim?.description ?? "-")" }
        #expect(verdict == row.code)
        #expect(answer.isValid == (row.code == nil))
    }

    @Test func `reads the client's key of TLS from PEM`() throws {
        let folder = try TemporaryFolder()
        let made = try CommandRun(["grant", "keys", "--out", folder.path, "--algorithm", "ES256"])
        try #require(made.status == 0, "\(made.error)")
        let info = try TokenKey.publicKeyInfo(pem: try folder.bytes("es256.pem"))
        let token = try GrantSample.adding("a119013f58\(String(info.count, radix: 16))" + info.hexadecimal)
        #expect(
            try sample.verify(token, options: GrantSample.live + ["--client-key", folder.file("es256.pem")]).isValid
        )
        #expect(try sample.verify(token).refusal?.code == .contextMissing)
    }

    @Test func `says what a store would have to decide`() throws {
        let rows: [(String, [GrantAnswer.Assumption])] = [
            (try GrantSample.adding("a119013401"), [.firstUse]),
            (try GrantSample.adding("a119013402"), [.reuseNotWatched]),
            (try GrantSample.adding("a119013583fb3f847ae147ae147b44677270311a72bd3950"), [.notSampled]),
            (GrantSample.e3, [.notRevoked]), (GrantSample.e1, []),
        ]
        for (token, assumed) in rows {
            let answer = try sample.verify(token)
            #expect(answer.isValid && answer.assumptions == assumed)
            let report = answer.report(at: Timestamp(secondsSince1970: GrantSample.issued + 1))
            #expect(assumed.allSatisfy { report.contains($0.meaning) })
        }
    }

    @Test func `prints the documented object`() throws {
        let arguments = ["grant", "verify", "--format", "cat", "--keys", sample.keys, "--at", "1925000301", "--json"]
        let valid = try CommandRun(arguments + GrantSample.live + ["-"], input: GrantSample.e3 + "\n")
        #expect(valid.status == 0, "\(valid.error)")
        #expect(
            valid.output == """
                {"valid":true,"code":null,"claim":null,"fact":null,"issuer":"playgate","issuerAssumed":true,\
                "keyID":"pg-2026-11","algorithm":"HS256","expires":1925000420000,"renewAfter":1925000300000,\
                "session":"e688045c604d5ecc272cf7d83b00ec16","sessionEnds":1925043310000,"renewalDue":true,\
                "assumed":["not_revoked"]}

                """
        )
        let refused = try CommandRun(arguments + GrantSample.live + [String(GrantSample.e3.dropLast()) + "Q"])
        #expect(refused.status == 1)
        #expect(
            refused.output.hasPrefix(
                #"{"valid":false,"code":"grant_signature_invalid","claim":null,"fact":null,"issuer":null,"#
            )
        )
    }

    @Test func `reads tokens and key sets from files too, in either notation`() throws {
        let token = try sample.folder.write("e2", contents: GrantSample.e2 + "\r\n")
        for keys in [sample.keys, sample.coseKeys] {
            let run = try CommandRun(
                ["grant", "verify", "--keys", keys, "--at", "1925000121", "--token-file", token] + GrantSample.vod
            )
            #expect(run.status == 0, "\(run.output) \(run.error)")
            #expect(run.output.contains("valid at 2031") && !run.output.contains("\u{1B}"))
        }
    }

    @Test(
        arguments: [
            ([], "", "--url is missing"), (["--url", "ftp://a/b"], "", "--url"),
            (["--url", "https://u@a/b"], "", "--url"),
            (["--url", "/a", "--client", "1.2.3"], "", "--client"), (["--url", "/a", "--header", "A"], "", "--header"),
            (["--url", "/a", "--position", "91,0"], "", "--position"),
            (["--url", "/a", "--issuer", ""], "", "--issuer"),
            (["--url", "/a", "--format", "jwt"], "", "cat"), (["--url", "/a", "--jobs", "2"], "", "--batch"),
            (["--batch", "-", "x"], "", "mutually exclusive"), (["--url", "/a", "--keys", "-"], "", "standard input"),
        ] as [([String], String, String)]
    )
    func `calls wrong usage by its name`(options: [String], input: String, message: String) throws {
        let run = try CommandRun(["grant", "verify", "--keys", sample.keys] + options, input: input)
        #expect(run.status == 64)
        #expect(run.error.contains(message), "\(run.error)")
    }

    @Test func `says why a key set cannot be used, and shows none of it`() throws {
        let secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
        let rows = [
            ("/nowhere", "input_unreadable"),
            (try sample.folder.write("bad", contents: "{\"keys\":1,\"k\":\"\(secret)\"}"), "key_set_malformed"),
            (try sample.folder.write("none", contents: "{\"keys\":[]}"), "no_usable_key"),
            (
                try sample.folder.write("short", contents: "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAECAwQF\"}]}"),
                "no_usable_key"
            ),
            (try sample.folder.write("pem", contents: "-----BEGIN PRIVATE KEY-----\n\(secret)\n"), "key_set_malformed"),
        ]
        for (file, code) in rows {
            let run = try CommandRun(
                ["grant", "verify", "--keys", file, "--json"] + GrantSample.live,
                input: GrantSample.e1
            )
            #expect(run.status == 2)
            #expect(run.output.hasPrefix("{\"error\":\"\(code)\""), "\(run.output)")
            #expect(!run.error.contains(secret) && !run.output.contains(secret))
        }
    }

    @Test func `demands the URL without the token`() throws {
        let url = "https://cdn.example/~cat=\(GrantSample.e1)/live/tnt/a"
        let run = try CommandRun(
            ["grant", "verify", "--keys", sample.keys, "--url", url, "--json"],
            input: GrantSample.e1
        )
        #expect(run.status == 2)
        #expect(run.output.contains("url_holds_token") && !run.output.contains(GrantSample.e1))
    }

    @Test func `verifies a token a line`() throws {
        let other = try GrantSample.signedToken { $0[3] = UInt8(ascii: "q") }
        let lines = [
            (GrantSample.e1, "null"), ("x", "grant_malformed"), ("y", "grant_malformed"), (other + "\r", "null"),
            ("\(GrantSample.e1)\thttps://cdn.example/live/tbs/a", "grant_uri_mismatch"),
            ("\(GrantSample.e1)\thttps://cdn.example/live/tnt/b", "null"),
            ("\(GrantSample.e1)\tnot a url", "grant_uri_mismatch"),
            (String(repeating: "A", count: 100_000), "grant_too_large"), (GrantSample.e3, "null"),
        ]
        let arguments = ["grant", "verify", "--keys", sample.keys, "--at", "1925000121", "--batch", "-"]
        let text = lines.map(\.0).joined(separator: "\n")
        for options in [GrantSample.live, GrantSample.live + ["--jobs", "1"]] {
            let run = try CommandRun(arguments + options, input: text)
            #expect(run.status == 1)
            #expect(run.codes == lines.map(\.1))
            #expect(run.output.hasPrefix(#"{"line":1,"valid":true"#) && run.output.contains("\n{\"line\":9,"))
            #expect(run.error.contains("9 grants") && run.error.contains("valid                     4"), "\(run.error)")
        }
        let demanding = try CommandRun(arguments + GrantSample.live + ["--issuer", "playgate"], input: text)
        #expect(demanding.codes[3] == "grant_issuer_refused")
        let without = try CommandRun(arguments, input: text)
        #expect(without.codes[0] == "url_missing" && without.codes[5] == "null")
        #expect(try CommandRun(arguments + GrantSample.live, input: GrantSample.e1).status == 0)
        let blank = try CommandRun(arguments + GrantSample.live, input: "\n\r\n\(GrantSample.e1)\n \n")
        #expect(blank.status == 0 && blank.output.hasPrefix(#"{"line":3,"valid":true"#))
    }
}

extension CommandRun {
    /// The code of each line of output.
    fileprivate var codes: [String] {
        output.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["code"] as? String ?? (object == nil ? "?" : "null")
        }
    }
}
