// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import Testing

@Suite struct `The memory store` {
    /// Returns a different fingerprint for every number.
    private static func fingerprint(_ number: Int) -> TokenFingerprint? {
        let digits = String(number, radix: 16)
        // Spread over the range, as digests are.
        let mixed = String(UInt64(number &+ 1) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
        let text = (String(repeating: "0", count: 16 - mixed.count) + mixed)
        return TokenFingerprint(
            hexadecimal: text + text + text + String(repeating: "0", count: 16 - digits.count) + digits
        )
    }

    @Test func `finds what it recorded, through many turns of being full and being forgotten`() throws {
        let store = MemoryReplayStore(capacity: 500)
        var live: [(Int, Timestamp)] = []
        var random = SystemRandomNumberGenerator()
        var number = 0
        for second in 0..<3000 {
            let now = GateSample.time.adding(seconds: Int64(second))
            live.removeAll { $0.1 < now }
            let forgettable = now.adding(seconds: Int64.random(in: 1...600, using: &random))
            let fingerprint = try #require(Self.fingerprint(number))
            let outcome = store.recordNow(fingerprint, forgettable: forgettable, at: now)
            #expect(outcome == (live.count < 500 ? .recorded : .full))
            if outcome == .recorded { live.append((number, forgettable)) }
            number += 1
            // A live entry must be found, even after removals have moved it.
            if let (known, until) = live.randomElement(using: &random) {
                let again = try #require(Self.fingerprint(known))
                #expect(store.recordNow(again, forgettable: until, at: now) == .usedUp)
            }
        }
        #expect(live.count > 100)
    }

    @Test(arguments: [Int64.max, Int64.max - 999, 4_294_967_295_001, 4_294_967_295_000])
    func `records a use however late it may be forgotten`(milliseconds: Int64) throws {
        let store = MemoryReplayStore(capacity: 10)
        let forgettable = Timestamp(millisecondsSince1970: milliseconds)
        for outcome in [UseOutcome.recorded, .usedUp] {
            let fingerprint = try #require(Self.fingerprint(1))
            #expect(store.recordNow(fingerprint, forgettable: forgettable, at: GateSample.time) == outcome)
        }
    }

    @Test func `forgets a revocation two minutes after its end, and none before`() async throws {
        let store = MemoryReplayStore(capacity: 10)
        let use = try GateSample.use(1)
        let end = GateSample.time.adding(seconds: 60)
        let revoke = { (subject: Revocation.Subject, seconds: Int64) in
            let now = GateSample.time.adding(seconds: seconds)
            try await store.revoke(Revocation(subject, expires: max(end, now)), at: now)
        }
        try await revoke(.token(use.token.fingerprint), 0)
        for number in 1..<MemoryReplayStore.revocationLimit {
            try await revoke(.token(try #require(Self.fingerprint(number))), 0)
        }
        let other = Revocation.Subject.session(guid: "other", issuedBefore: GateSample.time)
        await #expect(throws: ReplayStoreError(.full, reason: "")) { try await revoke(other, 180) }
        #expect(store.recordNow(use, at: end) == .revoked(.token))
        try await revoke(other, 181)
        #expect(store.recordNow(use, at: end) == .recorded)
    }

    @Test func `is full at its capacity and not before`() throws {
        let store = MemoryReplayStore(capacity: 20_000)
        let until = GateSample.time.adding(seconds: 420)
        for number in 0..<20_000 {
            let fingerprint = try #require(Self.fingerprint(number))
            guard store.recordNow(fingerprint, forgettable: until, at: GateSample.time) == .recorded else {
                Issue.record("full at \(number)")
                return
            }
        }
        var more = 0
        while let fingerprint = Self.fingerprint(100_000 + more), more < 10_000,
            store.recordNow(fingerprint, forgettable: until, at: GateSample.time) == .recorded
        { more += 1 }
        #expect(more < 10_000)
    }
}
