// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import GateTestSupport
import Platform
import SharedGrants
import Testing

@Suite struct `A batch of reports` {
    private static func reports(using random: inout SplitMix64) -> [LeakReport] {
        let base = Int64.random(in: 0...(1 << 45), using: &random)
        return (0..<Int.random(in: 1...60, using: &random)).map { _ in
            let time = Timestamp(millisecondsSince1970: base + .random(in: 0...60_000, using: &random))
            let session = SessionID(high: random.next(), low: random.next())
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return .seen(playback: random.next(), time: time)
            case 1:
                let segment = Segment(
                    index: .random(in: .min ... .max, using: &random),
                    track: .random(in: .min ... .max, using: &random)
                )
                return .used(
                    playback: random.next(),
                    GrantUse(segment, by: UInt32(truncatingIfNeeded: random.next()), at: time)
                )
            case 2:
                let evidence: Leak.Evidence = Bool.random(using: &random) ? .forks : .renewals
                return .proven(session: session, evidence: evidence, time: time)
            default:
                return .challenged(
                    LeakChallenge(
                        playback: random.next(),
                        session: session,
                        sessionEnd: time.advanced(byMilliseconds: 1000),
                        profile: String("profil é live".prefix(.random(in: 0...13, using: &random))),
                        time: time
                    )
                )
            }
        }
    }

    @Test(arguments: 0..<200) func `is read as it was written`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let batch = LeakReportBatch(observer: random.next(), reports: Self.reports(using: &random))
        #expect(LeakReportBatch(batch.encoded)?.observer == batch.observer)
    }

    @Test(arguments: 0..<200) func `is refused or read whatever is changed`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bytes = LeakReportBatch(observer: 1, reports: Self.reports(using: &random)).encoded
        for _ in 0..<20 {
            var changed = bytes
            switch Int.random(in: 0..<4, using: &random) {
            case 0: changed.removeLast(.random(in: 1...changed.count, using: &random))
            case 1: changed[.random(in: changed.indices, using: &random)] = .random(in: .min ... .max, using: &random)
            case 2:
                changed.insert(
                    .random(in: .min ... .max, using: &random),
                    at: .random(in: changed.indices, using: &random)
                )
            default:
                changed = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                    .random(in: .min ... .max, using: &random)
                }
            }
            guard let batch = LeakReportBatch(changed) else { continue }
            #expect(LeakReportBatch(batch.encoded)?.observer == batch.observer)
            // Whatever it says, a gate accepts it, and proves nothing by it.
            var cases = LeakCases()
            _ = cases.set(.revoke, handover: .seconds(45))
            cases.isShared = true
            for report in batch.reports { _ = cases.apply(report, of: 2, at: report.time) }
            #expect(cases.watchCount <= 60 && cases.all.values.allSatisfy { !$0.isRevoked })
        }
    }

    @Test func `has a maximum size`() throws {
        let time = Timestamp(millisecondsSince1970: 5)
        let reports = (0..<10_000).map { LeakReport.seen(playback: $0, time: time) }
        let encoded = LeakReportBatch(observer: 1, reports: reports).encoded
        #expect(encoded.count <= LeakReportBatch.maximumSize)
        #expect(try #require(LeakReportBatch(encoded)).reports.count == (LeakReportBatch.maximumSize - 17) / 10)
        #expect(LeakReportBatch(encoded + encoded) == nil)
    }

    @Test(arguments: [[], [1], [2] + Array(repeating: 0, count: 16), Array(repeating: 0, count: 17)] as [[UInt8]])
    func `is refused if it is short or of another version`(bytes: [UInt8]) { #expect(LeakReportBatch(bytes) == nil) }
}

/// Gates that share a store: what one sees and proves, the others know.
@Suite struct `The reports of several gates` {
    private static func gate(_ action: LeakWatch.Action = .revoke) -> LeakCases {
        var cases = LeakCases()
        _ = cases.set(action, handover: .seconds(45))
        cases.isShared = true
        return cases
    }

    private static func proofs(in events: [LeakCases.Event]) -> Int {
        events.count { if case .proven = $0 { true } else { false } }
    }

