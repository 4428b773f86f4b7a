// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import EdgeTokens
import GateTestSupport
import Platform
import RequestTargets
import SharedGrants
import Testing

@testable import EmbeddedGate

/// What a gate has found is read from its list.
private final class FoundLeaks: LeakObserver {
    func observeSuspected(_ leak: Leak) {}
    func observeChallenged(_ leak: Leak) {}
    func observeProven(_ leak: Leak) {}
    func observeUnproven(_ leak: Leak) {}
    func observeRevoked(_ leak: Leak) {}
    func countDropped() {}
}

private func time(_ seconds: Double) -> Timestamp {
    Timestamp(millisecondsSince1970: 1_800_000_000_000 + Int64(seconds * 1000))
}

private let session = SessionID(high: 0xA1, low: 0xB2)

private func identifier(of grant: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: grant >> (8 * $0)) } }

private func holder(_ grant: UInt64 = 0, issued: Double = 0, session: SessionID = session) -> GrantHolder {
    GrantHolder(
        session: session,
        until: time(14_400),
        chain: 7,
        identifier: identifier(of: grant),
        issued: Timestamp(secondsSince1970: time(issued).seconds),
        profile: "live"
    )
}

/// A player with a jar of its own.
private struct Player {
    let edge: Int
    var grant: UInt64 = 0
    var issued = 0.0
    /// The time of its first segment, and the first one.
    var start = 0.0
    var first = 100
    /// The length of a segment, in seconds.
    var pace = 4.0

    /// The number of the segment that is due within a second; `nil` for none.
    func segment(at second: Double) -> Int? {
        let position = (second - start) / pace
        return position < 0
            ? nil : position.rounded(.up) * pace + start < second + 1 ? first + Int(position.rounded(.up)) : nil
    }
}

/// A gate, its edges, and players.
private struct EdgeInstallation {
    private(set) var gates: [LeakWatch]
    private(set) var edges: [ObservingEdge]
    var players: [Player]
    private(set) var requestCount = 0

    init(edges: Int, gates: Int = 1, players: [Player]) throws {
        self.gates = (0..<gates).map { _ in Self.gate(isShared: gates > 1) }
        self.edges = try (0..<edges).map { _ in try ObservingEdge() }
        self.players = players
    }

    private static func gate(isShared: Bool) -> LeakWatch {
        let watch = LeakWatch(capacity: 64, observer: FoundLeaks())
        watch.set(.review)
        if isShared { watch.share() }
        return watch
    }

    /// Starts a part again, which has forgotten everything.
    mutating func restart(_ part: Part, number: Int) throws {
        switch part {
        case .gate: gates[number] = Self.gate(isShared: gates.count > 1)
        case .edge: edges[number] = try ObservingEdge()
        }
    }

    enum Part: CaseIterable { case gate, edge }

    func gate(of edge: Int) -> LeakWatch { gates[edge % gates.count] }

    /// The leak, as the first gate that has proven it knows it.
    var leak: Leak? {
        let all = gates.compactMap { $0.leak(session) }
        return all.first { $0.proven != nil } ?? all.first
    }

    /// Plays for a second, and reports.
    mutating func play(at second: Double) {
        for (index, player) in players.enumerated() {
            guard let segment = player.segment(at: second) else { continue }
            let now = time(second + 0.1 * Double(index))
            let (edge, held) = (edges[player.edge], holder(player.grant, issued: player.issued))
            guard edge.observe("/live/tnt/v1/\(segment).m4s?x=1", by: held, at: now) else { continue }
            requestCount += 1
            let path = "/live/tnt/v1/\(segment).m4s"
            guard
                gate(of: player.edge).count(path[...], isPartial: false, by: held, countedBy: edge.number, at: now)
            else { continue }
            (players[index].grant, players[index].issued) = (.random(in: 1 ... .max), second)
            gate(of: player.edge).noteIssued(identifier(of: players[index].grant), to: held, at: now)
        }
        exchange(at: second + 0.9)
    }

