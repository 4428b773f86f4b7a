// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import RequestTargets

/// Every claim that restricts: satisfied, violated, without its fact, of a wrong type, empty, and at its limits.
@Suite struct `Restrictions` {
    struct Row: CustomTestStringConvertible {
        let testDescription: String
        /// A map of one claim, in hexadecimal CBOR.
        let claim: String
        let label: ClaimLabel
        let code: GrantCode?
        let facts: @Sendable (inout RequestFacts) -> Void

        init(
            _ name: String,
            claim: String,
            label: ClaimLabel,
            code: GrantCode?,
            facts: @escaping @Sendable (inout RequestFacts) -> Void = { _ in }
        ) {
            testDescription = "\(label): \(name)"
            self.claim = claim
            self.label = label
            self.code = code
            self.facts = facts
        }
    }

    static let rows: [Row] = tokenRows + uriRows + networkRows + headerRows + tlsRows + locationRows + otherRows

    static let tokenRows: [Row] = [
        Row("one name", claim: "a1036465646765", label: .audience, code: nil),
        Row("several names, one is own", claim: "a103826161 6465646765", label: .audience, code: nil),
        Row("another name", claim: "a103636f6666", label: .audience, code: .audienceMismatch),
        Row("another case", claim: "a1036445646765", label: .audience, code: .audienceMismatch),
        Row("empty list", claim: "a10380", label: .audience, code: .malformed),
        Row("number", claim: "a10301", label: .audience, code: .malformed),
        Row(
            "64 names",
            claim: "a1039840" + String(repeating: "6161", count: 63) + "6465646765",
            label: .audience,
            code: nil
        ),
        Row("65 names", claim: "a1039841" + String(repeating: "6161", count: 65), label: .audience, code: .malformed),
        Row("GET is named", claim: "a1190139 82 63474554 6448454144", label: .methods, code: nil),
        Row("HEAD is not GET", claim: "a1190139 81 63474554", label: .methods, code: .methodRefused) {
            $0.method = "HEAD"
        },
        Row("another case", claim: "a1190139 81 63676574", label: .methods, code: .methodRefused),
        Row("unknown", claim: "a1190139 81 63474554", label: .methods, code: .contextMissing) { $0.method = nil },
        Row("empty list", claim: "a119013980", label: .methods, code: .malformed),
        Row("text", claim: "a119013963474554", label: .methods, code: .malformed),
        Row(
            "50 methods",
            claim: "a1190139 9832" + String(repeating: "6161", count: 49) + "63474554",
            label: .methods,
            code: nil
        ),
        Row(
            "51 methods",
            claim: "a1190139 9833" + String(repeating: "6161", count: 51),
            label: .methods,
            code: .malformed
        ),
    ]

    static let uriRows: [Row] = [
        Row("scheme", claim: "a1190138a100a1006568747470 73", label: .uri, code: nil),
        Row("another scheme", claim: "a1190138a100a10064 68747470", label: .uri, code: .uriMismatch),
        Row("host", claim: "a1190138a101a1006b63646e2e6578616d706c65", label: .uri, code: nil),
        Row("another host", claim: "a1190138a101a1006361 2e62", label: .uri, code: .uriMismatch),
        Row("default port as nothing", claim: "a1190138a102a10060", label: .uri, code: nil),
        Row("default port as number", claim: "a1190138a102a10063343433", label: .uri, code: nil),
        Row("another port", claim: "a1190138a102a100623830", label: .uri, code: .uriMismatch),
        Row("no query", claim: "a1190138a104a10060", label: .uri, code: nil),
        Row("two matches, both hold", claim: "a1190138a103a2 01622f6c 02636d3473", label: .uri, code: nil),
        Row("two matches, one fails", claim: "a1190138a103a2 01622f6c 0263 6d3474", label: .uri, code: .uriMismatch),
        Row("contains", claim: "a1190138a103a103 642f746e74", label: .uri, code: nil),
        Row("does not contain", claim: "a1190138a103a103 642f746e78", label: .uri, code: .uriMismatch),
        Row("number", claim: "a1190138a103a10001", label: .uri, code: .malformed),
        Row("digest as text", claim: "a1190138a103a12061 61", label: .uri, code: .malformed),
        Row(
            "digest of 31 bytes",
            claim: "a1190138a103a120581f" + String(repeating: "00", count: 31),
            label: .uri,
            code: .malformed
        ),
        Row("not a map", claim: "a119013801", label: .uri, code: .malformed),
        Row("text component", claim: "a1190138a16161a10060", label: .uri, code: .claimUnsupported),
        Row("pattern", claim: "a1190138a103a10469 2f6c6976652f2e2a24", label: .uri, code: nil),
        Row("pattern in a list", claim: "a1190138a103a10482692f6c6976652f2e2a2460", label: .uri, code: nil),
        Row("pattern that is not found", claim: "a1190138a103a104625e61", label: .uri, code: .uriMismatch),
        Row("escaped digit", claim: "a1190138a103a104655c312e2a61", label: .uri, code: .claimUnsupported),
        Row(
            "five patterns",
            claim: "a1190138a5" + (0...4).map { "0\($0)a1046161" }.joined(),
            label: .uri,
            code: .tooLarge
        ),
        Row(
            "pattern of 513 bytes",
            claim: "a1190138a103a104790201" + String(repeating: "61", count: 513),
            label: .uri,
            code: .tooLarge
        ),
    ]

