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
            _ claim: String,
            _ label: ClaimLabel,
            _ code: GrantCode?,
            _ facts: @escaping @Sendable (inout RequestFacts) -> Void = { _ in }
        ) {
            testDescription = "\(label): \(name)"
            self.claim = claim
            self.label = label
            self.code = code
            self.facts = facts
        }
    }

    static let rows: [Row] = tokenRows + uriRows + networkRows + headerRows + tlsRows + placeRows + otherRows

    static let tokenRows: [Row] = [
        Row("one name", "a1036465646765", .audience, nil),
        Row("several names, one is own", "a103826161 6465646765", .audience, nil),
        Row("another name", "a103636f6666", .audience, .audienceMismatch),
        Row("another case", "a1036445646765", .audience, .audienceMismatch),
        Row("empty list", "a10380", .audience, .malformed),
        Row("number", "a10301", .audience, .malformed),
        Row("64 names", "a1039840" + String(repeating: "6161", count: 63) + "6465646765", .audience, nil),
        Row("65 names", "a1039841" + String(repeating: "6161", count: 65), .audience, .malformed),
        Row("GET is named", "a1190139 82 63474554 6448454144", .methods, nil),
        Row("HEAD is not GET", "a1190139 81 63474554", .methods, .methodRefused) { $0.method = "HEAD" },
        Row("another case", "a1190139 81 63676574", .methods, .methodRefused),
        Row("unknown", "a1190139 81 63474554", .methods, .contextMissing) { $0.method = nil },
        Row("empty list", "a119013980", .methods, .malformed),
        Row("text", "a119013963474554", .methods, .malformed),
        Row("50 methods", "a1190139 9832" + String(repeating: "6161", count: 49) + "63474554", .methods, nil),
        Row("51 methods", "a1190139 9833" + String(repeating: "6161", count: 51), .methods, .malformed),
    ]

    static let uriRows: [Row] = [
        Row("scheme", "a1190138a100a1006568747470 73", .uri, nil),
        Row("another scheme", "a1190138a100a10064 68747470", .uri, .uriMismatch),
        Row("host", "a1190138a101a1006b63646e2e6578616d706c65", .uri, nil),
        Row("another host", "a1190138a101a1006361 2e62", .uri, .uriMismatch),
        Row("default port as nothing", "a1190138a102a10060", .uri, nil),
        Row("default port as number", "a1190138a102a10063343433", .uri, nil),
        Row("another port", "a1190138a102a100623830", .uri, .uriMismatch),
        Row("no query", "a1190138a104a10060", .uri, nil),
        Row("two matches, both hold", "a1190138a103a2 01622f6c 02636d3473", .uri, nil),
        Row("two matches, one fails", "a1190138a103a2 01622f6c 0263 6d3474", .uri, .uriMismatch),
        Row("contains", "a1190138a103a103 642f746e74", .uri, nil),
        Row("does not contain", "a1190138a103a103 642f746e78", .uri, .uriMismatch),
        Row("number", "a1190138a103a10001", .uri, .malformed),
        Row("digest as text", "a1190138a103a12061 61", .uri, .malformed),
        Row("digest of 31 bytes", "a1190138a103a120581f" + String(repeating: "00", count: 31), .uri, .malformed),
        Row("not a map", "a119013801", .uri, .malformed),
        Row("text component", "a1190138a16161a10060", .uri, .claimUnsupported),
        Row("pattern", "a1190138a103a10469 2f6c6976652f2e2a24", .uri, nil),
        Row("pattern in a list", "a1190138a103a10482692f6c6976652f2e2a2460", .uri, nil),
        Row("pattern that is not found", "a1190138a103a104625e61", .uri, .uriMismatch),
        Row("escaped digit", "a1190138a103a104655c312e2a61", .uri, .claimUnsupported),
        Row("five patterns", "a1190138a5" + (0...4).map { "0\($0)a1046161" }.joined(), .uri, .tooLarge),
        Row("pattern of 513 bytes", "a1190138a103a104790201" + String(repeating: "61", count: 513), .uri, .tooLarge),
    ]

    static let networkRows: [Row] = [
        Row("address", "a119013781d83444cb007109", .networks, nil),
        Row("another address", "a119013781d83444cb00710a", .networks, .addressMismatch),
        Row("unknown", "a119013781d83444cb007109", .networks, .contextMissing) { $0.clientAddress = nil },
        Row("prefix", "a119013781d83482181843cb0071", .networks, nil),
        Row("prefix of /8", "a119013781d834820841cb", .networks, nil),
        Row("prefix of /0", "a119013781d834820040", .networks, nil),
        Row("prefix /0 of IPv6", "a119013781d836820040", .networks, .addressMismatch),
        Row("mapped address", "a119013781d83650" + "00000000000000000000ffffcb007109", .networks, nil),
        Row("IPv6", "a119013781d83682182044 20010db8", .networks, nil) { $0.clientAddress = IPAddress("2001:db8::1") },
        Row("other IPv6", "a119013781d83682182044 20010db8", .networks, .addressMismatch) {
            $0.clientAddress = IPAddress("2001:db9::1")
        },
        Row("system", "a11901378119fbf4", .networks, nil) { $0.clientASN = 64500 },
        Row("another system", "a11901378119fbf4", .networks, .addressMismatch) { $0.clientASN = 64501 },
        Row("unknown system", "a11901378119fbf4", .networks, .contextMissing),
        Row("system or address", "a11901378219fbf4d83444cb007109", .networks, nil),
        Row("trailing zero byte", "a119013781d834821043cb0000", .networks, .malformed),
        Row("unused bits", "a119013781d834820741cb", .networks, .malformed),
        Row("/33", "a119013781d83482182141cb", .networks, .malformed),
        Row("address with prefix", "a119013781d8348244cb0071091818", .networks, .malformed),
        Row("untagged address", "a11901378144cb007109", .networks, .malformed),
        Row("range of systems", "a11901378182 0102", .networks, .malformed),
        Row("system 0", "a11901378100", .networks, .malformed),
        Row("map", "a1190137a0", .networks, .malformed),
        Row("empty list", "a119013780", .networks, .malformed),
        Row("address of 3 bytes", "a119013781d83443cb0071", .networks, .malformed),
    ]

    static let headerRows: [Row] = [
        Row("prefix", "a119013ba16a557365722d4167656e74a1016e4578616d706c65506c617965722f", .headers, nil),
        Row("another value", "a119013ba16a757365722d6167656e74a1006161", .headers, .headerMismatch),
        Row("absent field", "a119013ba16161a10060", .headers, .headerMismatch),
        Row("empty field", "a119013ba165456d707479a10060", .headers, nil),
        Row("lines are joined", "a119013ba165 4c696e6573a10064612c2062", .headers, nil),
        Row("unknown", "a119013ba16161a10060", .headers, .contextMissing) { $0.headers = nil },
        Row("host", "a119013ba164486f7374a10060", .headers, .claimUnsupported),
        Row("cookie", "a119013ba166636f6f6b6965a10060", .headers, .claimUnsupported),
        Row("forwarded", "a119013ba16f582d466f727761726465642d466f72a10060", .headers, .claimUnsupported),
        Row("not a name", "a119013ba1626120a10060", .headers, .malformed),
        Row("numeric name", "a119013ba101a10060", .headers, .malformed),
        Row("empty map", "a119013ba0", .headers, .malformed),
        Row("unknown match", "a119013ba16161a1076161", .headers, .claimUnsupported),
        Row(
            "17 names",
            "a119013bb1" + (0..<17).map { "62" + [UInt8(0x61), 0x61 + UInt8($0)].hexadecimal + "a10060" }.joined(),
            .headers,
            .tooLarge
        ),
    ]

    static let tlsRows: [Row] = [
        Row("h2", "a119013a8242683248687474702f312e31", .alpn, nil),
        Row("h3", "a119013a81426833", .alpn, .tlsMismatch),
        Row("no ALPN", "a119013a81426832", .alpn, .tlsMismatch) { $0.alpn = .none },
        Row("unknown", "a119013a81426832", .alpn, .contextMissing) { $0.alpn = .unknown },
        Row("text", "a119013a81626832", .alpn, .malformed),
        Row("empty list", "a119013a80", .alpn, .malformed),
        Row("key", "a119013f43010203", .clientKey, nil),
        Row("another key", "a119013f43010204", .clientKey, .tlsMismatch),
        Row("no key", "a119013f43010203", .clientKey, .tlsMismatch) { $0.clientKey = .none },
        Row("unknown", "a119013f43010203", .clientKey, .contextMissing) { $0.clientKey = .unknown },
        Row("text", "a119013f63616263", .clientKey, .malformed),
        Row("empty", "a119013f40", .clientKey, .malformed),
    ]

    static let placeRows: [Row] = [
        Row("country", "a119013c826255536555532d4341", .countries, nil),
        Row("in lower case", "a119013c81627573", .countries, nil),
        Row("another country", "a119013c816246 52", .countries, .locationMismatch),
        Row("unknown", "a119013c81625553", .countries, .contextMissing) { $0.countries = nil },
        Row("number", "a119013c8101", .countries, .malformed),
        Row("empty list", "a119013c80", .countries, .malformed),
        Row("geohash", "a119011a6475347072", .geohash, .locationMismatch),
        Row("own geohash as text", "a119011a6439713879", .geohash, nil),
        Row("own geohash in a list", "a119011a82617a6439713879", .geohash, nil),
        Row("letter a", "a119011a6161", .geohash, .malformed),
        Row("13 characters", "a119011a6d" + String(repeating: "39", count: 13), .geohash, .malformed),
        Row("unknown", "a119011a6439713879", .geohash, .contextMissing) { $0.position = nil },
        Row("tag", "a119011ad90117 6439713879", .geohash, .claimUnsupported),
        Row("circle", "a119013d8183 fb4042e32fec56d5d0 fbc05e9ad77318fc50 1903e8", .coordinates, nil),
        Row("circle elsewhere", "a119013d818300001903e8", .coordinates, .locationMismatch),
        Row("unknown", "a119013d818300001903e8", .coordinates, .contextMissing) { $0.position = nil },
        Row("latitude 91", "a119013d8183185b 001903e8", .coordinates, .malformed),
        Row("two numbers", "a119013d81820000", .coordinates, .malformed),
        Row("altitude", "a119013e820102", .altitude, .claimUnsupported),
    ]

    static let otherRows: [Row] = [
        Row("any number of uses", "a119013400", .replay, nil),
        Row("one use without a store", "a119013401", .replay, .replayed),
        Row("watched without a detector", "a119013402", .replay, .claimUnsupported),
        Row("3", "a119013403", .replay, .malformed),
        Row("text", "a11901346131", .replay, .malformed),
        Row("without a list", "a119013583fb3f847ae147ae147b44677270311a72bd3950", .rejection, .claimUnsupported),
        Row("probability 2", "a1190135820241 61", .rejection, .malformed),
        Row("text as id", "a119013582006161", .rejection, .malformed),
        Row("without proof", "a108a11901435820" + String(repeating: "00", count: 32), .confirmation, .proofMissing),
        Row("a COSE key", "a108a101a0", .confirmation, .claimUnsupported),
        Row("two members", "a108a206000700", .confirmation, .claimUnsupported),
        Row(
            "thumbprint of 31 bytes",
            "a108a1190143581f" + String(repeating: "00", count: 31),
            .confirmation,
            .malformed
        ),
        Row("number", "a10801", .confirmation, .malformed),
        Row("unknown critical setting", "a1190141a1208105", .possession, .claimUnsupported),
        Row("known critical setting", "a1190141a1208100", .possession, .malformed),
        Row("window of 0 seconds", "a1190141a10000", .possession, .malformed),
        Row("window alone", "a1190141a20019012c0101", .possession, nil),
        Row("version 2", "a119013602", .version, .versionUnsupported),
        Row("answers", "a1190142a10482190133a1684c6f636174696f6e6161", .answers, nil),
        Row("324", "a119014401", ClaimLabel(324), .claimUnsupported),
        Row("of a vendor", "a1190191a0", ClaimLabel(401), .claimUnsupported),
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

        let refusal = try CATSample.verifier(policy: policy).check(token, facts, at: CATSample.time(1)).refusal
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
            let verdict = try CATSample.verifier().check(token, try CATSample.facts(), at: CATSample.time(1))
            #expect(verdict.refusal?.code == .malformed, "\(row.testDescription)")
        }
    }
}
