// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Platform
import Testing

@testable import RequestTargets
@testable import VendorTokens

/// The vendors' own libraries in Python where they are on PyPI, and otherwise a second implementation, in the environment that
/// `scripts/setup test` makes: a thousand random requests of each format give the same bytes.
@Suite(
    .enabled(
        if: Requirement.hasOracles(importing: "akamai.edgeauth, awscli, botocore"),
        "botocore, awscli or akamai-edgeauth is not installed: run scripts/setup test"
    )
)
struct `Vendors' libraries` {
    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(format: VendorFormat, requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/VendorTokensTests/Oracles/vendors.py"
        let input = [UInt8](lines.joined(separator: "\n").utf8)
        let run = try CommandRun(python, arguments: [script, format.rawValue], input: input)
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    /// A random profile with a random request of it.
    private struct Round {
        var settings: [String: String]
        var request: SigningRequest
        var key: VendorKey
        /// What the other side is given in addition.
        var given: [String: Any]

        func peer(_ format: VendorFormat) -> [String: Any] {
            var peer = given
            peer["settings"] = settings
            (peer["path"], peer["host"], peer["scheme"]) = (request.path, request.host, request.scheme.rawValue)
            peer["query"] = request.query
            if let client = request.client {
                let hasLength = format == .mediaCDN || format == .cloudFront
                peer["client"] = hasLength ? client.description : client.address.text
            }
            peer["session"] = request.session
            peer["issued"] = request.issued.millisecondsSince1970 / 1000
            peer["expires"] = request.expires.millisecondsSince1970 / 1000
            return peer
        }
    }

    @Test(arguments: VendorFormat.allCases)
    func `sign random requests alike`(format: VendorFormat) throws {
        var random = SplitMix64(seed: 18)
        let rounds = try (0..<300).map { _ in try Self.round(of: format, using: &random) }
        let answers = try Self.ask(format: format, requests: rounds.map { $0.peer(format) })
        try #require(answers.count == rounds.count)
        for (round, answer) in zip(rounds, answers) {
            let delivery = try format.issuer(with: round.key, settings: round.settings).issue(round.request)
            if let token = answer["token"] as? String { #expect(delivery.token == token, "\(round.request)") }
            if let query = answer["query"] as? String { #expect(delivery.query == query, "\(round.request)") }
            if let path = answer["path"] as? String { #expect(delivery.path == path, "\(round.request)") }
            if let cookies = answer["cookies"] as? [String: String] {
                #expect(Dictionary(uniqueKeysWithValues: delivery.cookies.map { ($0.name, $0.value) }) == cookies)
            }
            #expect(!answer.isEmpty)
        }
    }

    /// ECDSA has another signature each time, so the other library verifies it over the policy that it states.
    @Test func `verify CloudFront's ECDSA`() throws {
        let pem = try PrivateKey(generating: .ellipticCurve(.p256)).pem()
        let key = try SigningPrivateKey(pem: Array(pem.utf8))
        let issuer = try CloudFrontIssuer(key, rules: CloudFrontRules(keyPairID: "K2JCJMDEHXQW5F"))
        let requests = try (0..<50).map { number -> [String: Any] in
            let request = try VendorSample.request("/live/tnt/\(number).m3u8")
            return [
                "pem": pem, "settings": [:] as [String: String], "signature": try issuer.issue(request).token,
                "policy": try issuer.policy(Signing(request)),
            ]
        }
        #expect(try Self.ask(format: .cloudFront, requests: requests).count == 50)
    }

    // MARK: Random requests

    private static func round(of format: VendorFormat, using random: inout SplitMix64) throws -> Round {
        let isFolder = random.once(in: 2)
        var request = SigningRequest(
            path: path(&random, isFolder: isFolder, hasTilde: ![.edgeAuth, .mediaCDN].contains(format)),
            issued: Timestamp(secondsSince1970: 0),
            expires: Timestamp(secondsSince1970: 0)
        )
        let issued = Int64.random(in: 1_700_000_000...2_100_000_000, using: &random)
        request.issued = Timestamp(secondsSince1970: issued)
        request.expires = Timestamp(secondsSince1970: issued + .random(in: 1...86_400, using: &random))
        request.host = random.pick(["cdn.example", "a-b.cdn.example:8443", "203.0.113.1"])
        request.scheme = random.once(in: 4) ? .http : .https
        var round = Round(settings: [:], request: request, key: try VendorSample.key(format), given: [:])
        if case .privateKey = round.key {
            round.given = ["pem": try VendorSample.rsaPEM.get()]
        } else {
            let secret = (0..<Int.random(in: 1...64, using: &random)).map { _ in
                UInt8.random(in: 33...126, using: &random)
            }
            round.key = .secret(try SigningSecret(bytes: secret))
            round.given = ["key": secret.hexadecimal]
        }
        try vary(&round, for: format, using: &random)
        return round
    }

    private static func path(_ random: inout SplitMix64, isFolder: Bool, hasTilde: Bool) -> String {
        let parts =
            ["live", "a", "%20", "%C3%A9", "b%2Fc", "x.y", "(1)", "+", "=", "@", "'", "TNT"] + (hasTilde ? ["~"] : [])
        let segments = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            (0..<Int.random(in: 1...3, using: &random)).map { _ in random.pick(parts) }.joined()
        }
        return "/" + segments.joined(separator: "/") + (isFolder ? "/" : ".m4s")
    }

    private static func client(_ random: inout SplitMix64, hasIPv6: Bool = true) throws -> ClientNetwork? {
        guard random.once(in: 2) else { return nil }
        let addresses =
            ["203.0.113.9", "10.0.0.1"] + (hasIPv6 ? ["2001:db8::1", "::1", "2001:db8:0:1::", "fe80::1:0:0:1"] : [])
        return ClientNetwork(try #require(IPAddress(random.pick(addresses))))
    }

    private static func network(_ random: inout SplitMix64, hasIPv6: Bool) throws -> ClientNetwork? {
        guard let client = try client(&random, hasIPv6: hasIPv6) else { return nil }
        return ClientNetwork(client.address, length: Int.random(in: 8...32, using: &random))
    }

    private static func vary(_ round: inout Round, for format: VendorFormat, using random: inout SplitMix64) throws {
        func flag(_ name: String) { if random.once(in: 2) { round.settings[name] = "true" } }
        let isFolder = round.request.path.hasSuffix("/")
        let session = random.once(in: 2) ? random.pick(["s-1", "e688045c604d5ecc", "a.b_c"]) : nil
        switch format {
        case .edgeAuth:
            ["escape", "start"].forEach(flag)
            round.settings["name"] = random.pick(["hdnts", "hdntl", "__token__"])
            round.settings["algorithm"] = random.pick(["sha256", "sha1", "md5"])
            round.settings["weak"] = "true"
            round.settings["url"] = random.once(in: 2) ? "false" : "true"
            if random.once(in: 3) { round.settings["salt"] = "pepper" }
            if random.once(in: 3) { round.settings["acl"] = random.pick(["/keys/*", "/k?/*!/v.mp4"]) }
            if random.once(in: 3) { round.settings["data"] = random.pick(["tnt", "a=b", "x,y:z"]) }
            (round.request.client, round.request.session) = (try client(&random), session)
        case .cloudFront:
            ["custom", "start"].forEach(flag)
            round.settings["key-pair-id"] = random.pick(["K2JCJMDEHXQW5F", "APKA-1"])
            round.settings["digest"] = random.pick(["sha1", "sha256"])
            round.settings["weak"] = "true"
            round.request.client = try network(&random, hasIPv6: false)
            if random.once(in: 3) { round.request.query = "a=1&b=x%20y" }
        case .mediaCDN: try varyMediaCDN(&round, using: &random, isFolder: isFolder, session: session)
        case .bunny:
            if random.once(in: 4) {
                round.settings["ignore-params"] = "true"
            } else {
                if random.once(in: 3) { round.settings["countries"] = random.pick(["US", "US,CA"]) }
                if random.once(in: 3) { round.settings["blocked-countries"] = "RU,CN" }
                if random.once(in: 3) { round.settings["limit"] = "5000" }
                if random.once(in: 3), !isFolder {
                    round.request.query = random.pick(["z=1&a=x%20y", "v=%C3%A9", "e="])
                }
            }
            round.request.client = try client(&random)
        case .cloudflare:
            round.settings["name"] = random.pick(["verify", "t"])
            round.settings["life"] = String(Int.random(in: 1...86_400, using: &random))
            round.settings["url-safe"] = random.once(in: 2) ? "true" : "false"
            if random.once(in: 3) { round.request.query = "a=1&b=x" }
        case .fastly:
            round.settings["name"] = random.pick(["token", "t"])
            round.settings["algorithm"] = random.pick(["sha1", "sha256"])
            round.settings["weak"] = "true"
            let path = isFolder ? "{scope}" : "{path}"
            round.settings["template"] = random.pick(["\(path){expires}", "{expires}|{address}|\(path)"])
            if round.settings["template"]?.contains("address") == true {
                round.request.client = try client(&random) ?? VendorSample.network("203.0.113.7")
            }
        case .secureLink:
            round.settings["weak"] = "true"
            let path = isFolder ? "{scope}" : "{path}"
            round.settings["template"] = random.pick([
                "{expires}\(path){address} {secret}", "{secret}\(path)-{address}-{expires}",
            ])
            round.request.client = try client(&random) ?? VendorSample.network("203.0.113.7")
            if random.once(in: 2) { round.settings["prefix"] = "s" }
        case .accessControl:
            ["start", "issue-time"].forEach(flag)
            round.settings["cookie"] = random.pick(["TokenCookie", "t"])
            round.settings["kid"] = random.pick(["key1", "k~2"])
            round.settings["subject"] = "nobody"
            round.settings["algorithm"] = random.pick(["sha256", "sha512"])
            if random.once(in: 2) { round.settings["tid"] = "t-1" }
            if random.once(in: 2) { (round.settings["version"], round.settings["scope"]) = ("1", "live") }
            round.request.session = session
        case .urlSig:
            round.settings["weak"] = "true"
            round.settings["key"] = String(Int.random(in: 0...15, using: &random))
            round.settings["algorithm"] = random.pick(["sha1", "md5"])
            if isFolder, random.once(in: 2) { round.settings[random.pick(["place", "anchor"])] = "segment" }
            round.request.client = try client(&random)
            if random.once(in: 3) { round.request.query = "a=1&b=x" }
        }
    }

    private static func varyMediaCDN(
        _ round: inout Round,
        using random: inout SplitMix64,
        isFolder: Bool,
        session: String?
    ) throws {
        round.settings["algorithm"] = random.pick(["ed25519", "sha256", "sha1"])
        round.settings["weak"] = "true"
        if round.settings["algorithm"] == "ed25519" {
            let seed = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            round.key = .secret(try SigningSecret(bytes: seed))
            round.given = ["key": seed.hexadecimal]
        }
        if isFolder, random.once(in: 2) {
            round.settings["folder"] = "prefix"
        } else if random.once(in: 3) {
            round.settings["globs"] = random.pick(["/keys/*", "/k/*,/v/?.mp4"])
        }
        if random.once(in: 2) { round.settings["start"] = "true" }
        if random.once(in: 3) { round.settings["data"] = "tnt:1" }
        if random.once(in: 3) { round.settings["headers"] = random.pick(["user-agent=x", "a=b c,x-y=1=2"]) }
        (round.request.client, round.request.session) = (try network(&random, hasIPv6: true), session)
    }
}
