// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens

/// The tokens that are made from E1 and must be refused, or accepted.
@Suite struct `Changed tokens` {
    /// A change of E1, and the code that it is refused with; `nil` if it is accepted.
    struct Change: CustomTestStringConvertible {
        let testDescription: String
        let code: GrantCode?
        let token: @Sendable () throws -> String
    }

    static let changes: [Change] = [
        Change("last character changed", code: .signatureInvalid) { String(CATSample.e1.dropLast()) + "g" },
        Change("last byte changed", code: .signatureInvalid) { try envelope { $0[$0.count - 1] ^= 1 } },
        Change("payload bit flipped", code: .signatureInvalid) { try envelope { $0[40] ^= 1 } },
        Change("tag 17 to 18", code: .algorithmRefused) { try envelope { $0[2] = 0xD2 } },
        Change("algorithm 5 to 4", code: .algorithmRefused) { try envelope { $0[7] = 4 } },
        Change("algorithm 5 to -7", code: .algorithmRefused) { try envelope { $0[7] = 0x26 } },
        Change("trailing byte", code: .malformed) { try envelope { $0.append(0) } },
        Change("plus for minus", code: .malformed) {
            String(CATSample.e1.replacing(UInt8(ascii: "-"), by: UInt8(ascii: "+")))
        },
        Change("space", code: .malformed) { CATSample.e1 + " " },
        Change("kid in both headers", code: .malformed) {
            try envelope { bytes in
                bytes.replaceSubrange(20...20, with: [0xA1, 0x04, 0x4A] + [UInt8]("pg-2026-11".utf8))
            }
        },
        Change("5,465 characters", code: .tooLarge) { String(repeating: "A", count: 5465) },
        Change("nothing", code: .malformed) { "" },
        Change("expiry twice", code: .malformed) {
            try payload { $0.insert(contentsOf: [4, 0x1A, 0, 0, 0, 1], at: 11) }
        },
        Change("expiry not in shortest form", code: .malformed) {
            try payload { $0.replaceSubrange(12...12, with: [0x1B, 0, 0, 0, 0]) }
        },
        Change("expiry NaN", code: .malformed) {
            try payload { $0.replaceSubrange(12...16, with: [0xFA, 0x7F, 0xC0, 0, 0]) }
        },
        Change("expiry NaN in 64 bits", code: .malformed) {
            try payload { $0.replaceSubrange(12...16, with: [0xFB, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0]) }
        },
        Change("expiry a text", code: .malformed) { try payload { $0.replaceSubrange(12...16, with: [0x61, 0x31]) } },
        Change("version 2", code: .versionUnsupported) { try with { $0.version = 2 } },
        Change("no version", code: nil) { try with { $0.version = nil } },
        Change("another issuer in the payload", code: .issuerRefused) {
            try payload { $0[3] = UInt8(ascii: "q") }
        },
        Change("empty catu", code: .malformed) { try with(removingURI: true, adding: "a1190138a0") },
        Change("component 9", code: .claimUnsupported) {
            try with(removingURI: true, adding: "a1190138a109a100 61 61")
        },
        Change("match 9", code: .claimUnsupported) { try with(removingURI: true, adding: "a1190138a103a1096178") },
        Change("empty component", code: .malformed) { try with(removingURI: true, adding: "a1190138a103a0") },
        Change("empty prefix", code: .malformed) { try with(removingURI: true, adding: "a1190138a103a10160") },
        Change("catnip with tag 53", code: .malformed) { try CATSample.token(adding: "a119013781d83544cb007109") },
        Change("claim 318", code: .claimUnsupported) { try CATSample.token(adding: "a119013e820102") },
        Change("claim 324", code: .claimUnsupported) { try CATSample.token(adding: "a119014401") },
        Change("17 nested arrays in an unknown claim", code: .tooLarge) {
            try CATSample.token(adding: "a119270f" + String(repeating: "81", count: 16) + "00")
        },
        Change("14 nested arrays in an unknown claim", code: nil) {
            try CATSample.token(adding: "a119270f" + String(repeating: "81", count: 14) + "00")
        },
        Change("257 items", code: .tooLarge) {
            try CATSample.token(adding: "a119270f98ff" + String(repeating: "00", count: 255))
        },
        Change("unknown claim 9999", code: nil) { try CATSample.token(adding: "a119270f63616263") },
        Change("unknown text claim", code: nil) { try CATSample.token(adding: "a163616263f6") },
        Change("expiry in floating point", code: nil) {
            try payload { $0.replaceSubrange(12...16, with: [0xFB, 0x41, 0xDC, 0xAF, 0x4B, 0x39, 0, 0, 0]) }
        },
        Change("without the CWT tag", code: nil) { try envelope { $0.removeFirst(2) } },
        Change("tag 17 in two bytes", code: nil) { try envelope { $0.replaceSubrange(2...2, with: [0xD8, 0x11]) } },
        Change("canonical padding", code: nil) { CATSample.e1 },
        Change("kid in the unprotected header alone", code: nil) {
            var issuer = try CATIssuer(key: CATSample.key())
            issuer.form.hasUnprotectedKeyID = true
            return try issuer.issue(CATSample.claims).token
        },
        Change("a renewal that is no map", code: .renewalInvalid) {
            try with(removingRenewal: true, adding: "a119014301")
        },
        Change("a renewal with a map of 2⁶² entries, and more behind it", code: .malformed) {
            try with(removingRenewal: true, adding: "a1190143 a2 08 bb4000000000000000 00 07 00")
        },
        Change("a renewal of null", code: nil) { try with(removingRenewal: true, adding: "a1190143f6") },
        Change("no expiry", code: .malformed) { try with { $0.expires = nil } },
    ]

