// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Testing

@testable import Keys

/// The vectors of Wycheproof for JSON Web Signatures: published attacks and mistakes of implementations.
@Suite struct `Wycheproof's vectors of JSON Web Signatures` {
    struct Vector: CustomTestStringConvertible {
        let id: Int
        let comment: String
        let token: String
        let isValid: Bool
        let key: JSON

        var testDescription: String { "\(id) \(comment)" }
    }

    private static let vectors = Result { () throws(any Error) in
        let data = try Data(contentsOf: URL(filePath: repository + "/Tests/KeysTests/Vectors/wycheproof-jws.json"))
        let limits = JSONLimits(depth: 16, members: 64, elements: 4096)
        let document = try JSONReader.read([UInt8](data).span, limits: limits)
        return try #require(document["groups"]?.values).flatMap { group in
            try #require(group["tests"]?.values).map { test in
                let parts = try #require(test.values)
                guard case .number(let id) = parts[0] else { throw CancellationError() }
                return Vector(
                    id: Int(id),
                    comment: parts[1].text ?? "",
                    token: parts[2].text ?? "",
                    isValid: parts[3].text == "valid",
                    key: try #require(group["key"])
                )
            }
        }
    }

    /// Returns true if a token is verified by the vector's key, be it one that only a file of one's own may have.
    private static func isVerified(_ vector: Vector) -> Bool {
        let set = JSON.object([("keys", .array([vector.key]))]).line
        guard
            let keys = try? KeySetReading(
                jwkSet: [UInt8](set.utf8),
                source: .local,
                binding: KeyBinding(issuer: "https://id.example", format: .uriSigning, rsaAlgorithm: .rs256)
            ).keys,
            let set = try? KeySet(keys)
        else { return false }
        if case .verified = set.verify(jws: vector.token.utf8.span, at: GateSample.time) { return true }
        return false
    }

    /// Vectors whose text contradicts their label: 367 and 370 have the very token of 357, which is valid; 372 and 373 have a
    /// `?`, which no Base64 has; 346 and 350 name PS384, and their key is one for PS256.
    private static let mislabelled: Set = [346, 350, 367, 370, 372, 373]

    /// True if a valid token is refused because its algorithm is not supported, or its key may not verify.
    private static func isStricter(_ vector: Vector) -> Bool {
        let algorithm = vector.key["alg"]?.text.flatMap { KeyAlgorithm(name: $0) }
        guard algorithm != nil else { return true }
        return vector.key["use"]?.text == "enc"
    }

    @Test func `no wrong token is verified, and each good one of a supported algorithm is`() throws {
        var (wrong, good, stricter) = (0, 0, 0)
        for vector in try Self.vectors.get() {
            let isVerified = Self.isVerified(vector)
            if vector.isValid == Self.mislabelled.contains(vector.id) {
                #expect(!isVerified, "\(vector.testDescription)")
                wrong += 1
            } else if Self.isStricter(vector) {
                #expect(!isVerified, "\(vector.testDescription)")
                stricter += 1
            } else {
                #expect(isVerified, "\(vector.testDescription)")
                good += 1
            }
        }
        #expect(wrong + good + stricter == 401 && wrong > 350 && good > 15, "\(wrong) \(good) \(stricter)")
    }
}
