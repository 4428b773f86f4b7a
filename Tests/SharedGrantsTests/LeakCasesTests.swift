// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Platform
import ReplayStores
import SharedGrants
import Testing

@Suite struct `The cases of a gate` {
    private static func names(_ events: [LeakCases.Event]) -> [String] {
        events.map { event in
            switch event {
            case .suspected: "suspected"
            case .challenged: "challenged"
            case .proven: "proven"
            case .unproven: "unproven"
            case .due: "due"
            }
        }
    }

    private static func cases(_ action: LeakWatch.Action? = .revoke) -> LeakCases {
        var cases = LeakCases()
        _ = cases.set(action, handover: .seconds(45))
        return cases
    }

    /// Lets two grants of a playback be used in turn, each four seconds. Returns the events and their seconds.
    private static func turns(
        _ cases: inout LeakCases,
        playback: UInt64 = 1,
        from start: Double,
        to end: Double
    ) -> [(Double, String)] {
        var events: [(Double, String)] = []
        for (number, second) in stride(from: start, to: end, by: 4).enumerated() {
            let holder = LeakSample.holder(playback, grant: UInt8(1 + number % 2), issued: start)
            let use = GrantUse(Segment(index: UInt32(number), track: 1), by: holder.grant, at: LeakSample.time(second))
            events += names(cases.record(use, of: holder.playback, at: LeakSample.time(second))).map { (second, $0) }
        }
        return events
    }

    /// Suspects a playback by the renewals of two grants.
    private static func suspectByRenewals(_ cases: inout LeakCases, session: UInt64) -> [LeakCases.Event] {
        let renewal = GrantRenewal(
            session: SessionID(high: session, low: session),
            chain: 1,
            generation: 1,
            parent: 1,
            expires: LeakSample.time(1000)
        )
        return cases.record(
            .sibling(generations: 1),
            of: renewal,
            profile: "live",
            until: LeakSample.time(100_000),
            at: LeakSample.time(100)
        )
    }

