// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Testing

/// Many more tasks than slots: some use a context of their own.
@Suite struct `Concurrency of kept contexts` {
    @Test func `gives every thread the same authentication codes`() async throws {
        let key = try HMACKey([UInt8](repeating: 7, count: 32), function: .sha256)
        let messages = (0..<64).map { number in [UInt8](repeating: UInt8(number), count: number) }
        let codes = messages.map { key.code(of: $0) ?? [] }
        await withTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<200 {
                        for (message, code) in zip(messages, codes) {
                            guard key.isValid(code, of: message) else { return false }
                        }
                    }
                    return true
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func `gives every thread the same verdict on signatures`() async throws {
        let key = try PrivateKey(generating: .ellipticCurve(.p256))
        let maker = try #require(SignatureMaker(key, scheme: .es256))
        let verifier = try #require(SignatureVerifier(key.publicKey, scheme: .es256))
        let messages = (0..<8).map { [UInt8]([$0]) }
        let signatures = try messages.map { try maker.sign($0) }
        await withTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    zip(messages, signatures).allSatisfy { verifier.isValid($1, over: $0) }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
