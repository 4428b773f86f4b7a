// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import EdgeTokens
import MediaResources
import MediaTokens
import PlaybackGate
import ReplayStores

/// Runs one part of the hot path a given number of times with a given key and token, for `bench/instructions` to count.
/// Nothing in it differs between runs, and it does not use Foundation.
///
/// Usage: `fixed-work PART COUNT CERTIFICATE-FILE TOKEN-FILE RAW-TOKEN-FILE`
@main
enum FixedWork {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 6, let count = Int(arguments[2]) else { fatalError("see the usage in the source") }
        let certificate = String(decoding: bytes(of: arguments[3]), as: UTF8.self)
        if let work = try GrantWork.part(arguments[1]) { return run(work, part: arguments[1], count: count) }
        if let work = try SignedURIWork.part(arguments[1]) { return run(work, part: arguments[1], count: count) }
        let (token, raw) = (bytes(of: arguments[4]), bytes(of: arguments[5]))
        let now = Timestamp.now()
        let trust = try TrustStore([.pem(certificate, name: "signer")], at: now)
        let policy = try VerificationPolicy(requestor: "REF30")
        let resource = try MediaResource("TNT")
        let verifier = Verifier(trust: trust, policy: policy)
        let caching = Verifier(trust: trust, policy: policy, cache: AuthenticatedTokenCache())
        let text = String(decoding: token, as: UTF8.self)

        let work: () -> Bool
        switch arguments[1] {
        case "verification": work = { verifier.verify(token.span, for: resource, at: now).isValid }
        case "verification-raw": work = { verifier.verify(raw.span, for: resource, at: now).isValid }
        case "cache-hit": work = { caching.verify(token.span, for: resource, at: now).isValid }
        case "decision", "decision-cached":
            let gate = Gate(
                catalogue: try catalogue(resource),
                verifier: arguments[1] == "decision" ? verifier : caching,
                store: MemoryReplayStore(capacity: 100)
            )
            let request = PlaybackRequest(.path("/live/tnt/low/seg1.ts"), token: text)
            work = {
                if case .decided(let decision) = gate.begin(request, at: now) { decision.isAllowed } else { false }
            }
        case "forged":
            var forged = raw
            forged[forged.count - 40] ^= 1
            let token = forged
            work = { verifier.verify(token.span, for: resource, at: now).reason == .untrustedSignature }
        case "revocation":
            let revocationCache = try revocations(at: now)
            let tags = (0..<64).map { SubjectTag(number: UInt128($0 &* 0x9E37_79B9_7F4A_7C15)) }
            work = { tags.allSatisfy { !revocationCache.isRevoked($0, issued: now) } }
        case "fragment": work = { (try? MediaResource(fragment)) != nil }
        case "match":
            let (left, right) = (
                try MediaResource(fragment), try MediaResource(fragment.replacing("<channel>", with: "<channel >"))
            )
            work = { left.covers(right) }
        default: fatalError("no such part: \(arguments[1])")
        }
        run(work, part: arguments[1], count: count)
    }

    private static func run(_ work: () -> Bool, part: String, count: Int) {
        for _ in 0..<count { precondition(work(), "\(part) went wrong") }
    }

    private static func catalogue(_ resource: MediaResource) throws -> Catalogue {
        var catalogue = Catalogue()
        let protection = Catalogue.Entry.Protection.resource(resource, requestor: "REF30")
        let path = Catalogue.Entry.Key.path(try PathPattern("/live/tnt/"))
        try catalogue.add(Catalogue.Entry(key: path, protection: protection, use: .withinTTL))
        return catalogue
    }

    /// A mirror of 1,000 revocations.
    private static func revocations(at now: Timestamp) throws -> RevocationCache {
        let key = try SubjectKey([UInt8](repeating: 7, count: 32))
        let revocationCache = RevocationCache { key.tag(storeKey: $0.bytes) }
        for number in 0..<1000 {
            let digits = String(number + 0x1000, radix: 16)
            guard let digest = TokenFingerprint(hexadecimal: String(repeating: digits, count: 16)) else {
                fatalError("no digest")
            }
            revocationCache.add(Revocation(.token(digest), expires: now), at: now)
        }
        return revocationCache
    }

    private static let fragment = """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item>\
        <title>Example Show, 1</title><guid>1234567</guid><media:rating scheme="urn:v-chip">TV-PG</media:rating>\
        </item></channel></rss>
        """

    /// Returns the bytes of a file without trailing line ends.
    private static func bytes(of path: String) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = limits_read(path, &bytes, bytes.count)
        guard count >= 0 else { fatalError("\(path) cannot be read") }
        bytes.removeLast(bytes.count - count)
        while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }
}