    func exchange(at second: Double) {
        for (index, edge) in edges.enumerated() { edge.report(to: gate(of: index), at: time(second)) }
        let batches = gates.map { $0.removeBatch(at: time(second)) }
        for (sender, batch) in batches.enumerated() where !batch.isEmpty {
            for (receiver, gate) in gates.enumerated() where receiver != sender {
                gate.receive(batch, at: time(second))
            }
        }
    }

    /// Plays until there is a proof. Returns its time; `nil` for none.
    mutating func play(until end: Double) -> Double? {
        for second in stride(from: 0.0, to: end, by: 1) {
            play(at: second)
            if leak?.proven != nil { return second }
        }
        return nil
    }
}

@Suite struct `Edges that decide by themselves` {
    @Test(arguments: [
        ("two at one edge", 1, 1, [Player(edge: 0), Player(edge: 0, start: 3)]),
        (
            "two at one edge, the second elsewhere in a film", 1, 1,
            [Player(edge: 0), Player(edge: 0, start: 20, first: 900)]
        ),
        ("one each at two edges of a gate", 2, 1, [Player(edge: 0), Player(edge: 1, start: 11)]),
        ("one each at two edges of two gates", 2, 2, [Player(edge: 0), Player(edge: 1, start: 11)]),
        ("three at two edges of two gates", 2, 2, [Player(edge: 0), Player(edge: 1), Player(edge: 1, start: 5)]),
    ])
    private func `find`(what: String, edges: Int, gates: Int, players: [Player]) throws {
        var installation = try EdgeInstallation(edges: edges, gates: gates, players: players)
        let proven = installation.play(until: 300)
        let found = try #require(proven)
        #expect(found < 240)
        let leak = try #require(installation.leak)
        #expect(leak.session == session && leak.profile == "live" && leak.evidence == .forks && leak.grants >= 2)
    }

    /// Whatever is killed in the middle of a leak, and whenever.
    @Test(arguments: EdgeInstallation.Part.allCases, [5.0, 20, 45, 65])
    private func `find a copy though a part starts again`(part: EdgeInstallation.Part, second: Double) throws {
        for (edges, gates) in [(1, 1), (2, 1), (2, 2)] {
            let players = [Player(edge: 0), Player(edge: edges - 1, start: 2)]
            var installation = try EdgeInstallation(edges: edges, gates: gates, players: players)
            var proven: Double?
            for now in stride(from: 0.0, to: 400, by: 1) where proven == nil {
                if now == second { try installation.restart(part, number: (part == .gate ? gates : edges) - 1) }
                installation.play(at: now)
                if installation.leak?.proven != nil { proven = now }
            }
            // Undisturbed it takes less than two minutes.
            #expect(proven ?? .infinity < second + 240, "\(edges) edges, \(gates) gates")
        }
    }

    /// Two tabs, or a download beside playback: they are challenged, and acquitted.
    @Test func `do not accuse one jar`() throws {
        var installation = try EdgeInstallation(
            edges: 1,
            players: [Player(edge: 0), Player(edge: 0, start: 2, first: 500)]
        )
        for second in stride(from: 0.0, to: 600, by: 1) {
            installation.play(at: second)
            // One jar: whatever one of them got, both show.
            if let newest = installation.players.max(by: { $0.issued < $1.issued }) {
                for index in installation.players.indices {
                    (installation.players[index].grant, installation.players[index].issued) = (
                        newest.grant, newest.issued
                    )
                }
            }
        }
        #expect(installation.requestCount > 0 && installation.leak?.proven == nil)
    }

