// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Platform
import SharedGrants
import Testing

@Suite struct `The uses of a challenged playback` {
    /// A use: the second after the challenge, and the grant.
    private typealias Use = (second: Double, grant: UInt32)

    private static func evidence(
        _ uses: [Use],
        terms: ForkEvidence.Terms = .init(),
        track: (Int) -> UInt16 = { _ in 1 }
    ) -> ForkEvidence {
        var evidence = ForkEvidence(since: Timestamp(millisecondsSince1970: 0), terms: terms)
        for (number, use) in uses.enumerated() {
            let time = Timestamp(millisecondsSince1970: Int64(use.second * 1000))
            let segment = Segment(index: UInt32(number), track: track(number))
            _ = evidence.record(GrantUse(segment, by: use.grant, at: time), at: time)
        }
        return evidence
    }

    /// Two jars in turn, each four seconds.
    private static func turns(from start: Double, to end: Double, _ grants: [UInt32] = [1, 2]) -> [Use] {
        stride(from: start, to: end, by: 4).enumerated().map { ($0.element, grants[$0.offset % grants.count]) }
    }

    private static let proofs: [(name: String, uses: [Use])] = [
        ("two jars in turn for a minute", turns(from: 6, to: 66)),
        ("a copier that stays with the old grant", turns(from: 6, to: 66, [0, 1])),
        ("three jars for half a minute", turns(from: 6, to: 54, [1, 2, 3])),
        ("two jars that take turns each minute", [(10, 1), (12, 2), (70, 1), (80, 2), (140, 1), (150, 2)]),
        (
            "two jars of which one goes forward",
            [(6, 1), (10, 2), (20, 1), (30, 3), (40, 1), (50, 3), (70, 1), (80, 3)]
        ),
    ]

    @Test(arguments: proofs.indices) func `prove`(number: Int) {
        let proof = Self.proofs[number]
        #expect(Self.evidence(proof.uses).isProof, "\(proof.name)")
    }

    private static let innocent: [(name: String, uses: [Use])] = [
        ("one grant", turns(from: 6, to: 180, [1])),
        ("a grant after another", (0..<40).map { (6 + 4 * Double($0), UInt32($0 / 5)) }),
        ("answers that cross for five seconds", turns(from: 0, to: 4.9) + turns(from: 6, to: 180, [2])),
        ("a handover that overlaps for 40 seconds", turns(from: 6, to: 46) + turns(from: 46, to: 180, [2])),
        ("two returns", [(6, 1), (10, 2), (14, 1), (60, 2), (64, 2)]),
        ("returns that are far apart", [(6, 1), (8, 2), (10, 1), (105, 2), (200, 1), (300, 2), (400, 1)]),
        ("many grants, each for a moment", (0..<90).map { (6 + Double($0), UInt32($0)) }),
        (
            "two tabs whose answers cross at each of three renewals",
            [0.0, 60, 120].enumerated().flatMap { number, start -> [Use] in
                let (old, new) = (UInt32(number), UInt32(number + 1))
                return [(start + 6, old), (start + 50, old), (start + 60, new), (start + 60.5, old), (start + 61, new)]
            }
        ),
    ]

    @Test(arguments: innocent.indices) func `prove nothing`(number: Int) {
        let history = Self.innocent[number]
        #expect(!Self.evidence(history.uses).isProof, "\(history.name)")
    }

    /// Who always comes with new grants, or asks for invented tracks, does not prevent a proof.
    @Test func `prove in spite of invented grants and tracks`() {
        let uses = stride(from: 6.0, to: 120, by: 0.5).enumerated().map { number, second -> Use in
            (second, number % 8 == 0 ? 1 : number % 8 == 4 ? 2 : UInt32(100 + number))
        }
        #expect(Self.evidence(uses).isProof)
        let evidence = Self.evidence(uses) { $0 % 4 == 0 ? 1 : UInt16(100 + $0) }
        #expect(evidence.isProof)
    }

