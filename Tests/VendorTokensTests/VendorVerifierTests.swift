// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@testable import EdgeTokens
@testable import RequestTargets
@testable import VendorTokens

/// The verifiers of vendors' formats: what was issued passes, and nothing that differs in a character.
@Suite struct `Verifiers of vendors' formats` {
    struct Case: Sendable, CustomTestStringConvertible {
        let format: VendorFormat
        var settings: [String: String] = [:]
        var path = VendorSample.folder
        var client: String?
        var session: String?

        var testDescription: String { "\(format.rawValue) \(path) \(settings)" }

        func delivery() throws -> SignedDelivery {
            try VendorSample.issuer(for: format, adding: settings).issue(
                VendorSample.request(path, client: client, session: session)
            )
        }

        func verifier() throws -> any VendorVerifier {
            let all = VendorSample.settings(format).merging(settings) { $1 }
            return try #require(try format.verifier(with: VendorSample.key(format), settings: all))
        }

        func request(_ path: String? = nil, client: String?? = nil) -> SignedRequest {
            let file = self.path.hasSuffix("/") ? self.path + "v1/1.m4s" : self.path
            let address = (client ?? self.client).flatMap { IPAddress($0) }
            return SignedRequest(path: path ?? file, scope: self.path.hasSuffix("/") ? self.path : nil, client: address)
        }
    }

    static let cases: [Case] = [
        .init(format: .edgeAuth),
        .init(
            format: .edgeAuth,
            settings: ["start": "true", "salt": "pepper", "data": "tnt"],
            client: "203.0.113.9",
            session: "s-1"
        ),
        .init(format: .edgeAuth, settings: ["escape": "true", "data": "a b"], client: "2001:db8::1", session: "s/1"),
        .init(format: .edgeAuth, path: "/live/tnt/a%20b.m3u8"),
        .init(
            format: .edgeAuth,
            settings: ["url": "false", "acl": "/keys/*", "algorithm": "sha1", "weak": "true"],
            path: VendorSample.manifest
        ),
        .init(format: .secureLink),
        .init(
            format: .secureLink,
            settings: ["template": "{expires}{path}{address} {secret}"],
            path: "/live/%C3%A9 b.mp4".replacing(" ", with: "%20"),
            client: "203.0.113.9"
        ),
        .init(format: .accessControl, settings: ["start": "true", "tid": "t-1"], session: "s-1"),
        .init(format: .accessControl, settings: ["algorithm": "sha512"]),
    ]

    private static func time(_ milliseconds: Int64) -> Timestamp {
        Timestamp(millisecondsSince1970: VendorSample.expires * 1000 + milliseconds)
    }

    @Test(arguments: cases)
    func `accept what was issued, until its second is over`(row: Case) throws {
        let (token, verifier) = (try row.delivery().token, try row.verifier())
        let verdict = verifier.verify(token, for: row.request(), at: Self.time(-1))
        #expect(verdict.grant?.expires == Self.time(0), "\(verdict)")
        // Traffic Server and nginx count the last second in. EdgeAuth's edges may not.
        let isInclusive = row.format != .edgeAuth
        #expect(verifier.verify(token, for: row.request(), at: Self.time(0)).code == (isInclusive ? nil : .expired))
        #expect(verifier.verify(token, for: row.request(), at: Self.time(999)).code == (isInclusive ? nil : .expired))
        #expect(verifier.verify(token, for: row.request(), at: Self.time(1000)).code == .expired)
        #expect(verifier.verify(token, for: row.request(), at: Timestamp(millisecondsSince1970: .max)).code == .expired)
    }