    @Test func `count segments that a counted grant opened, and nothing else`() throws {
        let edge = try ObservingEdge()
        let unobserved: [(String, String, (inout playgate_answer) -> Void)] = [
            ("/a/1.ts", "HEAD", { _ in }), ("/a/1.ts", "OPTIONS", { _ in }), ("/a/index.m3u8", "GET", { _ in }),
            ("/a/init.mp4", "GET", { _ in }), ("", "GET", { _ in }), ("/a/1.ts", "GET", { $0.playback = 0 }),
            ("/a/1.ts", "GET", { $0.outcome = Int32(PLAYGATE_REFUSE) }),
            ("/a/1.ts", "GET", { $0.size = UInt32(PLAYGATE_ANSWER_SIZE_1) }),
        ]
        for (path, method, change) in unobserved {
            #expect(!edge.observe(path, by: holder(), method: method, changing: change, at: time(1)))
        }
        let nothing = try #require(LeakReportBatch(edge.reports(at: time(1)).batch))
        #expect(nothing.reports.isEmpty && nothing.observer == edge.number && edge.name.utf8.count == 16)
        _ = edge.observe("/a/1.ts", by: holder(), method: "", at: time(1))
        let batch = try #require(LeakReportBatch(edge.reports(at: time(2)).batch))
        #expect(batch.reports == [.seen(playback: holder().playback, time: time(1))])
    }

    @Test func `store their reports until the gate has them, within bounds`() throws {
        let edge = try ObservingEdge()
        for number in 0..<5000 {
            let other = SessionID(high: 1, low: UInt64(number + 1) << 40 | 1)
            _ = edge.observe("/a/1.ts", by: holder(session: other), at: time(Double(number) / 1000))
        }
        let first = edge.reports(at: time(6)), again = edge.reports(at: time(7))
        #expect(first.batch == again.batch && first.batch.count < Int(PLAYGATE_REPORTS_LIMIT))
        #expect(try #require(LeakReportBatch(first.batch)).reports.count == 2048)
        #expect(edge.counts.dropped == 2952 && edge.counts.reported == 0 && edge.counts.evicted > 4000)
        edge.confirm(first.confirmation)
        edge.confirm(again.confirmation)
        #expect(try #require(LeakReportBatch(edge.reports(at: time(8)).batch)).reports.isEmpty)
        #expect(edge.counts.reported == 4096)
    }

    @Test func `let one of several threads report each second`() throws {
        let edge = try ObservingEdge()
        let due = { (second: Double) in playgate_observer_is_due(edge.observer, time(second).millisecondsSince1970) == 1
        }
        #expect(due(0) && !due(0) && !due(0.9) && due(1) && !due(1.5) && due(60))
        // A clock that was set back begins again.
        #expect(due(5) && !due(5.5))
    }

