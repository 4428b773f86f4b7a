// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Platform
import Testing

@testable import VendorTokens

/// What is not issued: delimiters in values, weak algorithms, bindings that the format does not have.
@Suite struct `Vendors' formats refuse` {
    /// A value with a delimiter, and the error that names both.
    struct Delimiter: Sendable, CustomTestStringConvertible {
        let format: VendorFormat
        var settings: [String: String] = [:]
        var path = VendorSample.folder
        var session: String?
        var query = ""
        let value: String
        let character: Unicode.Scalar

        var testDescription: String { "\(character) in \(value) of \(format.rawValue)" }
    }

    static let delimiters: [Delimiter] = [
        .init(format: .edgeAuth, path: "/live/~a/", value: "path", character: "~"),
        .init(format: .edgeAuth, path: "/live/a!b/", value: "path", character: "!"),
        .init(format: .edgeAuth, path: "/live/*/", value: "path", character: "*"),
        .init(format: .edgeAuth, path: "/live/a~b.mp4", value: "path", character: "~"),
        .init(format: .edgeAuth, session: "a~b", value: "session", character: "~"),
        .init(format: .edgeAuth, settings: ["escape": "true"], session: "a~b", value: "session", character: "~"),
        .init(format: .edgeAuth, settings: ["escape": "true"], session: "a!b", value: "session", character: "!"),
        .init(format: .edgeAuth, settings: ["data": "a~exp=9"], value: "data", character: "~"),
        .init(format: .edgeAuth, settings: ["salt": "a~b"], value: "salt", character: "~"),
        .init(format: .edgeAuth, settings: ["acl": "/a~b"], value: "acl", character: "~"),
        .init(format: .edgeAuth, settings: ["name": "a=b"], value: "name", character: "="),
        .init(format: .edgeAuth, settings: ["data": "é"], value: "data", character: "é"),
        .init(format: .cloudFront, path: "/live/*/", value: "path", character: "*"),
        .init(format: .cloudFront, path: "/live/a.mp4", query: "a=?", value: "query", character: "?"),
        .init(format: .cloudFront, path: "/live/a\".mp4", value: "path", character: "\""),
        .init(format: .cloudFront, path: "/live/a\\.mp4", value: "path", character: "\\"),
        .init(format: .cloudFront, settings: ["key-pair-id": "a&b"], value: "key-pair-id", character: "&"),
        .init(format: .mediaCDN, path: "/live/~a/", value: "path", character: "~"),
        .init(format: .mediaCDN, path: "/live/a,b/", value: "path", character: ","),
        .init(format: .mediaCDN, path: "/live/~a.mp4", value: "path", character: "~"),
        .init(format: .mediaCDN, session: "a~b", value: "session", character: "~"),
        .init(format: .mediaCDN, settings: ["data": "a~b"], value: "data", character: "~"),
        .init(format: .mediaCDN, settings: ["globs": "/a~b"], value: "globs", character: "~"),
        .init(format: .mediaCDN, settings: ["headers": "a=b~c"], value: "headers", character: "~"),
        .init(format: .bunny, path: "/a.mp4", query: "a=b+c", value: "query", character: "+"),
        .init(format: .bunny, path: "/a.mp4", query: "a b=c", value: "query", character: " "),
        // Digits before the expiry, which nothing delimits, would be read as its first.
        .init(format: .bunny, path: "/vod/film2", value: "path", character: "2"),
        .init(format: .bunny, path: "/vod/s1.ts9", value: "path", character: "9"),
        .init(format: .bunny, path: "/vod/a%32", value: "path", character: "2"),
        .init(format: .bunny, path: "/a.mp4", query: "9x=1", value: "query", character: "9"),
        .init(format: .fastly, path: "/vod/film2", value: "path", character: "2"),
        .init(format: .cloudflare, settings: ["name": "a=b"], value: "name", character: "="),
        .init(format: .fastly, settings: ["name": "a&b"], value: "name", character: "&"),
        .init(format: .secureLink, settings: ["prefix": "a/b"], value: "prefix", character: "/"),
        .init(format: .secureLink, settings: ["digest-name": "a=b"], value: "digest-name", character: "="),
        .init(format: .accessControl, session: "a&b", value: "session", character: "&"),
        .init(format: .accessControl, session: "a=b", value: "session", character: "="),
        .init(format: .accessControl, session: "a%26b", value: "session", character: "%"),
        .init(format: .accessControl, settings: ["tid": "a&b"], value: "tid", character: "&"),
        .init(format: .accessControl, settings: ["kid": "a=b"], value: "kid", character: "="),
        .init(format: .accessControl, settings: ["scope": "a b"], value: "scope", character: " "),
        .init(format: .accessControl, settings: ["cookie": "a;b"], value: "cookie", character: ";"),
        .init(format: .urlSig, settings: ["anchor": "a=b"], value: "anchor", character: "="),
    ]