    @Test(arguments: cases)
    func `refuse every change of a character`(row: Case) throws {
        let (token, verifier) = (Array(try row.delivery().token.utf8), try row.verifier())
        func check(_ changed: [UInt8]) {
            let verdict = verifier.verify(
                String(decoding: changed, as: UTF8.self),
                for: row.request(),
                at: Self.time(-1)
            )
            #expect(verdict.grant == nil, "\(String(decoding: changed, as: UTF8.self))")
        }
        for index in token.indices {
            for byte in UInt8(0x20)...0x7E where byte != token[index] {
                var changed = token
                changed[index] = byte
                check(changed)
            }
            check(Array(token[..<index] + token[(index + 1)...]))
            check(Array(token[...index] + token[index...]))
            check(Array(token[..<index]))
        }
        for more in ["=", "&", "~", ",", "a", " ", "\0"] { check(token + Array(more.utf8)) }
    }

    @Test func `refuse other paths`() throws {
        for row in Self.cases where row.format != .accessControl {
            let (token, verifier) = (try row.delivery().token, try row.verifier())
            let paths = [
                "/live/tnt2/1.m4s", "/live/", "/", "", "/live/tnt/../x.mp4", "/live/tnt/%2e%2e/x.mp4", "/live//tnt/x",
                "live",
            ]
            for path in paths {
                let code = verifier.verify(token, for: row.request(path), at: Self.time(-1)).code
                #expect(code == .uriMismatch || code == .signatureInvalid, "\(row) \(path)")
            }
        }
    }

    @Test func `refuse other addresses, and unknown ones`() throws {
        for row in Self.cases where row.client != nil {
            let (token, verifier) = (try row.delivery().token, try row.verifier())
            let unknown = verifier.verify(token, for: row.request(client: .some(nil)), at: Self.time(-1))
            #expect(unknown.code == .contextMissing)
            let other = verifier.verify(token, for: row.request(client: "203.0.113.10"), at: Self.time(-1))
            #expect(other.code == (row.format == .edgeAuth ? .addressMismatch : .signatureInvalid))
        }
    }

    @Test func `refuse starts that are to come`() throws {
        let edge = Self.cases[1]
        let token = try edge.delivery().token
        let start = Timestamp(secondsSince1970: VendorSample.issued)
        #expect(try edge.verifier().verify(token, for: edge.request(), at: start).code == nil)
        let before = Timestamp(millisecondsSince1970: VendorSample.issued * 1000 - 1)
        #expect(try edge.verifier().verify(token, for: edge.request(), at: before).code == .notYetValid)
        // The plugin refuses the second of nbf itself, so that is one before the issue.
        let row = Case(format: .accessControl, settings: ["start": "true"])
        let other = try row.delivery().token
        #expect(try row.verifier().verify(other, for: row.request(), at: start).code == nil)
        #expect(try row.verifier().verify(other, for: row.request(), at: before).code == .notYetValid)
    }

