// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import Foundation
import Keys
import MediaResources

/// Writes grants for throughput measurements, one a line, each of a session of its own, as a gate issues them by HS256.
///
/// `grant-cookies SECRET-FILE COUNT SECONDS`: they expire in SECONDS, and are renewed in their last 120.
@main
struct GrantCookies {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[2]), let seconds = Int64(arguments[3]),
            let text = try? String(contentsOfFile: arguments[1], encoding: .utf8),
            let secret = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            FileHandle.standardError.write(Data("usage: grant-cookies SECRET-FILE COUNT SECONDS\n".utf8))
            exit(64)
        }
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let issuer = try CATIssuer(key: try TokenKey(secret: [UInt8](secret), id: KeyID("bench"), binding: binding))
        let now = Int64(Date().timeIntervalSince1970)
        var claims = CATClaims()
        claims.expires = Timestamp(secondsSince1970: now + seconds)
        claims.notBefore = Timestamp(secondsSince1970: min(now, now + seconds - 300))
        claims.issued = claims.notBefore
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        claims.methods = ["GET", "HEAD"]
        var renewal = CATRenewal(.cookie, life: 300, deadline: 120)
        renewal.cookieAttributes = ["Path=/live/tnt/", "Secure", "HttpOnly", "SameSite=None"]
        claims.renewal = renewal
        // The gates of the benchmarks have one secret for all.
        let subjectKey = try SubjectKey([UInt8](secret))
        claims.protection = subjectKey.protectionTag(
            requestor: "REF30",
            resource: try MediaResource("TNT").canonicalForm
        )
        claims.profile = "live"
        let start = Timestamp(secondsSince1970: now - 600)
        var lines = ""
        for number in 0..<count {
            let tags = (0..<3).map { SubjectTag(number: UInt128(number * 3 + $0 + 1) << 64 | UInt128(seconds)) }
            claims.session = PlaybackSession(
                id: SessionID(number: UInt128(number + 1) << 64 | UInt128(seconds)),
                end: Timestamp(secondsSince1970: now + 36_000),
                revocation: .init(issued: start, tags: tags)
            )
            lines += try issuer.issue(claims).token + "\n"
        }
        FileHandle.standardOutput.write(Data(lines.utf8))
    }
}
