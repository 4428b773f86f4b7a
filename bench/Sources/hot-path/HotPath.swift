// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Glibc
import MediaResources
import MediaTokens

/// Measures the hot path against its limits: rounds of each in turn, so that a slow moment of the machine hits all,
/// and the median of the ratios of the rounds.
///
/// Usage: `hot-path [ROUNDS]`, 41 by default; `hot-path --gate` fails where a limit is passed (with room for the noise of
/// a shared machine, but for allocations, which are exact); `hot-path 1 ROW` measures the rows that contain ROW, as for callgrind with
/// `--toggle-collect='*measured*'`.
@main
struct HotPath {
    static func main() throws {
        let isGate = CommandLine.arguments.contains("--gate")
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 41
        let faults = try verification(rounds) + resources(rounds)
        guard isGate else { return }
        for fault in faults { print("gate: \(fault)") }
        print(faults.isEmpty ? "gate: all within their limits" : "gate: \(faults.count) failed")
        exit(faults.isEmpty ? 0 : 1)
    }

    static func verification(_ rounds: Int) throws -> [String] {
        let now = Timestamp(millisecondsSince1970: 1_925_114_645_000)
        let keys = try DevelopmentKeys(at: now)
        let trust = try TrustStore([.pem(keys.signerCertificate, name: "signer")], at: now)
        let policy = try VerificationPolicy(requestor: "REF30")
        let issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
        let guid = "00112233445566778899aabbccddeeff"
        let claims = TokenClaims(
            requestorID: "REF30",
            resourceID: "TNT",
            mvpdID: "SandboxMVPD",
            userSessionGUID: guid
        )
        let issued = try issuer.issue(claims, at: now)
        let token = [UInt8](issued.serialized.utf8)
        let parts = issued.raw.split(separator: "<signatureInfo>")
        let body = [UInt8](parts[1].utf8)
        let signature = decodeBase64(parts[0])
        let resource = try MediaResource("TNT")
        let verifier = Verifier(trust: trust, policy: policy)
        let caching = Verifier(trust: trust, policy: policy, cache: AuthenticatedTokenCache())
        guard verifier.verify(token.span, for: resource, at: now).isValid,
            caching.verify(token.span, for: resource, at: now).isValid, let rsa = limits_rsa_new(keys.signerCertificate)
        else { fatalError("the fixture does not verify") }

        print("RSA-2048, \(token.count) characters of Base64, \(body.count) signed bytes; \(rounds) rounds")
        let table = Table(rounds)
        table.measure("SHA-256 + EVP_PKEY_verify, reused contexts", 300) { n in
            precondition(limits_rsa_reused(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
        }
        table.measure("EVP_DigestVerify, a new context each", 300) { n in
            precondition(limits_rsa_naive(rsa, body, body.count, signature, signature.count, Int32(n)) == n)
        }
        table.measure("whole verification", 300) { n in
            for _ in 0..<n { precondition(verifier.verify(token.span, for: resource, at: now).isValid) }
        }
        let raw = [UInt8](issued.raw.utf8)
        table.measure("whole verification, raw token", 300) { n in
            for _ in 0..<n { precondition(verifier.verify(raw.span, for: resource, at: now).isValid) }
        }
        table.measure("cache hit", 3000) { n in
            for _ in 0..<n { precondition(caching.verify(token.span, for: resource, at: now).isValid) }
        }
        table.run()
        let (limit, whole, hit) = (table["SHA-256"], table["whole verification"], table["cache hit"])
        return table.faults([
            ("whole verification / bare check", whole.ratio, 1.15),
            ("cache hit / whole verification", hit.ratio / whole.ratio, 1.0 / 40),
            ("allocations of a verification beyond OpenSSL's", whole.allocations - limit.allocations, 2),
            ("allocations of a cache hit", hit.allocations, 0),
        ])
    }

    static func resources(_ rounds: Int) throws -> [String] {
        let fragment = """
            <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item>\
            <title>Example Show, 1</title><guid>1234567</guid><media:rating scheme="urn:v-chip">TV-PG</media:rating>\
            </item></channel></rss>
            """
        let bytes = [CChar](fragment.utf8.map { CChar(bitPattern: $0) })
        let left = try MediaResource(fragment)
        let right = try MediaResource(fragment.replacing("Example", with: "<![CDATA[Example]]>"))
        let other = try MediaResource(fragment.replacing("TV-PG", with: "TV-MA"))
        let plain = try MediaResource("TNT")
        precondition(left.covers(right) && !left.covers(other))
        print("\nMedia RSS fragment of \(bytes.count) bytes; \(rounds) rounds")
        let table = Table(rounds)
        table.measure("xmlTextReader, reused", 1000) { n in
            precondition(limits_xml_reader(bytes, bytes.count, Int32(n)) > n)
        }
        table.measure("MediaResource from a fragment", 1000) { n in
            for _ in 0..<n { precondition((try? MediaResource(fragment)) != nil) }
        }
        table.measure("match, equal but spelt differently", 10_000) { n in
            for _ in 0..<n { precondition(left.covers(right)) }
        }
        table.measure("match, rating differs", 10_000) { n in
            for _ in 0..<n { precondition(!left.covers(other)) }
        }
        table.measure("match, plain identifier", 10_000) { n in
            for _ in 0..<n { precondition(plain.mismatch(withGranted: "TNT") == nil) }
        }
        table.run()
        let match = table["match, equal"]
        return table.faults([
            ("fragment / libxml2's reader", table["MediaResource"].ratio, 2.2),
            ("match / libxml2's reader", match.ratio, 0.15),
            ("allocations of a match", match.allocations, 0),
            ("allocations of a match that differs", table["match, rating"].allocations, 0),
        ])
    }

    private static func decodeBase64(_ text: some StringProtocol) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var bytes: [UInt8] = []
        var (group, bits) = (UInt32(0), 0)
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { break }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
            }
        }
        return bytes
    }
}