    /// Uses that come after later ones have counted are ignored: the store was away.
    @Test func `prove nothing by reports that come late`() {
        let terms = ForkEvidence.Terms(patience: .seconds(4))
        var evidence = ForkEvidence(since: Timestamp(millisecondsSince1970: 0), terms: terms)
        let uses: [Use] = (0..<30).map { (10 + 2 * Double($0), UInt32($0 / 10)) }
        for delay in [0.0, 70, 71, 72] {
            for use in uses {
                let (time, now) = (Int64(use.second * 1000), Int64((use.second + delay) * 1000))
                let segment = Segment(index: UInt32(use.second), track: 1)
                let grantUse = GrantUse(segment, by: use.grant, at: Timestamp(millisecondsSince1970: time))
                let isTimely = evidence.record(
                    grantUse,
                    at: Timestamp(millisecondsSince1970: delay == 0 ? now : 90_000)
                )
                #expect(isTimely || delay > 0)
            }
            _ = evidence.advance(to: Timestamp(millisecondsSince1970: 90_000))
        }
        #expect(!evidence.isProof && evidence.returns == 0)
    }

    @Test func `prove nothing if manifests and segments have a jar each`() {
        let evidence = Self.evidence(Self.turns(from: 6, to: 180)) { UInt16(1 + $0 % 2) }
        #expect(!evidence.isProof && evidence.returns == 0)
    }

    @Test(arguments: [(20, 34.0), (45, 58.0), (90, 102.0)])
    func `prove after the time of a handover`(handover: Int, end: Double) {
        let terms = ForkEvidence.Terms(handover: .seconds(handover))
        #expect(!Self.evidence(Self.turns(from: 6, to: end - 4), terms: terms).isProof)
        #expect(Self.evidence(Self.turns(from: 6, to: end + 8), terms: terms).isProof)
    }

    /// With patience, uses may come late, repeated and in any order: the outcome is the same.
    @Test(arguments: 0..<50) func `have the same outcome in any order of arrival`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let jars: [UInt32] = seed.isMultiple(of: 2) ? [1, 2] : [1]
        let uses = Self.turns(from: 6, to: 120, jars)
        let arrivals = uses.flatMap { use in
            (0..<Int.random(in: 1...2, using: &random)).map { _ in
                (use, use.second + .random(in: 0...3.5, using: &random))
            }
        }
        var evidence = ForkEvidence(
            since: Timestamp(millisecondsSince1970: 0),
            terms: ForkEvidence.Terms(patience: .seconds(4))
        )
        for (use, arrival) in arrivals.sorted(by: { $0.1 < $1.1 }) {
            let segment = Segment(index: UInt32(use.second), track: 1)
            let time = Timestamp(millisecondsSince1970: Int64(use.second * 1000))
            let now = Timestamp(millisecondsSince1970: Int64(arrival * 1000))
            _ = evidence.record(GrantUse(segment, by: use.grant, at: time), at: now)
        }
        _ = evidence.advance(to: Timestamp(millisecondsSince1970: 200_000))
        let inOrder = Self.evidence(uses)
        #expect(evidence.isProof == inOrder.isProof && evidence.isProof == (jars.count > 1))
        #expect(evidence.returns == inOrder.returns)
    }

    /// A jar whose answers cross, are lost or come late has no return after they have settled.
    @Test(arguments: 0..<200) func `prove nothing against one jar`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (held, time, next): (UInt32, Double, UInt32) = (0, 0, 1)
        var answers: [(arrival: Double, grant: UInt32)] = []
        var uses: [Use] = []
        while time < 180 {
            time += .random(in: 0.05...3, using: &random)
            for answer in answers.filter({ $0.arrival <= time }).sorted(by: { $0.arrival < $1.arrival }) {
                held = answer.grant
            }
            answers.removeAll { $0.arrival <= time }
            uses.append((time, held))
            // Only a grant of before the challenge is replaced.
            guard held == 0, Int.random(in: 0..<100, using: &random) > 0 else { continue }
            answers.append((time + .random(in: 0.03...2, using: &random), next))
            next += 1
        }
        #expect(!Self.evidence(uses).isProof)
    }
}