    /// Exchanges the reports of all gates, some of them twice and in any order. Returns the number of proofs.
    private static func exchange(_ gates: inout [LeakCases], at second: Double, using random: inout SplitMix64) -> Int {
        var proofs = 0
        func count(_ events: [LeakCases.Event]) {
            proofs += events.count { if case .proven = $0 { true } else { false } }
        }
        for index in gates.indices { count(gates[index].sweep(at: LeakSample.time(second))) }
        let reports = gates.indices.map { gates[$0].removeReports(atMost: .max) }
        for (sender, sent) in reports.enumerated() {
            for receiver in gates.indices where receiver != sender {
                for report in (sent + sent.prefix(3)).shuffled(using: &random) {
                    count(gates[receiver].apply(report, of: 2, at: LeakSample.time(second)))
                }
            }
        }
        return proofs
    }

    /// Each viewer asks a gate of their own. Neither of them sees a turn.
    @Test(arguments: 0..<20) func `find two viewers at two gates`(seed: UInt64) {
        var (random, gates, proofs) = (SplitMix64(seed: seed), [Self.gate(), Self.gate()], 0)
        for second in 0..<150 {
            if second.isMultiple(of: 4) {
                for (viewer, gate) in [0, 1].shuffled(using: &random).enumerated() {
                    let now = LeakSample.time(Double(second) + 0.3 * Double(viewer))
                    let old = LeakSample.holder(issued: 0)
                    let fresh = LeakSample.holder(grant: UInt8(1 + gate), issued: 1000)
                    if second % 30 < 4 { _ = gates[gate].noteSeen(old, isFirst: second < 4, at: now) }
                    let holder = gates[gate].watchCount > 0 ? fresh : old
                    let use = GrantUse(Segment(index: UInt32(second), track: 1), by: holder.grant, at: now)
                    proofs += Self.proofs(in: gates[gate].record(use, of: holder.playback, at: now))
                }
            }
            proofs += Self.exchange(&gates, at: Double(second) + 0.9, using: &random)
        }
        #expect(proofs >= 1)
        for gate in gates {
            let leak = gate.leak(LeakSample.holder().session)
            #expect(leak?.proven != nil && leak?.evidence == .forks && gate.watchCount == 0)
        }
    }

