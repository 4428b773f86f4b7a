// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import Testing
import URISigning

@testable import EdgeTokens

@Suite struct `Damaged signed URIs` {
    @Test func `every change of one character is refused`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        let text = [UInt8](SignedSample.token.utf8)
        for index in text.indices {
            for other in [UInt8(ascii: "A"), UInt8(ascii: "_"), UInt8(ascii: "."), text[index] ^ 1, text[index] ^ 0x80]
            where other != text[index] {
                var changed = text
                changed[index] = other
                #expect(
                    !verifier.verify(changed.span, for: facts, at: SignedSample.time(1)).isAllowed,
                    "\(index) \(other)"
                )
            }
            var shorter = text
            shorter.remove(at: index)
            #expect(!verifier.verify(shorter.span, for: facts, at: SignedSample.time(1)).isAllowed)
            var longer = text
            longer.insert(text[index], at: index)
            #expect(!verifier.verify(longer.span, for: facts, at: SignedSample.time(1)).isAllowed)
        }
    }

    @Test func `none of 20,000 random mutations is accepted`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        let text = [UInt8](SignedSample.token.utf8)
        var random = SplitMix64(seed: 18)
        var accepted = 0
        for _ in 0..<20_000 {
            var changed = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                guard !changed.isEmpty else { break }
                let index = Int.random(in: changed.indices, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: changed[index] = .random(in: 0...255, using: &random)
                case 1: changed.remove(at: index)
                case 2: changed.insert(.random(in: 0x20..<0x7F, using: &random), at: index)
                case 3: changed.swapAt(index, Int.random(in: changed.indices, using: &random))
                default:
                    changed.removeSubrange(index..<min(changed.count, index + Int.random(in: 1...40, using: &random)))
                }
            }
            guard changed != text else { continue }
            accepted += verifier.verify(changed.span, for: facts, at: SignedSample.time(1)).isAllowed ? 1 : 0
        }
        #expect(accepted == 0)
        #expect(verifier.verify(text.span, for: facts, at: SignedSample.time(1)).isAllowed)
    }

    @Test func `random claims with a good signature are judged, and never crash`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        let text = [UInt8](SignedSample.payload.utf8)
        var random = SplitMix64(seed: 19)
        let pieces: [[UInt8]] = ["\"", "{", "}", "[", "]", ",", ":", "1e999", "-", "\\u0000", "\\ud800", "null", "exp"]
            .map { [UInt8]($0.utf8) }
        for _ in 0..<5000 {
            var changed = text
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: changed.indices, using: &random)
                let piece = random.pick(pieces)
                changed.replaceSubrange(
                    index..<min(changed.count, index + Int.random(in: 0...3, using: &random)),
                    with: piece
                )
            }
            let token = try SignedSample.key().signJWS(changed)
            _ = verifier.check(token, for: facts, at: SignedSample.time(1))
        }
    }

    @Test func `respelled tokens are refused by name`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        let parts = SignedSample.token.split(separator: ".").map(String.init)
        let rows: [(String, GrantCode)] = [
            ("", .malformed), (".", .malformed), ("..", .malformed), ("a.b.c.d", .malformed), ("a.b.c.d.e", .malformed),
            (SignedSample.token + "=", .malformed), (SignedSample.token + ".", .malformed),
            (parts[0] + "." + parts[1], .malformed), (parts[0] + "." + parts[1] + ".", .malformed),
            (parts[0] + "=." + parts[1] + "." + parts[2], .malformed), (" " + SignedSample.token, .malformed),
            (SignedSample.token.replacing("_", with: "/"), .malformed),
            (String(SignedSample.token.dropLast()) + "x", .malformed),
            (String(repeating: "a", count: 8193), .tooLarge), (String(repeating: "a", count: 1100) + ".b.c", .tooLarge),
        ]
        for (token, code) in rows {
            #expect(
                verifier.check(token, for: facts, at: SignedSample.time(1)).refusal?.code == code,
                "\(token.prefix(60))"
            )
        }
    }
}