    static let networkRows: [Row] = [
        Row("address", claim: "a119013781d83444cb007109", label: .networks, code: nil),
        Row("another address", claim: "a119013781d83444cb00710a", label: .networks, code: .addressMismatch),
        Row("unknown", claim: "a119013781d83444cb007109", label: .networks, code: .contextMissing) {
            $0.clientAddress = nil
        },
        Row("prefix", claim: "a119013781d83482181843cb0071", label: .networks, code: nil),
        Row("prefix of /8", claim: "a119013781d834820841cb", label: .networks, code: nil),
        Row("prefix of /0", claim: "a119013781d834820040", label: .networks, code: nil),
        Row("prefix /0 of IPv6", claim: "a119013781d836820040", label: .networks, code: .addressMismatch),
        Row(
            "mapped address",
            claim: "a119013781d83650" + "00000000000000000000ffffcb007109",
            label: .networks,
            code: nil
        ),
        Row("IPv6", claim: "a119013781d83682182044 20010db8", label: .networks, code: nil) {
            $0.clientAddress = IPAddress("2001:db8::1")
        },
        Row("other IPv6", claim: "a119013781d83682182044 20010db8", label: .networks, code: .addressMismatch) {
            $0.clientAddress = IPAddress("2001:db9::1")
        },
        Row("system", claim: "a11901378119fbf4", label: .networks, code: nil) { $0.clientASN = 64500 },
        Row("another system", claim: "a11901378119fbf4", label: .networks, code: .addressMismatch) {
            $0.clientASN = 64501
        },
        Row("unknown system", claim: "a11901378119fbf4", label: .networks, code: .contextMissing),
        Row("system or address", claim: "a11901378219fbf4d83444cb007109", label: .networks, code: nil),
        Row("trailing zero byte", claim: "a119013781d834821043cb0000", label: .networks, code: .malformed),
        Row("unused bits", claim: "a119013781d834820741cb", label: .networks, code: .malformed),
        Row("/33", claim: "a119013781d83482182141cb", label: .networks, code: .malformed),
        Row("address with prefix", claim: "a119013781d8348244cb0071091818", label: .networks, code: .malformed),
        Row("untagged address", claim: "a11901378144cb007109", label: .networks, code: .malformed),
        Row("range of systems", claim: "a11901378182 0102", label: .networks, code: .malformed),
        Row("system 0", claim: "a11901378100", label: .networks, code: .malformed),
        Row("map", claim: "a1190137a0", label: .networks, code: .malformed),
        Row("empty list", claim: "a119013780", label: .networks, code: .malformed),
        Row("address of 3 bytes", claim: "a119013781d83443cb0071", label: .networks, code: .malformed),
    ]