    /// What a gate has proven is revoked by another one if it ends before it does so itself; once it is revoked, by none.
    @Test func `revoke what a gate has proven that is gone`() {
        var gate = Self.gate()
        let holder = LeakSample.holder()
        let challenge = LeakSample.challenge(at: 10)
        _ = gate.apply(.challenged(challenge), of: 2, at: LeakSample.time(11))
        let proof = LeakReport.proven(session: holder.session, evidence: .forks, time: LeakSample.time(70))
        #expect(
            gate.apply(proof, of: 2, at: LeakSample.time(71)).isEmpty && gate.sweep(at: LeakSample.time(80)).isEmpty
        )
        let isDue = { (events: [LeakCases.Event]) in events.contains { if case .due = $0 { true } else { false } } }
        #expect(isDue(gate.sweep(at: LeakSample.time(86))))
        gate.setRevoked(true, for: holder.session)
        #expect(gate.sweep(at: LeakSample.time(90)).isEmpty)
    }

    /// A gate that only follows a challenge proves and revokes by itself.
    @Test func `revoke at a gate that did not challenge`() {
        var gate = Self.gate()
        let holder = LeakSample.holder()
        let challenge = LeakSample.challenge(at: 0)
        _ = gate.apply(.challenged(challenge), of: 2, at: LeakSample.time(1))
        var events: [LeakCases.Event] = []
        for number in 0..<30 {
            let now = LeakSample.time(6 + 4 * Double(number))
            let use = GrantUse(Segment(index: UInt32(number), track: 1), by: UInt32(1 + number % 2), at: now)
            events += gate.record(use, of: holder.playback, at: now)
        }
        #expect(Self.proofs(in: events) == 1)
        #expect(events.contains { if case .due = $0 { true } else { false } })
    }

    /// A player that asks each gate in turn is challenged, and acquitted, at all of them.
    @Test func `acquit one jar that asks all gates`() {
        var (random, gates) = (SplitMix64(seed: 1), [Self.gate(), Self.gate(), Self.gate()])
        for second in 0..<400 {
            let (gate, now) = (second % 3, LeakSample.time(Double(second)))
            let isFresh = gates.contains { $0.watchCount > 0 } && second > 10
            let holder = LeakSample.holder(grant: isFresh ? 1 : 0, issued: isFresh ? 1000 : 0)
            if second % 30 < 3 { _ = gates[gate].noteSeen(holder, isFirst: second < 3, at: now) }
            let use = GrantUse(Segment(index: UInt32(second), track: 1), by: holder.grant, at: now)
            _ = gates[gate].record(use, of: holder.playback, at: now)
            #expect(Self.exchange(&gates, at: Double(second) + 0.5, using: &random) == 0)
        }
        #expect(gates.allSatisfy { $0.leak(LeakSample.holder().session)?.proven == nil })
    }

    /// A player that moves to another gate, or whose gate is started again, is not suspected; nor are all those behind a load
    /// balancer, whose turns each gate sees.
    @Test func `suspect neither a move nor a load balancer`() {
        var gate = Self.gate()
        let seen = { (number: UInt64, second: Double) in
            LeakReport.seen(playback: LeakSample.holder(number).playback, time: LeakSample.time(second))
        }
        _ = gate.apply(seen(1, 99), of: 2, at: LeakSample.time(100))
        #expect(gate.noteSeen(LeakSample.holder(1), isFirst: true, at: LeakSample.time(100)).isEmpty)
        #expect(gate.noteSeen(LeakSample.holder(1), isFirst: false, at: LeakSample.time(130)).isEmpty)
        #expect(gate.noteReturn(LeakSample.holder(1), at: LeakSample.time(135)).isEmpty && gate.removeChanges().isEmpty)
        // Seen here, there, and here again.
        _ = gate.apply(seen(1, 150), of: 2, at: LeakSample.time(151))
        #expect(gate.removeChanges().map(\.isWatched) == [true])
        #expect(!gate.noteReturn(LeakSample.holder(1), at: LeakSample.time(152)).isEmpty)

        gate = Self.gate()
        var suspected = 0
        for second in stride(from: 0.0, to: 300, by: 30) {
            for number in 1...200 as ClosedRange<UInt64> {
                _ = gate.apply(seen(number, second), of: 2, at: LeakSample.time(second))
                let events = gate.noteSeen(
                    LeakSample.holder(number),
                    isFirst: second == 0,
                    at: LeakSample.time(second + 1)
                )
                if !events.isEmpty { suspected += 1 }
            }
        }
        // Those of the first moment of each minute, before it is known how many there are.
        #expect(suspected < 200, "\(suspected)")
    }

    @Test func `of another time are ignored`() {
        var gate = Self.gate()
        let challenge = LeakSample.challenge(at: 1000)
        for second in [900.0, 990, 1181, 5000] {
            _ = gate.apply(.challenged(challenge), of: 2, at: LeakSample.time(second))
        }
        #expect(gate.watchCount == 0)
        for second in [996.0, 1000, 1179] {
            var gate = Self.gate()
            _ = gate.apply(.challenged(challenge), of: 2, at: LeakSample.time(second))
            #expect(gate.watchCount == 1)
        }
    }

    /// Uses of playbacks that no gate has challenged, and proofs of unknown ones, change nothing.
    @Test func `about unknown playbacks change nothing`() {
        var gate = Self.gate()
        let use = GrantUse(Segment(index: 1, track: 1), by: 1, at: LeakSample.time(1))
        #expect(gate.apply(.used(playback: 7, use), of: 2, at: LeakSample.time(1)).isEmpty)
        let proof = LeakReport.proven(session: SessionID(high: 7, low: 7), evidence: .forks, time: LeakSample.time(1))
        #expect(gate.apply(proof, of: 2, at: LeakSample.time(1)).isEmpty)
        #expect(gate.all.isEmpty && gate.watchCount == 0)
    }

    @Test func `wait for a store that is away, the newest ones`() {
        var gate = Self.gate()
        for number in 0..<9000 {
            _ = gate.noteSeen(
                LeakSample.holder(UInt64(number)),
                isFirst: true,
                at: LeakSample.time(Double(number) / 100)
            )
        }
        let reports = gate.removeReports(atMost: .max)
        #expect(reports.count <= 4000 && gate.removeDropped() == 9000 - reports.count && gate.dropped == 0)
        #expect(reports.last?.time == LeakSample.time(89.99))
        _ = gate.noteSeen(LeakSample.holder(9), isFirst: true, at: LeakSample.time(95))
        gate.putBack(reports)
        #expect(gate.removeReports(atMost: .max).last?.time == LeakSample.time(95))
    }
}