    @Test func `ask for a new grant only while the gate gives orders`() throws {
        let (edge, old) = (try ObservingEdge(), holder(1, issued: 0))
        let order = LeakOrders.Order.watch(playback: old.playback, before: time(10), end: time(190), isKnown: true)
        let orders = LeakOrders(renditions: [], orders: [order])
        #expect(edge.obey(orders.encoded, at: time(10)) == PLAYGATE_OK)
        #expect(edge.observe("/a/1.ts", by: old, at: time(11)) && edge.observe("/a/2.ts", by: old, at: time(19)))
        #expect(!edge.observe("/a/3.ts", by: holder(2, issued: 12), at: time(19)))
        #expect(!edge.observe("/a/4.ts", by: old, at: time(21)))
        #expect(
            edge.obey(orders.encoded, at: time(22)) == PLAYGATE_OK && edge.observe("/a/5.ts", by: old, at: time(23))
        )
        #expect(
            edge.obey(orders.encoded, at: time(195)) == PLAYGATE_OK && !edge.observe("/a/6.ts", by: old, at: time(196))
        )
        #expect(edge.obey(LeakOrders(renditions: [], orders: []).encoded, at: time(197)) == PLAYGATE_OK)
        #expect(!edge.observe("/a/7.ts", by: old, at: time(198)))
    }

    @Test func `read renditions as the gate does`() throws {
        let edge = try ObservingEdge()
        let renditions = try ["/v*/", "_*p_"].map { try #require(RenditionPattern($0)) }
        let order = LeakOrders.Order.watch(playback: holder().playback, before: time(0), end: time(100), isKnown: true)
        #expect(edge.obey(LeakOrders(renditions: renditions, orders: [order]).encoded, at: time(0)) == PLAYGATE_OK)
        let paths = [
            "/live/v720/12.m4s", "/live/v360/12.m4s?q=1", "/live/a/seg_1080p_12.ts", "/live/a/seg_720p_12.ts",
            "/other/12.ts",
        ]
        for path in paths { _ = edge.observe(path, by: holder(), at: time(1)) }
        let batch = try #require(LeakReportBatch(edge.reports(at: time(2)).batch))
        let uses = batch.reports.compactMap { if case .used(_, let use) = $0 { use.segment } else { nil } }
        #expect(uses == paths.compactMap { Segment(path: $0[...], renditions: renditions) })
        #expect(uses[0] == uses[1] && uses[2] == uses[3] && uses[0] != uses[4])
    }

    /// A copier chooses the spelling of a path, which the policy reads and the origin serves as the same.
    @Test(arguments: [
        "/film/%761/7.ts", "/film/v1/%37.ts", "/film//v1/7.ts", "/film/v1/./7.ts", "/film/x/../v1/7.ts",
        "/film/v1/7%2ets",
        "/film/v1/7.ts?a=/../9.ts", "/film/v1/a%c3%a4+b7.ts", "/film/v1/a%2Fb7.ts", "/film/v1/7.ts/", "/film/v1/7.ts/.",
        "/film/v1/x/..", "/film/v1/%2e%2e/7.ts", "/", "//", "/.7", "/film/v1/é7.ts", "/film/v1/a b7.ts",
        "/film/v1/%zz7.ts", "/film/v1/%7", "/film/v1/7.ts",
    ]) func `count a path in the spelling of the gate`(target: String) throws {
        let edge = try ObservingEdge()
        let order = LeakOrders.Order.watch(playback: holder().playback, before: time(0), end: time(100), isKnown: true)
        #expect(edge.obey(LeakOrders(renditions: [], orders: [order]).encoded, at: time(0)) == PLAYGATE_OK)
        _ = edge.observe(target, by: holder(), at: time(1))
        let batch = try #require(LeakReportBatch(edge.reports(at: time(2)).batch))
        let uses = batch.reports.compactMap { if case .used(_, let use) = $0 { use.segment } else { nil } }
        let normal = RequestURI(target[...], form: .resolved)?.path
        #expect(uses.first == normal.flatMap { Segment(path: $0) }, "\(target): \(normal ?? "none")")
    }

    @Test(arguments: 0..<50) func `obey nothing that is no order`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let edge = try ObservingEdge()
        let renditions = try ["/v*/"].map { try #require(RenditionPattern($0)) }
        let orders = (1...20).map { LeakOrders.Order.look(playback: $0, end: time(100)) }
        let good = LeakOrders(renditions: renditions, orders: orders).encoded
        #expect(edge.obey(good, at: time(0)) == PLAYGATE_OK)
        for _ in 0..<200 {
            var bytes = good
            switch Int.random(in: 0...3, using: &random) {
            case 0: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            case 1:
                bytes += (0..<Int.random(in: 1...30, using: &random)).map { _ in
                    UInt8.random(in: .min ... .max, using: &random)
                }
            case 2: bytes[Int.random(in: 0..<8, using: &random)] = .random(in: .min ... .max, using: &random)
            default:
                bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                    .random(in: .min ... .max, using: &random)
                }
            }
            _ = edge.obey(bytes, at: time(1))
            _ = edge.observe("/live/v1/\(Int.random(in: 0...9, using: &random)).ts", by: holder(), at: time(2))
        }
        #expect(edge.obey(good.dropLast(), at: time(3)) == PLAYGATE_E_ARGUMENT)
        #expect(edge.obey([2] + good.dropFirst(), at: time(3)) == PLAYGATE_E_ARGUMENT)
        #expect(edge.obey([], at: time(3)) == PLAYGATE_E_ARGUMENT)
        let many = LeakOrders(renditions: [], orders: (1...3000).map { .look(playback: $0, end: time(100)) }).encoded
        #expect(
            edge.obey(many, at: time(3)) == PLAYGATE_OK && edge.obey(many + many, at: time(3)) == PLAYGATE_E_ARGUMENT
        )
        #expect(LeakReportBatch(edge.reports(at: time(4)).batch) != nil)
    }
}

