// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import MediaResources
import Platform
import Testing

@testable import EdgeTokens
@testable import PlaybackGate

/// Grants with a chance of rejection (`catpor`), as other issuers make them.
@Suite struct `A grant with a chance of rejection` {
    private static let now = GateSample.time

    /// A token of the sample's second issuer.
    private static func token(probability: Double, id: String, until seconds: Int64? = nil) throws -> String {
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey(secret: GrantingSample.secret, id: KeyID("pg-2026-11"), binding: binding)
        let resource = try MediaResource("TNT").canonicalForm
        let tag = try SubjectKey([UInt8](0x20...0x3F)).protectionTag(requestor: "REF30", resource: resource)
        var writer = CBORWriter()
        writer.map { map in
            map.entry(1) { $0.write("playgate") }
            map.entry(4) { $0.write(now.millisecondsSince1970 / 1000 + 300) }
            map.entry(309) { writer in
                writer.write(arrayOf: seconds == nil ? 2 : 3)
                writer.write(probability)
                writer.write([UInt8](id.utf8))
                if let seconds { writer.write(now.millisecondsSince1970 / 1000 + seconds) }
            }
            map.entry(-65540) { $0.write(tag?.bytes ?? []) }
        }
        return COSEText.encode(try key.signCOSE(try writer.finish()))
    }

    @Test func `is refused by its id, once the chance has struck`() async throws {
        let sample = try await GrantingSample(hasRejectionList: true)
        let ask = { (grant: String, seconds: Int64) in
            try await sample.ask("/live/tnt/a.ts", grants: [grant], after: seconds).outcome
        }
        let never = try Self.token(probability: 0, id: "one")
        for second in 0..<20 as Range<Int64> { #expect(try await ask(never, second) == "granted") }
        #expect(try await ask(Self.token(probability: 1, id: "one", until: 60), 0) == "grant_rejected_by_probability")
        // Another token of the same id, which would be allowed by chance, until the time that the first one named.
        #expect(try await ask(never, 59) == "grant_rejected_by_probability")
        #expect(try await ask(Self.token(probability: 0, id: "two"), 59) == "granted")
        #expect(try await ask(never, 60) == "granted")
        // Without a time, until the token's end.
        #expect(try await ask(Self.token(probability: 1, id: "three"), 0) == "grant_rejected_by_probability")
        #expect(try await ask(Self.token(probability: 0, id: "three"), 299) == "grant_rejected_by_probability")
        #expect(sample.authority.rejections.count == 1)
    }

    @Test func `is refused by the claim's name if nobody has a list`() async throws {
        let sample = try await GrantingSample()
        let decision = try await sample.ask("/live/tnt/a.ts", grants: [Self.token(probability: 0, id: "one")])
        #expect(decision.outcome == "grant_claim_unsupported")
    }

    @Test func `is drawn as often as its probability says`() {
        let list = RejectionList()
        var refused = 0
        for number in 0..<20_000 {
            let rejection = Self.rejection(probability: 0.25, id: "\(number)")
            refused += list.rejects(rejection, of: "playgate", at: Self.now) ? 1 : 0
        }
        // Five standard deviations are 306.
        #expect(4650...5350 ~= refused && list.count == refused)
    }

    private static func rejection(probability: Double, id: String) -> GrantObligations.Rejection {
        GrantObligations.Rejection(probability: probability, id: [UInt8](id.utf8), until: now.adding(seconds: 60))
    }

    @Test func `is refused without being remembered if the list is full`() {
        let list = RejectionList(capacity: 2)
        for id in ["one", "two", "three"] {
            #expect(list.rejects(Self.rejection(probability: 1, id: id), of: "playgate", chance: 0, at: Self.now))
        }
        #expect(list.count == 2)
        let rejects = { (id: String, chance: Double, seconds: Int64) in
            list.rejects(
                Self.rejection(probability: 0.5, id: id),
                of: "playgate",
                chance: chance,
                at: Self.now.adding(seconds: seconds)
            )
        }
        #expect(rejects("two", 0.9, 59) && !rejects("three", 0.9, 59) && !rejects("four", 0.5, 0))
        // Another issuer's id of the same name.
        #expect(!list.rejects(Self.rejection(probability: 0.5, id: "one"), of: "other", chance: 0.9, at: Self.now))
        // What is over makes room.
        let late = GrantObligations.Rejection(
            probability: 1,
            id: [7],
            until: Self.now.adding(seconds: 120)
        )
        #expect(list.rejects(late, of: "playgate", chance: 0, at: Self.now.adding(seconds: 61)))
        #expect(list.count == 1)
    }
}
