// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import GateTestSupport
import Platform
import ReplayStores
import SharedGrants
import Synchronization
import Testing

/// The reports on playbacks that gates exchange by their store.
@Suite struct `Every store for reports` {
    @Test(arguments: StoreKind.present)
    func `hands the batches of each gate to all, once`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let start = try await first.exchange([1], after: nil)
            guard first.isShared else {
                #expect(start.batches.isEmpty)
                return
            }
            #expect(start.batches == [[1]])
            let other = try await second.exchange([2, 0, 255], after: nil)
            #expect(other.batches == [[1], [2, 0, 255]])
            let next = try await first.exchange([], after: start.position)
            #expect(next.batches == [[2, 0, 255]] && next.position == other.position)
            #expect(
                try await first.exchange([], after: next.position)
                    == PlaybackReports(batches: [], position: next.position)
            )
            #expect(try await second.exchange([3], after: other.position).batches == [[3]])
        }
    }

    /// A gate that was away for a while reads on where it was, in steps.
    @Test(arguments: StoreKind.present.filter { $0 == .redis || $0 == .cluster })
    func `hands over many batches in steps`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            for number in 0..<600 { _ = try await first.exchange([UInt8(number % 256), 1], after: "0-0") }
            var (position, batches): (String?, [[UInt8]]) = ("0-0", [])
            for _ in 0..<4 {
                let answer = try await second.exchange([], after: position)
                #expect(answer.batches.count <= 256)
                position = answer.position
                batches += answer.batches
            }
            #expect(batches == (0..<600).map { [UInt8($0 % 256), 1] })
        }
    }

    /// The viewer asks one gate and the copier another. Each sees one player.
    @Test(arguments: StoreKind.present.filter { $0 == .redis || $0 == .cluster })
    func `let two gates find what neither sees by itself`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let stores: [any ReplayStore] = [first, second]
            let observer = ProofCounter()
            let gates = [LeakWatch(capacity: 64, observer: observer), LeakWatch(capacity: 64, observer: observer)]
            let shared = Shared()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, gate) in gates.enumerated() {
                    gate.set(.revoke)
                    group.addTask {
                        await gate.run(
                            store: stores[number],
                            clock: { shared.clock.withLock { $0 } },
                            sleep: { _ in
                                shared.exchanges.withLock { $0[number] += 1 }
                                try? await Task.sleep(for: .milliseconds(5))
                            }
                        ) { session, _ in
                            _ = shared.revoked.withLock { $0.insert(session) }
                            return true
                        }
                    }
                }
                try await waitUntil { shared.exchanges.withLock { $0.allSatisfy { $0 > 0 } } }
                var jars = [Self.holder(grant: 0, issued: 0), Self.holder(grant: 0, issued: 0)]
                let session = jars[0].session
                for number in 0..<40 where gates[0].leak(session)?.proven == nil {
                    shared.clock.withLock { $0 = $0.advanced(byMilliseconds: 4000) }
                    let now = shared.clock.withLock { $0 }
                    for (viewer, gate) in gates.enumerated() {
                        let path = "/live/tnt/v720/seg_\(number).m4s"
                        guard gate.count(path[...], isPartial: false, by: jars[viewer], at: now) else { continue }
                        jars[viewer] = Self.holder(grant: UInt8(1 + viewer), issued: now.seconds)
                    }
                    let before = shared.exchanges.withLock { $0 }
                    try await waitUntil { shared.exchanges.withLock { $0[0] > before[0] + 2 && $0[1] > before[1] + 2 } }
                }
                try await waitUntil { gates.allSatisfy { $0.leak(session)?.proven != nil } }
                try await waitUntil { shared.revoked.withLock { $0.contains(session) } }
                // One of the gates reports it, and both had the time to.
                let before = shared.exchanges.withLock { $0 }
                try await waitUntil { shared.exchanges.withLock { $0[0] > before[0] + 20 && $0[1] > before[1] + 20 } }
                #expect(observer.proofs == 1)
                group.cancelAll()
            }
        }
    }

    private static func holder(grant: UInt8, issued: Int64) -> GrantHolder {
        GrantHolder(
            session: SessionID(high: 7, low: 8),
            until: Timestamp.now().advanced(byMilliseconds: 3_600_000),
            chain: 1,
            identifier: [grant],
            issued: Timestamp(secondsSince1970: issued),
            profile: "live"
        )
    }
}

/// What the gates of a test have in common.
private final class Shared: Sendable {
    let clock = Mutex(Timestamp.now())
    /// The number of exchanges of each gate.
    let exchanges = Mutex([0, 0])
    let revoked = Mutex<Set<SessionID>>([])
}

private final class ProofCounter: LeakObserver {
    private let count = Mutex(0)
    var proofs: Int { count.withLock { $0 } }

    func observeProven(_ leak: Leak) { count.withLock { $0 += 1 } }
    func observeSuspected(_ leak: Leak) {}
    func observeChallenged(_ leak: Leak) {}
    func observeUnproven(_ leak: Leak) {}
    func observeRevoked(_ leak: Leak) {}
    func countDropped() {}
}
