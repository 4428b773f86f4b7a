// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Keys

@testable import Encodings

extension Target {
    private static let binding = KeyBinding(issuer: "issuer", format: .cat, leniency: [.shortMAC, .textKeyID])

    /// Envelopes: what is parsed has its parts within its bytes and in order. None is verified with a key of the run, whose
    /// secret the input does not have; one that is signed with it is, and with a byte changed is not.
    static let cose = Target(name: "cose") { input in
        var input = input
        let choice = input.choice()
        let bytes = input.bytes
        if case .success(let message) = COSEMessage.parse(bytes.span) {
            demand(message.payload.upperBound < message.signature.lowerBound, or: "parts of \(bytes.debugText)")
            demand(message.signature.upperBound == bytes.count, or: "the end of \(bytes.debugText)")
            demand(
                message.keyID.map { $0.upperBound <= message.payload.lowerBound } ?? true,
                or: "identifier in \(bytes.debugText)"
            )
        }
        if case .verified = secrets.verify(cose: bytes.span, at: Timestamp(secondsSince1970: 0)) {
            demand(false, or: "verified: \(bytes.debugText)")
        }
        guard bytes.count < 3000, let key = secrets.keys.first, var token = try? key.signCOSE(bytes) else { return }
        guard case .verified(_, let payload) = secrets.verify(cose: token.span, at: Timestamp(secondsSince1970: 0))
        else {
            return demand(false, or: "not verified: \(token.debugText)")
        }
        demand(token[payload].elementsEqual(bytes), or: "the payload of \(token.debugText)")
        token[Int(choice) % token.count] ^= choice | 1
        if case .verified = secrets.verify(cose: token.span, at: Timestamp(secondsSince1970: 0)) {
            demand(false, or: "verified with a byte changed: \(token.debugText)")
        }
    }

    private static let secrets: KeySet = {
        let keys = try? [KeyAlgorithm.hs256].map { try TokenKey.generate($0, id: KeyID("k"), binding: binding).key }
        guard let keys, let set = try? KeySet(keys) else { fatalError("no key") }
        return set
    }()

    /// Key sets: what was read and is published is read as the same keys, in both notations.
    static let keyset = Target(name: "keyset") { input in
        let bytes = input.bytes
        for source in [KeySetSource.published, .local] {
            guard let reading = try? KeySetReading(bytes, source: source, binding: binding) else { continue }
            guard let set = try? KeySet(reading.keys) else { return demand(false, or: "no set: \(bytes.debugText)") }
            for published in [[UInt8](set.publishedJWKSet.utf8), set.publishedCOSEKeySet] {
                guard let again = try? KeySetReading(published, source: .published, binding: binding),
                    let copy = try? KeySet(again.keys)
                else { continue }
                let isWhole = again.keys.count == reading.keys.count && again.skipped.isEmpty
                guard isWhole else { continue }
                demand(copy.publishedJWKSet == set.publishedJWKSet, or: "another set: \(bytes.debugText)")
                demand(copy.publishedCOSEKeySet == set.publishedCOSEKeySet, or: "another COSE set: \(bytes.debugText)")
            }
        }
    }
}
