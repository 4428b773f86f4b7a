// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Platform
import ReplayStores
import SharedGrants

/// Gates whose edges ask them for each request, or decide by themselves and report: the product's own watch, table of turns, evidence,
/// reports, observer and ledger.
///
/// Several gates exchange their reports each second, which arrive up to two seconds later, and their clocks differ by up to half a
/// second.
struct GateInstallation: Installation {
    /// The gates, and their settings.
    struct Setup {
        /// The number of gates.
        var count = 1
        /// The number of edges that decide by themselves; 0 if edges ask.
        var edges = 0
        /// True if a request may go to any gate; false if an edge asks the one of its number.
        var isBalanced = false
        /// The age from which on a grant is renewed, in seconds: life 5 m, deadline 2 m.
        var renewalAge = 180.0
        /// The setting `leaks.handover`.
        var handover = Duration.seconds(45)
    }

    private let setup: Setup
    private var gates: [Gate]
    private var edges: [Edge]
    private var inTransit: [(arrival: Double, gate: Int, batch: [UInt8])] = []
    private var nextExchange = 0.0
    /// The bytes of the reports that all gates have sent. A real gate sends those of all its playbacks in one batch, so that the
    /// head of each does not count.
    private(set) var sentBytes = 0
    private let session: SessionID
    private var branch: RenewalBranch?
    private var renewalProof: Double?
    private var random: SeededRandom
    private var lastChallenge: Timestamp?
    private(set) var challenges = 0
    private static let (start, end) = (1_000_000.0, 2_000_000.0)
    private static let chain: UInt32 = 1

    private struct Gate {
        let watch: LeakWatch
        /// The lead of its clock, in seconds.
        let lead: Double
    }

    private struct Edge {
        let edge = ObservingEdge()
        /// The lead of its clock, in seconds.
        let lead: Double
    }

    /// Creates gates.
    ///
    /// - Parameter seed: The seed of the identities of grants.
    init(_ setup: Setup, seed: UInt64) {
        self.setup = setup
        var random = SeededRandom(seed: seed, stream: 1 << 32)
        gates = (0..<setup.count).map { _ in
            let watch = LeakWatch(capacity: 64, observer: NoObserver())
            watch.set(.review, handover: setup.handover)
            if setup.count > 1 { watch.share() }
            return Gate(watch: watch, lead: setup.count > 1 ? random.uniform(in: -0.5...0.5) : 0)
        }
        edges = (0..<setup.edges).map { _ in Edge(lead: random.uniform(in: -0.5...0.5)) }
        self.random = random
        session = SessionID(high: 1, low: random.next())
    }

    private static func time(_ seconds: Double) -> Timestamp {
        Timestamp(millisecondsSince1970: Int64((start + seconds) * 1000))
    }

    private static func identifier(of grant: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: grant >> ($0 * 8)) }
    }

    mutating func serve(_ request: SegmentRequest) -> HeldGrant? {
        if gates.count > 1 || !edges.isEmpty { exchangeReports(until: request.time) }
        let number = setup.isBalanced ? random.integer(in: 0...gates.count - 1) : request.edge % gates.count
        let gate = gates[number]
        let (held, watch, now) = (request.grant, gate.watch, Self.time(request.time + gate.lead))
        let holder = GrantHolder(
            session: session,
            until: Self.time(Self.end),
            chain: Self.chain,
            identifier: Self.identifier(of: held.id),
            issued: Timestamp(secondsSince1970: Self.time(held.issued).seconds),
            profile: "live"
        )
        let isDue = request.time - held.issued >= setup.renewalAge
        let edge = edges.isEmpty ? nil : edges[request.edge % edges.count]
        // An edge that decides by itself asks for what the gate alone can do.
        let isAsked = edge.map { $0.edge.observe(request.path, by: holder, at: Self.time(request.time + $0.lead)) } ?? true
        let isChallenged =
            (isAsked || isDue)
            && watch.count(request.path[...], isPartial: false, by: holder, countedBy: edge?.edge.number, at: now)
        if isDue { renew(held, at: request.time) }
        if isChallenged, let time = watch.leak(session)?.challenged, time != lastChallenge {
            challenges += 1
            lastChallenge = time
        }
        guard isDue || isChallenged else { return nil }
        let issued = random.next()
        watch.noteIssued(Self.identifier(of: issued), to: holder, at: now)
        return HeldGrant(id: issued, issued: request.time + gate.lead, generation: held.generation + 1)
    }

    private mutating func renew(_ held: HeldGrant, at time: Double) {
        let renewal = GrantRenewal(
            session: session,
            chain: UInt64(Self.chain),
            generation: held.generation,
            parent: held.id,
            expires: Self.time(time + 600)
        )
        guard var present = branch else {
            branch = RenewalBranch(renewal)
            return
        }
        if case .sibling(let generations) = present.note(renewal), generations >= 2, renewalProof == nil {
            renewalProof = time
        }
        branch = present
    }

    /// Sends the reports of each second, and delivers those that have arrived.
    private mutating func exchangeReports(until time: Double) {
        while nextExchange <= time {
            for (number, edge) in edges.enumerated() {
                let gate = gates[number % gates.count]
                let sent = edge.edge.report(
                    to: gate.watch,
                    edgeTime: Self.time(nextExchange + edge.lead),
                    gateTime: Self.time(nextExchange + gate.lead)
                )
                sentBytes += sent - LeakReportBatch.headerSize
            }
            for (number, gate) in gates.enumerated() {
                let batch = gate.watch.removeBatch(at: Self.time(nextExchange + gate.lead))
                if batch.isEmpty { continue }
                sentBytes += batch.count - LeakReportBatch.headerSize
                inTransit.append((nextExchange + random.uniform(in: 0...2), number, batch))
            }
            deliver(until: nextExchange)
            nextExchange += 1
        }
    }

    private mutating func deliver(until time: Double) {
        for report in inTransit where report.arrival <= time {
            for (number, gate) in gates.enumerated() where number != report.gate {
                gate.watch.receive(report.batch, at: Self.time(time + gate.lead))
            }
        }
        inTransit.removeAll { $0.arrival <= time }
    }

    private func earliestProof() -> Timestamp? { gates.compactMap { $0.watch.leak(session)?.proven }.min() }

    var proven: Double? {
        let byForks = earliestProof().map { Double($0.millisecondsSince1970) / 1000 - Self.start }
        return [byForks, renewalProof].compactMap(\.self).min()
    }

    var isSuspected: Bool { challenges > 0 || renewalProof != nil }
}

private struct NoObserver: LeakObserver {
    func observeSuspected(_ leak: Leak) {}
    func observeChallenged(_ leak: Leak) {}
    func observeProven(_ leak: Leak) {}
    func observeUnproven(_ leak: Leak) {}
    func observeRevoked(_ leak: Leak) {}
    func countDropped() {}
}