    static let headerRows: [Row] = [
        Row(
            "prefix",
            claim: "a119013ba16a557365722d4167656e74a1016e4578616d706c65506c617965722f",
            label: .headers,
            code: nil
        ),
        Row("another value", claim: "a119013ba16a757365722d6167656e74a1006161", label: .headers, code: .headerMismatch),
        Row("absent field", claim: "a119013ba16161a10060", label: .headers, code: .headerMismatch),
        Row("empty field", claim: "a119013ba165456d707479a10060", label: .headers, code: nil),
        Row("lines are joined", claim: "a119013ba165 4c696e6573a10064612c2062", label: .headers, code: nil),
        Row("unknown", claim: "a119013ba16161a10060", label: .headers, code: .contextMissing) { $0.headers = nil },
        Row("host", claim: "a119013ba164486f7374a10060", label: .headers, code: .claimUnsupported),
        Row("cookie", claim: "a119013ba166636f6f6b6965a10060", label: .headers, code: .claimUnsupported),
        Row(
            "forwarded",
            claim: "a119013ba16f582d466f727761726465642d466f72a10060",
            label: .headers,
            code: .claimUnsupported
        ),
        Row("not a name", claim: "a119013ba1626120a10060", label: .headers, code: .malformed),
        Row("numeric name", claim: "a119013ba101a10060", label: .headers, code: .malformed),
        Row("empty map", claim: "a119013ba0", label: .headers, code: .malformed),
        Row("unknown match", claim: "a119013ba16161a1076161", label: .headers, code: .claimUnsupported),
        Row(
            "17 names",
            claim: "a119013bb1"
                + (0..<17).map { "62" + [UInt8(0x61), 0x61 + UInt8($0)].hexadecimal + "a10060" }.joined(),
            label: .headers,
            code: .tooLarge
        ),
    ]

    static let tlsRows: [Row] = [
        Row("h2", claim: "a119013a8242683248687474702f312e31", label: .alpn, code: nil),
        Row("h3", claim: "a119013a81426833", label: .alpn, code: .tlsMismatch),
        Row("no ALPN", claim: "a119013a81426832", label: .alpn, code: .tlsMismatch) { $0.alpn = .none },
        Row("unknown", claim: "a119013a81426832", label: .alpn, code: .contextMissing) { $0.alpn = .unknown },
        Row("text", claim: "a119013a81626832", label: .alpn, code: .malformed),
        Row("empty list", claim: "a119013a80", label: .alpn, code: .malformed),
        Row("key", claim: "a119013f43010203", label: .clientKey, code: nil),
        Row("another key", claim: "a119013f43010204", label: .clientKey, code: .tlsMismatch),
        Row("no key", claim: "a119013f43010203", label: .clientKey, code: .tlsMismatch) { $0.clientKey = .none },
        Row("unknown", claim: "a119013f43010203", label: .clientKey, code: .contextMissing) { $0.clientKey = .unknown },
        Row("text", claim: "a119013f63616263", label: .clientKey, code: .malformed),
        Row("empty", claim: "a119013f40", label: .clientKey, code: .malformed),
    ]

    static let locationRows: [Row] = [
        Row("country", claim: "a119013c826255536555532d4341", label: .countries, code: nil),
        Row("in lower case", claim: "a119013c81627573", label: .countries, code: nil),
        Row("another country", claim: "a119013c816246 52", label: .countries, code: .locationMismatch),
        Row("unknown", claim: "a119013c81625553", label: .countries, code: .contextMissing) { $0.countries = nil },
        Row("number", claim: "a119013c8101", label: .countries, code: .malformed),
        Row("empty list", claim: "a119013c80", label: .countries, code: .malformed),
        Row("geohash", claim: "a119011a6475347072", label: .geohash, code: .locationMismatch),
        Row("own geohash as text", claim: "a119011a6439713879", label: .geohash, code: nil),
        Row("own geohash in a list", claim: "a119011a82617a6439713879", label: .geohash, code: nil),
        Row("letter a", claim: "a119011a6161", label: .geohash, code: .malformed),
        Row(
            "13 characters",
            claim: "a119011a6d" + String(repeating: "39", count: 13),
            label: .geohash,
            code: .malformed
        ),
        Row("unknown", claim: "a119011a6439713879", label: .geohash, code: .contextMissing) { $0.position = nil },
        Row("tag", claim: "a119011ad90117 6439713879", label: .geohash, code: .claimUnsupported),
        Row(
            "circle",
            claim: "a119013d8183 fb4042e32fec56d5d0 fbc05e9ad77318fc50 1903e8",
            label: .coordinates,
            code: nil
        ),
        Row("circle elsewhere", claim: "a119013d818300001903e8", label: .coordinates, code: .locationMismatch),
        Row("unknown", claim: "a119013d818300001903e8", label: .coordinates, code: .contextMissing) {
            $0.position = nil
        },
        Row("latitude 91", claim: "a119013d8183185b 001903e8", label: .coordinates, code: .malformed),
        Row("two numbers", claim: "a119013d81820000", label: .coordinates, code: .malformed),
        Row("altitude", claim: "a119013e820102", label: .altitude, code: .claimUnsupported),
    ]

