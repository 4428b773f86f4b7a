// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

@testable import Licences

/// Tokens for licence servers, and what independent code makes of the same description.
@Suite struct `A licence token` {
    static let first = "00112233-4455-6677-8899-aabbccddeeff"
    static let second = "ffeeddcc-bbaa-9988-7766-554433221100"
    static let now = GateSample.time
    static var second0: Int64 { now.millisecondsSince1970 / 1000 }

    /// A token to make, as a table row.
    struct Row: CustomTestStringConvertible, Sendable {
        var form = LicenceTokenForm.castLabs
        var algorithm: KeyAlgorithm?
        var keyID: String? = "6f1c1e0a-9b1a-4d3c-8a51-0f0e0d0c0b0a"
        var change: @Sendable (inout LicenceTokenRules) -> Void = { _ in }
        /// The members of the description that differ from the usual ones.
        var wanted: [String: JSON] = [:]
        var name: String
        var testDescription: String { "\(form.rawValue): \(name)" }
    }

    static let rows = [
        Row(change: { $0.settings = ["merchant": "acme"] }, name: "a purchase that nobody stores"),
        Row(
            algorithm: .hs384,
            change: {
                $0.settings = ["merchant": "acme", "crt": "list"]
                $0.policy.duration = .seconds(7200)
                $0.policy.isPersistent = true
                $0.policy.outputProtection = [.digital]
                $0.life = .seconds(30)
            },
            wanted: [
                "list": true, "duration": .number(7200), "persistent": true, "outputs": ["digital"],
                "life": .number(30),
            ],
            name: "a rental with protected outputs, in a list"
        ),
        Row(
            algorithm: .hs512,
            change: {
                $0.settings = ["merchant": "acme"]
                $0.policy.outputProtection = []
            },
            wanted: ["outputs": []],
            name: "any output"
        ),
        Row(form: .axinom, name: "the keys of the asset"),
        Row(
            form: .axinom,
            change: {
                $0.policy.duration = .seconds(600)
                $0.policy.isPersistent = true
                $0.policy.largestPicture = .sd
            },
            wanted: ["duration": .number(600), "persistent": true, "keys": [.string(first)]],
            name: "the keys of small pictures"
        ),
        Row(
            form: .nagra,
            change: { $0.claims = Array(#"{"assets":["{asset}"],"until":"{expires}"}"#.utf8) },
            wanted: ["claims": ["assets": ["film-1"], "until": .number(second0 + 60)]],
            name: "the operator's rights"
        ),
        Row(form: .drmCloud, keyID: nil, name: "the keys of the asset"),
        Row(
            form: .drmCloud,
            change: { $0.policy.duration = .seconds(90) },
            wanted: ["duration": .number(90)],
            name: "a duration"
        ),
        Row(form: .mux, name: "a playback id"),
        Row(
            form: .jws,
            algorithm: .es256,
            change: {
                $0.claims = Array(
                    #"""
                    {"sub":"{asset}","keys":"{keys}","exp":"{expires}","note":"{asset} until {expires}, {not a blank}","text":
                    {"$text":{"session":"{session}","n":[1,null,true]}},"from":"{issuedTime}","by":"{keyID}","who":"{viewer}"}
                    """#.utf8
                )
            },
            wanted: [
                "claims": [
                    "sub": "film-1", "keys": [.string(first), .string(second)], "exp": .number(second0 + 60),
                    "note": .string("film-1 until \(second0 + 60), {not a blank}"),
                    "text": .string(#"{"session":"0123","n":[1,null,true]}"#), "from": .string(now.iso8601),
                    "by": "6f1c1e0a-9b1a-4d3c-8a51-0f0e0d0c0b0a", "who": .null,
                ]
            ],
            name: "the operator's claims"
        ),
        Row(
            form: .jws,
            algorithm: .rs256,
            keyID: nil,
            change: { $0.claims = Array(#"{"{asset}":{"$text":{"a":1},"b":"{}"},"exp":"{expires}"}"#.utf8) },
            wanted: ["claims": ["{asset}": ["$text": ["a": .number(1)], "b": "{}"], "exp": .number(second0 + 60)]],
            name: "braces that are no blanks"
        ),
    ]

    private static func key(_ algorithm: KeyAlgorithm, id: String?) throws -> (key: TokenKey, description: JSON) {
        let binding = KeyBinding(issuer: "licences", format: .licence)
        let id = id.flatMap { KeyID($0) }
        if [.hs256, .hs384, .hs512].contains(algorithm) {
            let secret = (0..<64).map { _ in UInt8.random(in: 0...255) }
            let key = try TokenKey(secret: secret, id: id, algorithm: algorithm, binding: binding)
            return (key, ["hex": .string(secret.hexadecimal)])
        }
        let made = try TokenKey.generate(algorithm, id: id, binding: binding)
        guard case .pem(let pem) = made.secret else { throw CancellationError() }
        return (made.key, ["pem": .string(pem)])
    }

    static var order: LicenceOrder {
        get throws {
            let keys = ContentKeys([
                (id: try #require(ContentKeyID(first)), track: "SD"),
                (id: try #require(ContentKeyID(second)), track: "HD"),
            ])
            let end = now.adding(seconds: 3600)
            return LicenceOrder(asset: "film-1", keys: keys, session: "0123", sessionEnd: end)
        }
    }

    @Test(.enabled(if: Requirement.hasOracles(importing: "jwt, joserfc")))
    func `has the fields that independent code gives it, and a signature that it accepts`() throws {
        var (requests, names): (String, [String]) = ("", [])
        for row in Self.rows {
            let algorithm = row.algorithm ?? row.form.algorithms[0]
            let (key, description) = try Self.key(algorithm, id: row.keyID)
            var rules = LicenceTokenRules("licences", form: row.form)
            row.change(&rules)
            let token = try LicenceTokenIssuer(rules, key: key).issue(Self.order, at: Self.now)
            var members: [String: JSON] = [
                "form": .string(row.form.rawValue), "token": .string(token.text), "key": description,
                "alg": .string(algorithm.rawValue), "kid": .optional(row.keyID), "asset": "film-1",
                "keys": [.string(Self.first), .string(Self.second)], "life": .number(60), "now": .number(Self.second0),
                "persistent": false, "duration": .null, "outputs": .null, "merchant": "acme", "list": false,
                "claims": .object([]),
            ]
            members.merge(row.wanted) { $1 }
            requests += JSON.object(members.map { ($0.key, $0.value) }).line + "\n"
            names.append(row.testDescription)
            #expect(
                token.carrier == row.form.carrier
                    && token.expires == Self.now.adding(seconds: rules.life.components.seconds)
            )
        }
        let run = try CommandRun(
            "\(repository)/.build-oracles/bin/python",
            arguments: ["\(repository)/Tests/LicencesTests/Oracles/licences.py"],
            input: [UInt8](requests.utf8)
        )
        let answers = run.output.split(separator: "\n")
        #expect(answers.count == names.count, "\(run.error)")
        for (answer, name) in zip(answers, names) { #expect(answer == "{\"differences\": []}", "\(name): \(answer)") }
    }

    /// The vector of the vendor's own sample.
    @Test func `of DoveRunner has the policy and the hash of the vendor's sample`() throws {
        let keys = try #require(
            DoveRunnerKeys(access: "ACCESSKEYACCESSKEYACCESSKEYACCES", site: "0123456789abcdefghijklmnopqrstuv")
        )
        var rules = LicenceTokenRules("licences", form: .doveRunner)
        rules.settings = ["site": "DEMO", "drm": "Widevine"]
        rules.policy.duration = .seconds(3600)
        let now = try #require(Timestamp(iso8601: "2026-11-28T09:00:00Z"))
        var order = LicenceOrder(
            asset: "tnt-live",
            keys: ContentKeys(),
            session: "0123",
            viewer: "viewer1",
            sessionEnd: now.adding(seconds: 3600)
        )
        let token = try LicenceTokenIssuer(rules, keys: keys).issue(order, at: now)
        let bytes = try #require(Base64.decode(Array(token.text.utf8)))
        #expect(String(decoding: bytes, as: UTF8.self).contains(#","key_rotation":false,"#))
        let members = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let wanted: [String: String] = [
            "drm_type": "Widevine", "site_id": "DEMO", "user_id": "viewer1", "cid": "tnt-live",
            "policy":
                "O6FqbCMiOIiGMnIvK7BtDU1RYaHj1IFhjX5UeA7nqeYnFV8bKdfr7d7rRGPvzIOONZ5NcpAPivP+e+rdQ8ph1s0P/mNz+RCZXzzxDblfJMno/t0/jlA4bDDK1Mps7E/1",
            "response_format": "original", "timestamp": "2026-11-28T09:00:00Z",
            "hash": "dBi9uhSycDb45DwBnj2U5YwpBHOxYO17S6teU9wjSPg=",
        ]
        #expect(members?.compactMapValues { $0 as? String } == wanted && members?.count == wanted.count + 1)
        #expect(
            UnverifiedLicenceToken(token.text)?.form == .doveRunner
                && token.carrier == .header("pallycon-customdata-v2")
        )
        // Another track, another asset: another policy, another hash.
        rules.policy.largestPicture = .hd
        order.asset = "tnt-liv"
        #expect(try LicenceTokenIssuer(rules, keys: keys).issue(order, at: now).text != token.text)
        #expect(DoveRunnerKeys(access: "a", site: "short") == nil && DoveRunnerKeys(access: "", site: "") == nil)
        rules.settings["drm"] = "widevine"
        #expect(throws: LicenceTokenError.self) { try LicenceTokenIssuer(rules, keys: keys) }
    }

    @Test func `ends with its playback, and is another one each time`() throws {
        var rules = LicenceTokenRules("licences", form: .castLabs)
        rules.settings = ["merchant": "acme"]
        let issuer = try LicenceTokenIssuer(rules, key: Self.key(.hs256, id: "k").key)
        var order = try Self.order
        let one = try issuer.issue(order, at: Self.now)
        #expect(try issuer.issue(order, at: Self.now).text != one.text)
        order.sessionEnd = Self.now.adding(seconds: 7)
        #expect(try issuer.issue(order, at: Self.now).expires == order.sessionEnd)
        #expect(throws: LicenceTokenError.self) { try issuer.issue(order, at: Self.now.adding(seconds: 7)) }
    }

    /// Rules that a form cannot have, with a part of the reason.
    private static let wrong:
        [(form: LicenceTokenForm, change: @Sendable (inout LicenceTokenRules) -> Void, reason: String)] = [
            (.castLabs, { _ in }, "needs the setting merchant"),
            (.castLabs, { $0.settings = ["merchant": "a", "vendor": "b"] }, "has no setting vendor"),
            (.castLabs, { $0.settings = ["merchant": "a", "crt": "map"] }, "object or list"),
            (
                .castLabs,
                {
                    $0.settings = ["merchant": "a"]
                    $0.policy.largestPicture = .hd
                }, "how large a picture"
            ),
            (
                .castLabs,
                {
                    $0.settings = ["merchant": "a"]
                    $0.claims = []
                }, "claims of its own"
            ),
            (.axinom, { $0.policy.outputProtection = [] }, "which outputs"),
            (.axinom, { $0.policy.largestPicture = .audio }, "no size of a picture"),
            (.axinom, { $0.life = .seconds(86_401) }, "life"),
            (.nagra, { _ in }, "needs claims"),
            (.nagra, { $0.claims = Array("[]".utf8) }, "must be a JSON object"),
            (.jws, { $0.claims = Array("{".utf8) }, "not JSON"),
            (.jws, { $0.claims = Array(#"{"a":"{viewerName}"}"#.utf8) }, "have {viewerName}; known: {asset}"),
            (.jws, { $0.claims = Array(#"{"a":[1.5]}"#.utf8) }, "number with a fraction"),
            (.jws, { $0.claims = Array(#"{"a":1,"a":2}"#.utf8) }, "not JSON"),
            (
                .jws,
                {
                    $0.claims = Array(#"{}"#.utf8)
                    $0.policy.isPersistent = true
                }, "may be stored"
            ),
            (.jws, { $0.claims = Array(#"{"sub":"{asset}"}"#.utf8) }, "say no end"),
            (.jws, { $0.claims = Array(#"{"$text":{"exp":"{expires}"}}"#.utf8) }, "must be a JSON object"),
            (.drmCloud, { $0.policy.isPersistent = true }, "may be stored"),
            (.mux, { $0.policy.duration = .seconds(5) }, "how long"),
        ]

    @Test func `has no rules that its form cannot say`() throws {
        for (form, change, reason) in Self.wrong {
            var rules = LicenceTokenRules("licences", form: form)
            change(&rules)
            let key = try Self.key(form.algorithms[0], id: "k").key
            let error = #expect(throws: LicenceTokenError.self) { try LicenceTokenIssuer(rules, key: key) }
            #expect(
                error?.code == .rules && error?.reason.contains(reason) ?? false,
                "\(reason): \(error?.reason ?? "")"
            )
        }
    }

    @Test func `needs a key of its form, and content that is mapped`() throws {
        let rules = LicenceTokenRules("licences", form: .axinom)
        #expect(throws: LicenceTokenError.self) { try LicenceTokenIssuer(rules, key: Self.key(.hs512, id: "k").key) }
        #expect(throws: LicenceTokenError.self) { try LicenceTokenIssuer(rules, key: Self.key(.hs256, id: nil).key) }
        let issuer = try LicenceTokenIssuer(rules, key: Self.key(.hs256, id: "k").key)
        let id = try #require(ContentKeyID(Self.first))
        for (tracks, isGood) in [
            ([], false), ([(id, "4K")], false), ([(id, "sd")], false), ([(id, "UHD")], true), ([(id, "ALL")], true),
        ] as [([(id: ContentKeyID, track: String)], Bool)] {
            let isRefused = (try? issuer.check(asset: "a", keys: ContentKeys(tracks))) == nil
            #expect(isRefused != isGood, "\(tracks)")
        }
    }

    @Test func `leaves out keys that open more than the largest picture`() throws {
        let (first, second) = (try #require(ContentKeyID(Self.first)), try #require(ContentKeyID(Self.second)))
        let keys = ContentKeys([(first, "SD"), (first, "HD"), (second, "SD"), (second, "AUDIO")])
        #expect(try keys.ids(upTo: .sd, naming: [:]) == [second])
        #expect(try keys.ids(upTo: .hd, naming: [:]) == [first, second])
        #expect(try keys.ids(upTo: nil, naming: [:]) == [first, second])
        #expect(throws: LicenceTokenError.self) { try ContentKeys([(first, "VIDEO")]).ids(upTo: .hd, naming: [:]) }
        #expect(try ContentKeys([(first, "4K")]).ids(upTo: .hd, naming: ["4K": .uhd1]) == [])
    }

    @Test(arguments: [
        ("00112233-4455-6677-8899-aabbccddeeff", true), ("00112233445566778899AABBCCDDEEFF", true), ("", false),
        ("00112233-4455-6677-8899-aabbccddeef", false), ("00112233445566778899aabbccddeefg", false),
        ("001122334455-6677-8899-aabbccddeeff--", false), ("{0112233-4455-6677-8899-aabbccddeeff}", false),
        ("0011223344556677-8899-aabb-ccddeeff", false),
    ])
    func `names keys as UUIDs`(text: String, isID: Bool) {
        #expect((ContentKeyID(text)?.description == Self.first) == isID)
    }
}