    @Test(arguments: delimiters)
    func `a delimiter in a value, by name`(row: Delimiter) throws {
        let error = signingError {
            let request = try VendorSample.request(row.path, session: row.session, query: row.query)
            _ = try VendorSample.issuer(for: row.format, adding: row.settings).issue(request)
        }
        #expect(error == SigningError(.character, value: row.value, character: row.character))
        #expect(error?.description.contains(row.value) == true)
    }

    @Test(arguments: VendorFormat.allCases)
    func `paths that servers read differently`(format: VendorFormat) throws {
        let issuer = try VendorSample.issuer(for: format)
        for path in [
            "", "live/", "/a//b/", "/a/../b/", "/a/%2e%2e/", "/a/./", "/a%2F..%2Fb/", "/a%00/", "/a%5C/", "/%2541/",
            "/%FF/", "/a%4/",
        ] {
            let error = signingError { _ = try issuer.issue(VendorSample.request(path)) }
            #expect(error == SigningError(.scope, value: "path"), "\(path)")
        }
        for (path, character) in [
            ("/a;b/", ";"), ("/a b/", " "), ("/a?b/", "?"), ("/a#b/", "#"), ("/é/", "é"), ("/a\n/", "\n"),
        ] {
            let error = signingError { _ = try issuer.issue(VendorSample.request(path)) }
            #expect(error == SigningError(.character, value: "path", character: Unicode.Scalar(character)), "\(path)")
        }
    }

    @Test(arguments: VendorFormat.allCases)
    func `times that end before they begin, and files elsewhere`(format: VendorFormat) throws {
        let issuer = try VendorSample.issuer(for: format)
        for seconds in [VendorSample.issued, VendorSample.issued - 1, 10_000_000_000] {
            var request = try VendorSample.request()
            request.expires = Timestamp(secondsSince1970: seconds)
            #expect(signingError { _ = try issuer.issue(request) }?.code == .times)
        }
        var request = try VendorSample.request()
        request.file = "/live/tnt2/a.m3u8"
        #expect(signingError { _ = try issuer.issue(request) } == SigningError(.scope, value: "file"))
        request.file = nil
        request.host = "cdn.example/evil"
        #expect(signingError { _ = try issuer.issue(request) } == SigningError(.value, value: "host"))
    }

    @Test func `weak algorithms without the word`() throws {
        let weak: [(VendorFormat, [String: String])] = [
            (.edgeAuth, ["algorithm": "sha1"]), (.edgeAuth, ["algorithm": "md5"]), (.cloudFront, ["digest": "sha1"]),
            (.mediaCDN, ["algorithm": "sha1"]), (.fastly, ["algorithm": "sha1"]), (.secureLink, [:]), (.urlSig, [:]),
            (.urlSig, ["algorithm": "md5"]),
        ]
        for (format, settings) in weak {
            let error = signingError {
                _ = try VendorSample.issuer(for: format, adding: settings.merging(["weak": "false"]) { $1 })
            }
            #expect(error?.code == .weak, "\(format) \(settings)")
            let issuer = try VendorSample.issuer(for: format, adding: settings.merging(["weak": "true"]) { $1 })
            #expect(issuer.warnings == [.weakAlgorithm], "\(format) \(settings)")
            _ = try issuer.issue(VendorSample.request())
        }
    }

    /// A token that is good for every address, although one was requested, would open more than was meant.
    @Test func `bindings that the format does not have`() throws {
        for format in [VendorFormat.cloudflare, .accessControl] {
            let issuer = try VendorSample.issuer(for: format)
            let error = signingError { _ = try issuer.issue(VendorSample.request(client: "203.0.113.9")) }
            #expect(error == SigningError(.value, value: "client"))
        }
        for format in [VendorFormat.secureLink, .fastly] {
            let issuer = try VendorSample.issuer(for: format)
            let error = signingError { _ = try issuer.issue(VendorSample.request(client: "203.0.113.9")) }
            let file = signingError { _ = try issuer.issue(VendorSample.request("/a.mp4", client: "203.0.113.9")) }
            #expect(error == SigningError(.template, value: "{address}"))
            #expect(file != nil)
        }
        for format in [VendorFormat.edgeAuth, .bunny, .urlSig] {
            let issuer = try VendorSample.issuer(for: format)
            let error = signingError { _ = try issuer.issue(VendorSample.request(client: "203.0.113.0/24")) }
            #expect(error == SigningError(.value, value: "client"), "\(format)")
        }
        let ipv6 = signingError {
            _ = try VendorSample.issuer(for: .cloudFront).issue(VendorSample.request(client: "::1"))
        }
        #expect(ipv6 == SigningError(.value, value: "client"))
    }