    /// Where Traffic Server is lenient, this is not: fields that repeat, numbers that end in letters, unknown fields.
    @Test func `of access_control refuse what the plugin lets pass`() throws {
        let secret = try VendorSample.key(.accessControl).secret()
        let key = try AccessControlKey(secret, id: "key1")
        let verifier = try AccessControlVerifier([key])
        func verdict(_ text: String, cut: Int = 0) throws -> GrantCode? {
            let signed = text + (try key.key.code(of: text).hexadecimal).dropLast(cut)
            let token = Base64.encodeURLSafe(Array(signed.utf8))
            return verifier.verify(token, for: SignedRequest(path: "/a"), at: Self.time(-1)).code
        }
        #expect(try verdict("sub=s&exp=1925000420&kid=key1&md=") == nil)
        #expect(try verdict("kid=key1&st=HMAC-SHA-256&exp=1925000420&sub=s&md=") == nil)
        for text in [
            "sub=s&exp=1&exp=1925000420&kid=key1&md=", "sub=s&exp=1925000420abc&kid=key1&md=",
            "sub=s&exp=&kid=key1&md=",
            "sub=s&exp=01925000420&kid=key1&md=", "sub=s&exp=1925000420&kid=key1&x=1&md=", "sub=s&kid=key1&md=",
            "exp=1925000420&kid=key1&md=", "sub=&exp=1925000420&kid=key1&md=", "sub=s&exp=1925000420&md=",
            "sub=s&exp=1925000420&nbf=x&kid=key1&md=", "sub=s&exp=1925000420&kid=key1&md=00&md=",
            "sub=a b&exp=1925000420&kid=key1&md=",
        ] { #expect(try verdict(text) == .malformed, "\(text)") }
        #expect(try verdict("sub=s&exp=1925000420&kid=key2&md=") == .keyUnknown)
        #expect(try verdict("sub=s&exp=1925000420&kid=key1&st=HMAC-SHA-512&md=") == .algorithmRefused)
        #expect(try verdict("sub=s&exp=1925000420&kid=key1&st=none&md=") == .algorithmRefused)
        for cut in [1, 2, 62, 64] { #expect(try verdict("sub=s&exp=1925000420&kid=key1&md=", cut: cut) == .malformed) }
        // Signature before time.
        #expect(verifier.verify("c3ViPXM", for: SignedRequest(path: "/a"), at: Self.time(-1)).code == .malformed)
        #expect(
            verifier.verify(String(repeating: "a", count: 5000), for: SignedRequest(path: "/a"), at: Self.time(0)).code
                == .tooLarge
        )
        #expect(signingError { _ = try AccessControlVerifier([key, key]) }?.code == .key)
    }

    @Test func `judge the signature before the time`() throws {
        for row in Self.cases {
            let verifier = try row.verifier()
            var token = try row.delivery().token
            if row.format == .accessControl {
                var text = try #require(Base64.decodeURLSafe(token))
                text[text.count - 1] ^= 1
                guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[text.count - 1] else { continue }
                token = Base64.encodeURLSafe(text)
            } else {
                token = token.replacing("1925000420", with: "1925000421")
            }
            #expect(
                verifier.verify(token, for: row.request(), at: Timestamp(millisecondsSince1970: .max)).code
                    == .signatureInvalid
            )
        }
    }

    /// While a property has two keys, tokens of both pass.
    @Test func `of EdgeAuth accept several keys`() throws {
        let other = try SigningSecret(bytes: [UInt8](repeating: 7, count: 32))
        let verifier = try EdgeAuthVerifier([other, VendorSample.bytes()])
        let row = Case(format: .edgeAuth)
        #expect(verifier.verify(try row.delivery().token, for: row.request(), at: Self.time(-1)).code == nil)
        #expect(
            try EdgeAuthVerifier([other]).verify(try row.delivery().token, for: row.request(), at: Self.time(-1)).code
                == .signatureInvalid
        )
        #expect(signingError { _ = try EdgeAuthVerifier([]) }?.code == .key)
    }

    @Test func `match wildcards in bounded time`() throws {
        for (pattern, text, isMatch) in [
            ("/a/*", "/a/b/c", true), ("/a/*", "/a", false), ("*", "", true), ("", "", true), ("", "a", false),
            ("/a?c", "/abc", true),
            ("/a?c", "/ac", false), ("*b*", "/abc", true), ("/a*c*e", "/abcde", true), ("/a*c*e", "/abcdf", false),
            ("**", "x", true),
            ("/a/b", "/a/b", true), ("/a/b", "/a/bc", false), ("*.ts", "/a.ts.ts", true),
        ] { #expect(Wildcard.matches(pattern[...], text: text) == isMatch, "\(pattern) \(text)") }
        let hostile = String(repeating: "*a", count: 500) + "b"
        #expect(!Wildcard.matches(hostile[...], text: String(repeating: "a", count: 2000)))
    }

    @Test func `are those that the formats promise`() throws {
        for format in VendorFormat.allCases {
            let verifier = try format.verifier(with: VendorSample.key(format), settings: VendorSample.settings(format))
            #expect((verifier != nil) == format.isVerified, "\(format)")
            if let verifier { #expect(verifier.format == format) }
        }
    }
}
