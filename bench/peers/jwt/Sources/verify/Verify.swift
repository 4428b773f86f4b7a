// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import JWTKit

/// Verifies one JWT (RS256) repeatedly and prints verifications a second.
///
/// Usage: `verify PUBLIC-KEY JWT-FILE SECONDS`
@main
struct Verify {
    struct Payload: JWTPayload {
        let iss: IssuerClaim
        let exp: ExpirationClaim
        let resource: String

        func verify(using _: some JWTAlgorithm) async throws { try exp.verifyNotExpired() }
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        let key = try Insecure.RSA.PublicKey(pem: try String(contentsOfFile: arguments[1], encoding: .utf8))
        let token = try String(contentsOfFile: arguments[2], encoding: .utf8)
        let keys = await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha256)
        let limit = Duration.seconds(Double(arguments[3]) ?? 1)
        for _ in 0..<200 { _ = try await keys.verify(token, as: Payload.self) }
        let start = ContinuousClock.now
        var count = 0
        while start.duration(to: .now) < limit {
            for _ in 0..<100 { _ = try await keys.verify(token, as: Payload.self) }
            count += 100
        }
        let (seconds, attoseconds) = start.duration(to: .now).components
        print(Int(Double(count) / (Double(seconds) + Double(attoseconds) / 1e18)))
    }
}