    @Test func `templates that open too much`() throws {
        for text in [
            "{expires}{secret}", "{path}{secret}", "{expires}{path}{scope}{secret}", "{expires}{path}{key}",
            "{expires}{path", "}{expires}{path}", "",
        ] {
            #expect(signingError { _ = try SigningTemplate(text) }?.code == .template, "\(text)")
        }
        let error = signingError {
            _ = try VendorSample.issuer(for: .secureLink, adding: ["template": "{expires}{path}"])
        }
        #expect(error == SigningError(.template, value: "{secret}"))
        // A digit at the end of a path would be one of the expiry: a token for /a9 would be one for /a, for ever.
        let mixed = signingError {
            _ = try VendorSample.issuer(for: .secureLink, adding: ["template": "{path}{expires}{secret}"])
        }
        #expect(mixed == SigningError(.template, value: "{path}{expires}"))
        #expect(
            signingError { _ = try VendorSample.issuer(for: .fastly, adding: ["template": "{expires}{path}{secret}"]) }?
                .code
                == .template
        )
        // The path that is signed is one file's or a folder's, never the other's.
        let scoped = try VendorSample.issuer(for: .secureLink)
        #expect(
            signingError { _ = try scoped.issue(VendorSample.request(VendorSample.manifest)) }
                == SigningError(.scope, value: "path")
        )
    }

    @Test(arguments: VendorFormat.allCases)
    func `settings that the format does not have, and keys of another type`(format: VendorFormat) throws {
        #expect(
            signingError { _ = try VendorSample.issuer(for: format, adding: ["colour": "blue"]) }
                == SigningError(.setting, value: "colour")
        )
        let key: VendorKey =
            format == .cloudFront ? .secret(try VendorSample.text()) : .privateKey(try VendorSample.rsa.get())
        let error = signingError { _ = try format.issuer(with: key, settings: VendorSample.settings(format)) }
        #expect(error?.code == .key)
    }

    @Test func `parameters of the query that would be read as the token's`() throws {
        for query in ["E=1", "a=1&S=2", "NAME=x", "Key=1"] {
            let error = signingError {
                _ = try VendorSample.issuer(for: .urlSig).issue(VendorSample.request("/a.mp4", query: query))
            }
            #expect(error == SigningError(.value, value: "query"), "\(query)")
        }
        for query in ["token=1", "a=1&a=2", "token_path=/", "expires=9", "=1", "a=%26b"] {
            let error = signingError {
                _ = try VendorSample.issuer(for: .bunny).issue(VendorSample.request("/a.mp4", query: query))
            }
            #expect(error == SigningError(.value, value: "query"), "\(query)")
        }
    }

    @Test func `tokens beyond their size`() throws {
        let error = signingError {
            _ = try VendorSample.issuer(for: .edgeAuth, adding: ["data": String(repeating: "a", count: 4096)]).issue(
                VendorSample.request()
            )
        }
        #expect(error?.code == .size)
    }

    @Test func `secrets in descriptions`() throws {
        let secret = try SigningSecret("playgate-example", form: .text)
        let key = try VendorSample.rsa.get()
        for text in [
            "\(secret)", String(reflecting: secret), "\(VendorKey.secret(secret))", "\(key)", String(reflecting: key),
        ] {
            #expect(!text.contains("playgate-example") && !text.contains("key:"), "\(text)")
        }
        #expect(secret.isShort)
        for (text, form) in [
            ("", SigningSecret.Form.text), ("0g", .hexadecimal), ("abc", .hexadecimal), ("a", .base64),
        ] {
            #expect(signingError { _ = try SigningSecret(text, form: form) }?.code == .key)
        }
        #expect(try SigningSecret("0A0b", form: .hexadecimal).bytes == [10, 11])
        #expect(try SigningSecret("-_8=", form: .base64).bytes == SigningSecret("+/8", form: .base64).bytes)
    }
}
