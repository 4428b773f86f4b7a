// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Foundation
import GateTestSupport
import Platform
import Testing

@testable import ReplayStores

/// The jar of a player: it holds the grant whose answer arrived last, and renews what it holds.
private struct Jar {
    private var generation: UInt32
    private var held: UInt64
    /// The answers on their way: the successors of the grant that is held, and of no other.
    private var answers: [UInt64] = []

    init() { (generation, held) = (0, 1) }

    /// Renews the grant that is held some times at once, loses and repeats some, and lets the answers arrive in any order.
    mutating func renew(
        using random: inout SplitMix64,
        note: (UInt32, UInt64) throws -> RenewalOutcome
    ) rethrows
        -> [RenewalOutcome]
    {
        var outcomes: [RenewalOutcome] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            outcomes.append(try note(generation, held))
            // The answer may be lost: the player asks again with what it has.
            if Int.random(in: 0..<4, using: &random) > 0 {
                answers.append(UInt64.random(in: .min ... .max, using: &random))
            }
        }
        answers.shuffle(using: &random)
        if let last = answers.last { (generation, held) = (generation + 1, last) }
        answers = []
        return outcomes
    }
}

/// The ledger of renewals by itself, against models of those who hold a grant.
@Suite struct `A ledger of renewals` {
    private static func renewal(_ generation: UInt32, _ parent: UInt64) -> GrantRenewal {
        GrantRenewal(
            session: SessionID(high: 1, low: 2),
            chain: 3,
            generation: generation,
            parent: parent,
            expires: Timestamp(secondsSince1970: 1_000_000)
        )
    }

    private static func branch(_ branch: inout RenewalBranch?, notes renewal: GrantRenewal) -> RenewalOutcome {
        guard branch != nil else {
            branch = RenewalBranch(renewal)
            return .forward
        }
        return branch?.note(renewal) ?? .forward
    }

    /// One jar goes forward, whatever is lost, repeated or overtaken on the way.
    @Test(arguments: 0..<200) func `suspects no jar by itself`(seed: UInt64) {
        var (random, jar, branch) = (SplitMix64(seed: seed), Jar(), RenewalBranch?.none)
        for _ in 0..<200 {
            let outcomes = jar.renew(using: &random) { Self.branch(&branch, notes: Self.renewal($0, $1)) }
            for outcome in outcomes {
                #expect(outcome == .forward || outcome == .repeated, "\(outcome)")
            }
        }
    }

    /// Each of two jars renews in its own time; they are a generation apart for as long as one answer was lost.
    @Test(arguments: 0..<200) func `proves two jars within a few generations`(seed: UInt64) {
        var (random, branch) = (SplitMix64(seed: 1_000 + seed), RenewalBranch?.none)
        var jars: [(generation: UInt32, held: UInt64)] = [(0, 1), (0, 1)]
        var proof: Int?
        for round in 0..<6 where proof == nil {
            for index in jars.indices.shuffled(using: &random) {
                let outcome = Self.branch(&branch, notes: Self.renewal(jars[index].generation, jars[index].held))
                if case .sibling(2...) = outcome { proof = round }
                jars[index] = (jars[index].generation + 1, UInt64.random(in: .min ... .max, using: &random))
            }
        }
        // The first round renews the copied grant, the second suspects, the third proves.
        #expect(proof == 2)
    }

    /// A copier that renews late, or pauses for a while, is found all the same.
    @Test(arguments: 1...6 as ClosedRange<UInt32>) func `proves a jar that lags some generations behind`(lag: UInt32) {
        var branch = RenewalBranch(Self.renewal(0, 0))
        var outcomes: [RenewalOutcome] = []
        for generation in 1..<12 as Range<UInt32> {
            #expect(branch.note(Self.renewal(generation, 1)) == .forward)
            if generation > lag { outcomes.append(branch.note(Self.renewal(generation - lag, 2))) }
        }
        #expect(outcomes.first == .sibling(generations: 1) && outcomes.dropFirst().first == .sibling(generations: 2))
        #expect(branch.note(Self.renewal(3, 9)) == .late)
    }

    @Test func `remembers eight generations of eight parents`() {
        var branch = RenewalBranch(Self.renewal(0, 0))
        for parent in 1..<20 as Range<UInt64> {
            #expect(branch.note(Self.renewal(0, parent)) == .sibling(generations: 1))
        }
        for generation in 1..<100 as Range<UInt32> {
            #expect(branch.note(Self.renewal(generation, 1)) == .forward)
            #expect(branch.note(Self.renewal(generation, 2)) == .sibling(generations: Int(min(generation, 7)) + 1))
        }
        #expect(branch.generations.count == RenewalBranch.window)
        #expect(branch.generations.allSatisfy { $0.parents.count <= RenewalBranch.maximumParents })
        // A generation that nobody saw ends the row.
        #expect(branch.note(Self.renewal(101, 1)) == .forward)
        #expect(branch.note(Self.renewal(101, 2)) == .sibling(generations: 1))
        #expect(branch.note(Self.renewal(.max, 1)) == .forward && branch.note(Self.renewal(101, 3)) == .late)
    }
}

/// Every store records renewals by the same rules.
@Suite struct `Every store for renewals` {
    private let now = Timestamp.now()

    @Test(arguments: StoreKind.present)
    func `has the outcomes of the model, for two gates`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            var random = SplitMix64(seed: 47)
            var models: [String: RenewalBranch] = [:]
            for step in 0..<400 {
                let session = SessionID(high: 5, low: UInt64.random(in: 0..<4, using: &random))
                let renewal = GrantRenewal(
                    session: session,
                    chain: UInt64.random(in: 0..<2, using: &random) == 0 ? 0 : .max,
                    generation: UInt32(step / 40) + UInt32.random(in: 0..<3, using: &random),
                    parent: [0, 1, 1 << 63, .max, 42].randomElement(using: &random) ?? 0,
                    expires: now.advanced(byMilliseconds: 600_000)
                )
                let name = "\(session.hexadecimal) \(renewal.chain)"
                var expected = RenewalOutcome.forward
                if var branch = models[name] {
                    expected = branch.note(renewal)
                    models[name] = branch
                } else {
                    models[name] = RenewalBranch(renewal)
                }
                let store = step.isMultiple(of: 2) ? first : second
                #expect(try await store.note(renewal, at: now) == expected, "\(step) \(renewal)")
            }
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite]) func `forgets a branch after its end`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (store, _) async throws in
            let renewal = { (parent: UInt64, time: Timestamp) in
                GrantRenewal(
                    session: SessionID(high: 6, low: 6),
                    chain: 1,
                    generation: 7,
                    parent: parent,
                    expires: time.advanced(byMilliseconds: 1000)
                )
            }
            #expect(try await store.note(renewal(1, now), at: now) == .forward)
            #expect(try await store.note(renewal(2, now), at: now) == .sibling(generations: 1))
            let later = now.advanced(byMilliseconds: 1000)
            #expect(try await store.note(renewal(3, later), at: later) == .forward)
        }
    }

    /// A full table forgets the branch that ends first: a shared grant is found later, and nothing is refused.
    @Test func `in memory are bounded`() {
        var table = RenewalTable(capacity: 3)
        for number in 0..<10 as Range<UInt64> {
            let renewal = GrantRenewal(
                session: SessionID(high: 1, low: number),
                chain: 1,
                generation: 0,
                parent: 1,
                expires: now.advanced(byMilliseconds: 1000 + Int64(number))
            )
            #expect(table.note(renewal, at: now) == .forward)
            #expect(table.count <= 3)
        }
    }
}