    static let otherRows: [Row] = [
        Row("any number of uses", claim: "a119013400", label: .replay, code: nil),
        Row("one use without a store", claim: "a119013401", label: .replay, code: .replayed),
        Row("watched without a detector", claim: "a119013402", label: .replay, code: .claimUnsupported),
        Row("3", claim: "a119013403", label: .replay, code: .malformed),
        Row("text", claim: "a11901346131", label: .replay, code: .malformed),
        Row(
            "without a list",
            claim: "a119013583fb3f847ae147ae147b44677270311a72bd3950",
            label: .rejection,
            code: .claimUnsupported
        ),
        Row("probability 2", claim: "a1190135820241 61", label: .rejection, code: .malformed),
        Row("text as id", claim: "a119013582006161", label: .rejection, code: .malformed),
        Row(
            "without proof",
            claim: "a108a11901435820" + String(repeating: "00", count: 32),
            label: .confirmation,
            code: .proofMissing
        ),
        Row("a COSE key", claim: "a108a101a0", label: .confirmation, code: .claimUnsupported),
        Row("two members", claim: "a108a206000700", label: .confirmation, code: .claimUnsupported),
        Row(
            "thumbprint of 31 bytes",
            claim: "a108a1190143581f" + String(repeating: "00", count: 31),
            label: .confirmation,
            code: .malformed
        ),
        Row("number", claim: "a10801", label: .confirmation, code: .malformed),
        Row("unknown critical setting", claim: "a1190141a1208105", label: .possession, code: .claimUnsupported),
        Row("known critical setting", claim: "a1190141a1208100", label: .possession, code: .malformed),
        Row("window of 0 seconds", claim: "a1190141a10000", label: .possession, code: .malformed),
        Row("window alone", claim: "a1190141a20019012c0101", label: .possession, code: nil),
        Row("version 2", claim: "a119013602", label: .version, code: .versionUnsupported),
        Row("answers", claim: "a1190142a10482190133a1684c6f636174696f6e6161", label: .answers, code: nil),
        Row("324", claim: "a119014401", label: ClaimLabel(324), code: .claimUnsupported),
        Row("of a vendor", claim: "a1190191a0", label: ClaimLabel(401), code: .claimUnsupported),
    ]

    @Test(arguments: rows)
    func `are evaluated, or refuse the token by their name`(row: Row) throws {
        var claims = CATClaims()
        claims.issuer = "playgate"
        claims.expires = CATSample.time(300)
        claims.version = row.label == .version ? nil : 1
        var payload = try #require(claims.payload())
        payload[0] += 1
        let token = try CATSample.token(payload: payload + CATSample.bytes(row.claim).dropFirst())

        var facts = try CATSample.facts()
        facts.clientAddress = IPAddress("203.0.113.9")
        facts.headers =
            ["User-Agent": "ExamplePlayer/1.0", "Empty": "", "lines": " a", "LINES": "b "] as HeaderList
        facts.alpn = .value([UInt8]("h2".utf8))
        facts.clientKey = .value([1, 2, 3])
        facts.countries = ["US", "USA", "US-CA"]
        facts.position = Position(latitude: 37.7749, longitude: -122.4194)
        row.facts(&facts)
        var policy = CATPolicy()
        policy.audience = ["edge"]

        let refusal = try CATSample.verifier(policy: policy).check(token, for: facts, at: CATSample.time(1)).refusal
        #expect(refusal?.code == row.code)
        if row.code != nil { #expect(refusal?.claim == row.label) }
    }

    @Test func `a repeated claim is malformed`() throws {
        for row in Self.rows where row.code == nil {
            var claims = CATClaims()
            claims.issuer = "playgate"
            var payload = try #require(claims.payload())
            payload[0] += 2
            let claim = CATSample.bytes(row.claim).dropFirst()
            let token = try CATSample.token(payload: payload + claim + claim)
            let verdict = try CATSample.verifier().check(token, for: try CATSample.facts(), at: CATSample.time(1))
            #expect(verdict.refusal?.code == .malformed, "\(row.testDescription)")
        }
    }
}