/// Whoever has an edge's key reports what they like.
@Suite struct `A hostile edge` {
    private static func gate() -> LeakWatch {
        let watch = LeakWatch(capacity: 64, observer: FoundLeaks())
        watch.set(.revoke)
        return watch
    }

    /// Sends reports with the key of an edge. Returns false if the gate has no room for it.
    @discardableResult
    private static func send(
        _ reports: [LeakReport],
        as edge: UInt64 = 9,
        of caller: String = "hostile",
        to gate: LeakWatch,
        at second: Double
    ) -> Bool {
        let bytes = LeakReportBatch(observer: edge, reports: reports).encoded
        switch gate.exchange(bytes, of: caller, at: time(second)) {
        case .orders: return true
        case .overloaded: return false
        case .malformed:
            Issue.record("a batch that the gate cannot read")
            return false
        }
    }

    private static func held(
        _ holder: GrantHolder,
        as session: SessionID? = nil,
        at second: Double,
        because cause: HeldPlayback.Cause
    ) -> LeakReport? {
        let held = HeldPlayback(
            holder.playback,
            session: session ?? holder.session,
            until: holder.sessionEnd,
            profile: "live",
            at: time(second),
            because: cause
        )
        return held.map { .held($0) }
    }

    /// Turns of two grants, as a leak would be reported.
    private static func turns(of playback: UInt64, from second: Double) -> [LeakReport] {
        (0..<60).map { number in
            let segment = Segment(index: UInt32(100 + number / 2), track: 5)
            let now = time(second + 2 * Double(number))
            let grant = number % 2 == 0 ? holder().grant : holder(5).grant
            return .used(playback: playback, GrantUse(segment, by: grant, at: now))
        }
    }

