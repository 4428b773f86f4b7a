// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Platform
import ReplayStores
import SharedGrants

/// One gate whose edges ask it for each request: the product's own watch, table of turns, evidence and ledger.
struct GateInstallation: Installation {
    private let watch: LeakWatch
    private let session: SessionID
    private var branch: RenewalBranch?
    private var renewalProof: Double?
    private var random: SeededRandom
    private var lastChallenge: Timestamp?
    private(set) var challenges = 0
    /// The age from which on a grant is renewed: life 5 m, deadline 2 m.
    private static let renewalAge = 180.0
    private static let (start, end) = (1_000_000.0, 2_000_000.0)
    private static let chain: UInt32 = 1

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - handover: The setting `leaks.handover`.
    ///   - seed: The seed of the identities of grants.
    init(handover: Duration, seed: UInt64) {
        watch = LeakWatch(capacity: 64, observer: NoObserver())
        watch.set(.review, handover: handover)
        random = SeededRandom(seed: seed, stream: 1 << 32)
        session = SessionID(high: 1, low: random.next())
    }

    private static func time(_ seconds: Double) -> Timestamp {
        Timestamp(millisecondsSince1970: Int64((start + seconds) * 1000))
    }

    mutating func serve(_ request: SegmentRequest) -> HeldGrant? {
        let (held, now) = (request.grant, Self.time(request.time))
        let holder = GrantHolder(
            session: session,
            until: Self.time(Self.end),
            chain: Self.chain,
            identifier: (0..<8).map { UInt8(truncatingIfNeeded: held.id >> ($0 * 8)) },
            issued: Timestamp(secondsSince1970: Self.time(held.issued).seconds),
            profile: "live"
        )
        watch.count(request.path[...], by: holder, at: now)
        let isDue = request.time - held.issued >= Self.renewalAge
        if isDue { renew(held, at: request.time) }
        let isChallenged = watch.demandsFreshGrant(from: holder, at: now)
        if isChallenged, let time = leak?.challenged, time != lastChallenge {
            challenges += 1
            lastChallenge = time
        }
        guard isDue || isChallenged else { return nil }
        return HeldGrant(id: random.next(), issued: request.time, generation: held.generation + 1)
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

    private var leak: Leak? { watch.leak(session) }

    var proven: Double? {
        let byForks = leak?.proven.map { Double($0.millisecondsSince1970) / 1000 - Self.start }
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