/// Things measured in turn, the first of which is the limit.
final class Table {
    private let rounds: Int
    private var rows: [(name: String, count: Int, body: (Int) -> Void)] = []
    private var results: [(name: String, ratio: Double, allocations: Double)] = []

    init(_ rounds: Int) { self.rounds = rounds }

    func measure(_ name: String, _ count: Int, _ body: @escaping (Int) -> Void) { rows.append((name, count, body)) }

    func run() {
        var times = [[Double]](repeating: [], count: rows.count)
        var ratios = times
        if CommandLine.arguments.count > 2 {
            rows.removeAll { !$0.name.contains(CommandLine.arguments[2]) }
            guard !rows.isEmpty else { return }
        }
        for row in rows { row.body(row.count) }
        for _ in 0..<rounds {
            var limit = 0.0
            for (index, row) in rows.enumerated() {
                let start = limits_now()
                measured(row.body, row.count)
                let time = Double(limits_now() - start) / Double(row.count)
                if index == 0 { limit = time }
                times[index].append(time)
                ratios[index].append(time / limit)
            }
        }
        print(pad("", 46), "      ns   ratio  allocations")
        for (index, row) in rows.enumerated() {
            let before = limits_allocations()
            row.body(row.count)
            let allocations = Double(limits_allocations() - before) / Double(row.count)
            results.append((row.name, median(ratios[index]), allocations))
            print(
                pad(row.name, 46),
                pad(fixed(median(times[index]), 1), -8),
                pad(fixed(median(ratios[index]), 4), -7),
                pad(fixed(allocations, 2), -12)
            )
        }
    }

    /// What the first row whose name begins with `name` gave.
    subscript(name: String) -> (ratio: Double, allocations: Double) {
        results.first { $0.name.hasPrefix(name) }.map { ($0.ratio, $0.allocations) } ?? (.infinity, .infinity)
    }

    /// What is above its limit, in words.
    func faults(_ limits: [(name: String, value: Double, limit: Double)]) -> [String] {
        // Rows that were left out give no figure.
        limits.filter { $0.value > $0.limit && $0.value.isFinite }.map {
            "\($0.name): \(fixed($0.value, 3)), at most \(fixed($0.limit, 3))"
        }
    }

    @inline(never)
    private func measured(_ body: (Int) -> Void, _ count: Int) { body(count) }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private func fixed(_ value: Double, _ places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
        let whole = Int((value * scale).rounded())
        let digits = String(whole % Int(scale))
        return "\(whole / Int(scale))." + String(repeating: "0", count: places - digits.count) + digits
    }

    private func pad(_ text: String, _ width: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? spaces + text : text + spaces
    }
}
