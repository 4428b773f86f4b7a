// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import JWTKit

/// The part of jwt-kit in `bench/formats`.
///
/// Usage: `formats FOLDER`, with the protocol of Playgate's program of the same name. It verifies signature, expiry and audience,
/// and leaves the URI to its caller.
@main
struct Formats {
    struct SignedURI: JWTPayload {
        let iss: IssuerClaim
        let aud: AudienceClaim
        let exp: ExpirationClaim
        let nbf: NotBeforeClaim
        let iat: IssuedAtClaim
        let cdniv: Int
        let cdniuc: String
        let cdniets: Int
        let cdnistt: Int
        let cdnistd: Int

        func verify(using _: some JWTAlgorithm) async throws {
            try exp.verifyNotExpired()
            try nbf.verifyNotBefore()
            try aud.verifyIntendedAudience(includes: "edge-1")
        }
    }

    struct MediaToken: JWTPayload {
        let sessionGUID: String
        let requestorID: String
        let resourceID: String
        let ttl: Int
        let issueTime: Int
        let mvpdId: String

        func verify(using _: some JWTAlgorithm) async throws {}
    }

    typealias Work = (name: String, body: @Sendable (Int) async throws -> Void)

    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let read = { (name: String) in try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) }
        let secret = HMACKey(from: try read("secret"))
        let key = try ES256PrivateKey(pem: try read("ec.pem"))
        var works: [Work] = []
        for name in ["hs256", "es256"] {
            let keys = JWTKeyCollection()
            if name == "hs256" {
                await keys.add(hmac: secret, digestAlgorithm: .sha256, kid: "bench")
            } else {
                await keys.add(ecdsa: key, kid: "bench")
            }
            let token = try read("uri-\(name)")
            let payload = try await keys.verify(token, as: SignedURI.self)
            works.append(
                (
                    "uri-\(name) jwt-kit",
                    { n in for _ in 0..<n { _ = try await keys.verify(token, as: SignedURI.self) } }
                )
            )
            works.append(
                (
                    "issue-uri-\(name) jwt-kit",
                    { n in for _ in 0..<n { _ = try await keys.sign(payload, kid: "bench") } }
                )
            )
        }
        let keys = await JWTKeyCollection().add(ecdsa: key)
        let token = try read("media-es256")
        works.append(
            ("media-es256 jwt-kit", { n in for _ in 0..<n { _ = try await keys.verify(token, as: MediaToken.self) } })
        )
        try await serve(works)
    }

    private static func serve(_ works: [Work]) async throws {
        for work in works { print(work.name) }
        print()
        fflush(nil)
        while let line = readLine() {
            let words = line.split(separator: " ")
            guard words.count == 3, let seconds = Double(words[2]),
                let work = works.first(where: { $0.name == "\(words[0]) \(words[1])" })
            else { fatalError("no such work: \(line)") }
            var count = 1
            while try await time(of: work, count: count) < 2_000_000 { count *= 2 }
            var (used, total) = (UInt64(0), 0)
            while Double(used) < seconds * 1e9 {
                used += try await time(of: work, count: count)
                total += count
            }
            print(Double(used) / Double(total))
            fflush(nil)
        }
    }

    private static func time(of work: Work, count: Int) async throws -> UInt64 {
        let start = used()
        try await work.body(count)
        return used() - start
    }

    /// Returns the nanoseconds of processor time of this process.
    private static func used() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