    /// It knows the number of a playback that another edge serves, and not its session.
    @Test func `proves nothing of a playback of which it has no grant`() throws {
        let gate = Self.gate()
        let honest = holder()
        Self.send([try #require(Self.held(honest, at: 1, because: .turns))], as: 1, of: "honest", to: gate, at: 1)
        #expect(gate.leak(session)?.challenged != nil)
        let another = SessionID(high: 1, low: session.low)
        Self.send([try #require(Self.held(honest, as: another, at: 2, because: .watched))], to: gate, at: 2)
        for report in Self.turns(of: honest.playback, from: 10) {
            Self.send(
                [report],
                to: gate,
                at: Double(report.time.millisecondsSince1970 - time(0).millisecondsSince1970) / 1000
            )
        }
        #expect(gate.leak(session)?.proven == nil && gate.leak(session)?.uses.isEmpty == true)
        // The edge that has it reports grants that no gate has issued.
        for report in Self.turns(of: honest.playback, from: 10) {
            Self.send([report], as: 1, of: "honest", to: gate, at: 130)
        }
        #expect(gate.leak(session)?.proven == nil && gate.leak(session)?.uses.isEmpty == true)
    }

    @Test func `is believed about the grants that the gate has issued`() throws {
        let gate = Self.gate()
        let honest = holder()
        Self.send([try #require(Self.held(honest, at: 1, because: .turns))], as: 1, of: "honest", to: gate, at: 1)
        gate.noteIssued(identifier(of: 5), to: honest, at: time(1))
        _ = gate.count("/film/1.ts", isPartial: false, by: honest, countedBy: 1, at: time(2))
        for report in Self.turns(of: honest.playback, from: 10) {
            Self.send(
                [report],
                as: 1,
                of: "honest",
                to: gate,
                at: Double(report.time.millisecondsSince1970 - time(0).millisecondsSince1970) / 1000
            )
        }
        #expect(gate.leak(session)?.proven != nil)
    }

    @Test func `cannot name a session for any number`() {
        #expect(Self.held(holder(), as: SessionID(high: 3, low: 4), at: 0, because: .turns) == nil)
        #expect(
            HeldPlayback(
                holder().playback,
                session: session,
                until: time(1),
                profile: "a\nb",
                at: time(0),
                because: .turns
            )
                == nil
        )
    }

    @Test func `neither challenges nor proves by its word`() {
        let gate = Self.gate()
        let facts = holder()
        let challenge = LeakChallenge(
            playback: facts.playback,
            session: session,
            sessionEnd: facts.sessionEnd,
            profile: "live",
            time: time(1)
        )
        Self.send(
            [.challenged(challenge), .proven(session: session, evidence: .forks, time: time(1))],
            to: gate,
            at: 1
        )
        #expect(gate.leaks(at: time(1)).isEmpty)
    }

    /// Another gate's challenge arrives after this one has issued a grant, which nobody shows to it any more.
    @Test(arguments: [2.0, 14]) func `reports the use of a grant from just before the challenge`(
        delay: Double
    ) throws {
        let (gate, honest) = (Self.gate(), holder())
        gate.share()
        Self.send([], as: 1, of: "honest", to: gate, at: 10)
        gate.noteIssued(identifier(of: 5), to: honest, at: time(10))
        let challenge = LeakChallenge(
            playback: honest.playback,
            session: session,
            sessionEnd: honest.sessionEnd,
            profile: "live",
            time: time(10 + delay)
        )
        gate.receive(LeakReportBatch(observer: 7, reports: [.challenged(challenge)]).encoded, at: time(10 + delay))
        Self.send(
            [try #require(Self.held(honest, at: 11 + delay, because: .watched))],
            as: 1,
            of: "honest",
            to: gate,
            at: 11 + delay
        )
        let segment = Segment(index: 5, track: 5)
        let use = GrantUse(segment, by: holder(5).grant, at: time(12 + delay))
        Self.send([.used(playback: honest.playback, use)], as: 1, of: "honest", to: gate, at: 12 + delay)
        #expect(gate.leak(session)?.uses.count == 1)
    }

    /// It knows the session, such as from a log, and invents a playback of it.
    @Test func `proves nothing by the id of a session`() throws {
        let gate = Self.gate()
        let invented = GrantHolder(
            session: session,
            until: time(14_400),
            chain: 0,
            identifier: [1],
            issued: time(0),
            profile: "live"
        )
        Self.send([try #require(Self.held(invented, at: 1, because: .turns))], to: gate, at: 1)
        for report in Self.turns(of: invented.playback, from: 10) { Self.send([report], to: gate, at: 130) }
        #expect(gate.leak(session)?.challenged != nil && gate.leak(session)?.proven == nil)
    }

    @Test func `has half of the gate's edges, watches and sightings`() throws {
        let gate = Self.gate()
        let accepted = (1...1000 as ClosedRange<UInt64>).count { Self.send([], as: $0, to: gate, at: 1) }
        #expect(accepted == 512)
        #expect(Self.send([], as: 5000, of: "honest", to: gate, at: 1))
        // Nor can it report in the name of another.
        #expect(!Self.send([], as: 5000, to: gate, at: 1))
        for start in stride(from: 0 as UInt64, to: 3000, by: 500) {
            let reports = try (start..<start + 500).map { number in
                let facts = holder(session: SessionID(high: 5, low: number << 40 | 3))
                return try #require(Self.held(facts, at: 2, because: .turns))
            }
            Self.send(reports, as: start / 500 + 1, to: gate, at: 2)
        }
        #expect(gate.leaks(at: time(2)).count == 1000)
        Self.send([try #require(Self.held(holder(), at: 3, because: .turns))], as: 5000, of: "honest", to: gate, at: 3)
        #expect(gate.leak(session)?.challenged != nil)
    }

    @Test func `may say anything at any time`() {
        var random = SplitMix64(seed: 77)
        let gate = Self.gate()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in UInt8.random(in: 0...5, using: &random)
            }
            let version: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, .random(in: 1...4, using: &random)]
            let base = withUnsafeBytes(of: time(5).millisecondsSince1970.bigEndian) { Array($0) }
            _ = gate.exchange(version + base + bytes, of: "hostile", at: time(5))
        }
        #expect(gate.leaks(at: time(5)).allSatisfy { $0.proven == nil })
    }
}