    @Test func `go from a suspicion over a challenge to a proof, and to a revocation`() throws {
        var cases = Self.cases()
        #expect(
            Self.names(cases.suspect(LeakSample.holder(), because: .turns, at: LeakSample.time(10))) == [
                "suspected", "challenged",
            ]
        )
        let events = Self.turns(&cases, from: 16, to: 100)
        #expect(events.map(\.1) == ["proven", "due"] && events.allSatisfy { 60...75 ~= $0.0 })
        cases.setRevoked(true, for: LeakSample.holder().session)
        let leak = try #require(LeakCases.list(cases.all, at: LeakSample.time(100)).first)
        #expect(leak.isRevoked && leak.evidence == .forks && leak.grants == 2 && leak.returns >= 3)
        #expect(Set(leak.uses.map(\.grant)) == [0, 1] && leak.uses.count > 10)
    }

    @Test func `are listed in review, and revoked once that is the consequence`() {
        var cases = Self.cases(.review)
        _ = cases.suspect(LeakSample.holder(), because: .turns, at: LeakSample.time(10))
        #expect(Self.turns(&cases, from: 16, to: 100).map(\.1) == ["proven"])
        // A proven playback is not challenged again.
        #expect(
            cases.suspect(LeakSample.holder(), because: .turns, at: LeakSample.time(110)).isEmpty
                && cases.watchCount == 0
        )
        #expect(Self.names(cases.set(.revoke, handover: .seconds(45))) == ["due"])
        #expect(Self.names(cases.set(.revoke, handover: .seconds(45))).isEmpty)
        // What could not be revoked is due again at the next sweep.
        cases.setRevoked(false, for: LeakSample.holder().session)
        #expect(Self.names(cases.sweep(at: LeakSample.time(120))) == ["due"])
        #expect(cases.sweep(at: LeakSample.time(121)).isEmpty)
    }

    @Test(arguments: [(9.0, true), (10.0, false), (12.0, false)])
    func `demand a new grant for those that were issued before the challenge`(issued: Double, isDemanded: Bool) {
        var cases = Self.cases()
        let holder = LeakSample.holder(issued: issued)
        #expect(!cases.demandsFreshGrant(from: holder, at: LeakSample.time(11)))
        _ = cases.suspect(holder, because: .turns, at: LeakSample.time(10.7))
        #expect(cases.demandsFreshGrant(from: holder, at: LeakSample.time(11)) == isDemanded)
        #expect(!cases.demandsFreshGrant(from: LeakSample.holder(2), at: LeakSample.time(11)))
        #expect(!cases.demandsFreshGrant(from: holder, at: LeakSample.time(191)))
    }

    /// Without a proof a watch ends after three minutes, and the next one begins after a pause.
    @Test(
        arguments: [
            (.turns, [120, 120, 120]), (.sightings, [60, 120, 240, 480, 960, 1800, 1800]),
        ] as [(LeakCases.Cause, [Double])]
    )
    func `end without a proof, and begin again after a pause`(cause: LeakCases.Cause, pauses: [Double]) {
        var (cases, now) = (Self.cases(), 0.0)
        for pause in pauses {
            #expect(
                Self.names(cases.suspect(LeakSample.holder(), because: cause, at: LeakSample.time(now))) == [
                    "suspected", "challenged",
                ]
            )
            #expect(cases.suspect(LeakSample.holder(), because: cause, at: LeakSample.time(now + 100)).isEmpty)
            #expect(Self.names(cases.sweep(at: LeakSample.time(now + 179))).isEmpty)
            #expect(Self.names(cases.sweep(at: LeakSample.time(now + 181))) == ["unproven"])
            #expect(cases.all.isEmpty)
            #expect(
                cases.suspect(LeakSample.holder(), because: cause, at: LeakSample.time(now + 181 + pause - 1)).isEmpty
            )
            now += 181 + pause
        }
    }

    @Test func `look at nothing without an action`() {
        var cases = Self.cases(nil)
        #expect(cases.suspect(LeakSample.holder(), because: .turns, at: LeakSample.time(10)).isEmpty)
        #expect(!cases.demandsFreshGrant(from: LeakSample.holder(), at: LeakSample.time(11)))
    }

    @Test func `are bounded, and proven ones stay the longest`() {
        var cases = Self.cases(.review)
        _ = cases.suspect(LeakSample.holder(1), because: .turns, at: LeakSample.time(1))
        _ = Self.turns(&cases, playback: 1, from: 7, to: 90)
        for number in 2...10_000 {
            _ = cases.suspect(LeakSample.holder(UInt64(number)), because: .turns, at: LeakSample.time(100))
        }
        #expect(cases.watchCount == 2048 && cases.all.count == 2049)
        // Each watch has its case, and goes on to its end.
        #expect((2...2049).allSatisfy { cases.leak(LeakSample.holder($0).session) != nil })
        for number in 20_000...40_000 { _ = Self.suspectByRenewals(&cases, session: UInt64(number)) }
        #expect(cases.all.count == 4096 && (2...2049).allSatisfy { cases.leak(LeakSample.holder($0).session) != nil })
        #expect(LeakCases.list(cases.all, at: LeakSample.time(100)).count == 1000)
        #expect(cases.leak(LeakSample.holder(1).session)?.proven != nil)
    }

    /// The requests that a case lists are the latest ones.
    @Test func `list a bounded number of requests`() throws {
        var cases = Self.cases()
        let holder = LeakSample.holder()
        _ = cases.suspect(holder, because: .turns, at: LeakSample.time(0))
        for number in 0..<2000 {
            let time = LeakSample.time(Double(number) * 0.05)
            let use = GrantUse(Segment(index: UInt32(number), track: 1), by: UInt32(number), at: time)
            _ = cases.record(use, of: holder.playback, at: time)
        }
        let uses = try #require(cases.leak(holder.session)).uses
        #expect(uses.count == 256 && uses.last?.index == 255)
    }

    @Test func `are suspected by renewals, and proven by two generations running`() {
        var cases = Self.cases()
        func renewal(_ generation: UInt32) -> GrantRenewal {
            let session = LeakSample.holder().session
            return GrantRenewal(
                session: session,
                chain: 1,
                generation: generation,
                parent: 1,
                expires: LeakSample.time(1000)
            )
        }
        func record(_ outcome: RenewalOutcome, at second: Double) -> [String] {
            let (renewal, end) = (renewal(UInt32(second)), LeakSample.time(100_000))
            return Self.names(
                cases.record(outcome, of: renewal, profile: "live", until: end, at: LeakSample.time(second))
            )
        }
        #expect(record(.forward, at: 1).isEmpty)
        #expect(record(.sibling(generations: 1), at: 2) == ["suspected"])
        // A challenge goes on beside it.
        #expect(
            Self.names(cases.suspect(LeakSample.holder(), because: .turns, at: LeakSample.time(3))) == ["challenged"]
        )
        #expect(record(.sibling(generations: 2), at: 4) == ["proven", "due"])
        #expect(cases.leak(LeakSample.holder().session)?.evidence == .renewals)
        #expect(record(.sibling(generations: 3), at: 5).isEmpty)
    }
}