    @Test(arguments: changes)
    func `have the code of their fault`(change: Change) throws {
        let verdict = try CATSample.verifier().check(
            try change.token(),
            for: try CATSample.facts(),
            at: CATSample.time(1)
        )
        #expect(verdict.refusal?.code == change.code)
    }

    @Test func `every flipped bit of the examples is refused`() throws {
        let verifier = try CATSample.verifier()
        let facts = try CATSample.facts()
        for example in [CATSample.e1, CATSample.e3] {
            let bytes = try #require(COSEText.decoded(example)).bytes
            for bit in 0..<8 * bytes.count {
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                let verdict = verifier.verify(COSEText.encode(changed).utf8.span, for: facts, at: CATSample.time(1))
                #expect(!verdict.isAllowed, "bit \(bit)")
            }
            for index in bytes.indices {
                for change in [0, 2] {
                    var changed = bytes
                    changed.replaceSubrange(index...index, with: Array(repeating: bytes[index], count: change))
                    let verdict = verifier.verify(COSEText.encode(changed).utf8.span, for: facts, at: CATSample.time(1))
                    #expect(!verdict.isAllowed, "byte \(index) \(change) times")
                }
            }
        }
    }

    @Test func `no random mutation of the text is accepted with other bytes`() throws {
        let verifier = try CATSample.verifier()
        let facts = try CATSample.facts()
        let original = try #require(COSEText.decoded(CATSample.e1)).bytes
        let alphabet = [UInt8]("ABCxyz019-_=+/ %.~\u{0}é".utf8)
        var random = SplitMix64(seed: 9)
        for _ in 0..<20_000 {
            var text = [UInt8](CATSample.e1.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: text.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[index] = random.pick(alphabet)
                case 1: text.insert(random.pick(alphabet), at: index)
                default: text.remove(at: index)
                }
            }
            guard verifier.verify(text.span, for: facts, at: CATSample.time(1)).isAllowed else { continue }
            #expect(COSEText.decoded(String(decoding: text, as: UTF8.self))?.bytes == original)
        }
    }

    // MARK: Changes

    private static func envelope(_ change: (inout [UInt8]) -> Void) throws -> String {
        var bytes = try #require(COSEText.decoded(CATSample.e1)).bytes
        change(&bytes)
        return COSEText.encode(bytes)
    }

    private static func payload(_ change: (inout [UInt8]) -> Void) throws -> String {
        var bytes = try #require(CATSample.claimsWithIssuer.payload())
        let count = bytes.count
        change(&bytes)
        // An entry that was inserted counts.
        if bytes.count == count + 6 { bytes[0] += 1 }
        return try CATSample.token(payload: bytes)
    }

    private static func with(_ change: (inout CATClaims) -> Void) throws -> String {
        var claims = CATSample.claimsWithIssuer
        change(&claims)
        return try CATSample.token(payload: try #require(claims.payload()))
    }

    private static func with(
        removingURI: Bool = false,
        removingRenewal: Bool = false,
        adding fragment: String
    ) throws -> String {
        var claims = CATSample.claimsWithIssuer
        if removingURI { claims.uri = [] }
        if removingRenewal { claims.renewal = nil }
        var payload = try #require(claims.payload())
        payload[0] += 1
        return try CATSample.token(payload: payload + CATSample.bytes(fragment).dropFirst())
    }
}

extension `Changed tokens`.Change {
    fileprivate init(_ name: String, code: GrantCode?, token: @escaping @Sendable () throws -> String) {
        self.init(testDescription: name, code: code, token: token)
    }
}

extension String {
    fileprivate func replacing(_ byte: UInt8, by other: UInt8) -> String {
        String(decoding: utf8.map { $0 == byte ? other : $0 }, as: UTF8.self)
    }
}
