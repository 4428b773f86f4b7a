// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

/// The order in which keys are tried.
@Suite struct `The order of trusted keys` {
    private static func order(
        by history: SignerHistory,
        for kind: UInt64,
        among candidates: Range<Int> = 0..<4
    ) -> [Int] {
        var tried: UInt64 = 0
        return candidates.map { _ in
            let next = history.next(for: kind, after: tried, among: candidates)
            tried |= 1 << UInt64(next)
            return next
        }
    }

    @Test func `is that of the past of like tokens, and names each key once`() {
        var history = SignerHistory()
        #expect(Self.order(by: history, for: 7) == [0, 1, 2, 3])
        history.record(2, for: 7)
        #expect(Self.order(by: history, for: 7) == [2, 0, 1, 3])
        for _ in 0..<3 { history.record(3, for: 8) }
        // One kind does not disturb another, and one that is new has the past of all.
        #expect(Self.order(by: history, for: 7) == [2, 0, 1, 3])
        #expect(Self.order(by: history, for: 8) == [3, 0, 1, 2])
        #expect(Self.order(by: history, for: 9) == [3, 2, 0, 1])
        #expect(Self.order(by: history, for: 8, among: 1..<3) == [1, 2])
        // A new key takes over within some tokens, however long the other one's past.
        for _ in 0..<10_000 { history.record(0, for: 7) }
        #expect(Self.order(by: history, for: 7)[0] == 0)
        for _ in 0..<16 { history.record(1, for: 7) }
        #expect(Self.order(by: history, for: 7)[0] == 1)
    }

    /// Against a model that is nothing but "each candidate once": whatever was recorded, none is left out.
    @Test func `tries every key, whatever the past`() {
        var random = SplitMix64(seed: 21)
        var history = SignerHistory()
        for _ in 0..<20_000 {
            let kind = UInt64.random(in: 1...200, using: &random)
            let count = Int.random(in: 1...8, using: &random)
            let first = Int.random(in: 0..<count, using: &random)
            #expect(Set(Self.order(by: history, for: kind, among: first..<count)) == Set(first..<count))
            history.record(Int.random(in: 0..<9, using: &random), for: kind)
        }
    }

    @Test func `tells tokens apart by requestor and MVPD, and by nothing else`() {
        func kind(_ text: String) -> UInt64 {
            let bytes = [UInt8](text.utf8)
            return SignerHistory.kind(of: bytes.span, content: 0..<bytes.count)
        }
        let usual = kind("<sessionGUID>a</sessionGUID><requestorID>R</requestorID><mvpdId>M</mvpdId>")
        #expect(kind("<sessionGUID>b</sessionGUID><requestorID>R</requestorID><ttl>1</ttl><mvpdId>M</mvpdId>") == usual)
        #expect(kind("<requestorID>S</requestorID><mvpdId>M</mvpdId>") != usual)
        #expect(kind("<requestorID>R</requestorID><mvpdId>N</mvpdId>") != usual)
        for text in ["", "<", "<requestorID>", "<requestorID", "<mvpdId><mvpdId>", "<<<<"] { #expect(kind(text) != 0) }
    }

    /// All keys of a trust decide alike, in every order of tokens that came before.
    @Test func `changes no answer`() throws {
        let issuers = try (0..<3).map { _ in try DevelopmentKeys(at: GateSample.time) }
        let stranger = try DevelopmentKeys(at: GateSample.time)
        let trust = try TrustStore(
            issuers.enumerated().map { TrustSource.pem($1.signerCertificate, name: "signer \($0)") },
            at: GateSample.time
        )
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestors: ["REF30", "REF31"]))
        let resource = try MediaResource("TNT")
        let tokens = try (issuers + [stranger]).flatMap { keys in
            try ["REF30", "REF31"].map { requestor in
                try Issuer(key: SigningKey(pem: keys.signerKey))
                    .issue(GateSample.claims(requestor: requestor), at: GateSample.time).serialized
            }
        }
        var random = SplitMix64(seed: 3)
        for _ in 0..<300 {
            let number = Int.random(in: 0..<tokens.count, using: &random)
            let answer = verifier.verify(tokens[number], for: resource, at: GateSample.time)
            if number < 6 {
                #expect(answer.isValid && answer.key == "signer \(number / 2)")
            } else {
                #expect(answer.reason == .untrustedSignature)
            }
        }
    }
}
