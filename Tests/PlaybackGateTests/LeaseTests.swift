// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import Testing

@Suite struct `Leases in memory` {
    private static func lease(_ number: Int, viewer: Int = 0, limit: Int = 64, life: Int64 = 310) -> StreamLease {
        let tag = SubjectTag(high: 7, low: UInt64(viewer))
        return StreamLease(
            LeaseKey(requestor: "REF30", mvpd: SubjectTag(high: 9, low: 9), viewer: tag),
            session: SessionID(high: 1, low: UInt64(number)),
            limit: limit,
            expires: GateSample.time.adding(seconds: life)
        )
    }

    @Test func `are as many as fit, and none is forgotten for another`() {
        let store = MemoryReplayStore(capacity: 1, leaseCapacity: 1000)
        let now = GateSample.time
        for number in 0..<1000 {
            #expect(store.acquireNow(Self.lease(number, viewer: number / 2), at: now) == .taken)
        }
        #expect(store.acquireNow(Self.lease(1000, viewer: 1000), at: now) == .full)
        for number in 0..<1000 {
            #expect(store.acquireNow(Self.lease(number, viewer: number / 2), at: now) == .renewed)
        }
        #expect(store.freeNow(SessionID(high: 1, low: 500), at: now))
        // One that ends before all others, so that there is room as soon as it is over.
        #expect(store.acquireNow(Self.lease(1000, viewer: 1000, life: 5), at: now) == .taken)
        #expect(store.acquireNow(Self.lease(1001, viewer: 1001), at: now.adding(seconds: 4)) == .full)
        #expect(store.acquireNow(Self.lease(1001, viewer: 1001), at: now.adding(seconds: 5)) == .taken)
        #expect(store.leaseCount == 1000)
    }

    @Test func `are forgotten when they are over, without a call for their viewer`() {
        let store = MemoryReplayStore(capacity: 1)
        for number in 0..<5000 { _ = store.acquireNow(Self.lease(number, viewer: number), at: GateSample.time) }
        let later = GateSample.time.adding(seconds: 310)
        for number in 5000..<7000 {
            _ = store.acquireNow(Self.lease(number, viewer: 10_000 + number, life: 600), at: later)
        }
        #expect(store.leaseCount < 2500)
    }

    @Test func `count for requestor, MVPD and viewer together`() {
        let tag = SubjectTag(high: 1, low: 2)
        let mvpd = SubjectTag(high: 3, low: 4)
        let key = LeaseKey(requestor: "AB", mvpd: mvpd, viewer: tag)
        let others = [
            LeaseKey(requestor: "A", mvpd: mvpd, viewer: tag), LeaseKey(requestor: "AB", mvpd: tag, viewer: tag),
            LeaseKey(requestor: "AB", mvpd: mvpd, viewer: mvpd), LeaseKey(requestor: "AB", mvpd: tag, viewer: mvpd),
        ]
        #expect(key == LeaseKey(requestor: "AB", mvpd: mvpd, viewer: tag))
        for other in others { #expect(other != key) }
    }

    @Test(arguments: [(-1, 1), (0, 1), (3, 3), (64, 64), (65, 64)])
    func `have a limit from 1 to 64`(limit: Int, clamped: Int) {
        #expect(Self.lease(1, limit: limit).limit == clamped)
    }
}

@Suite struct `Identifiers of 16 bytes` {
    @Test func `are written and read as hexadecimal digits`() throws {
        let session = try #require(SessionID(hexadecimal: "e688045C604d5ecc272cf7d83b00ec16"))
        #expect(session.hexadecimal == "e688045c604d5ecc272cf7d83b00ec16")
        #expect(session.high == 0xe688_045c_604d_5ecc && session.low == 0x272c_f7d8_3b00_ec16)
        #expect(SessionID(bytes: session.bytes) == session)
    }

    @Test(arguments: [
        "", "e688045c604d5ecc272cf7d83b00ec1", "e688045c604d5ecc272cf7d83b00ec161", "g688045c604d5ecc272cf7d83b00ec16",
    ])
    func `are of 32 digits and nothing else`(text: String) { #expect(SessionID(hexadecimal: text) == nil) }

    @Test(arguments: [0, 15, 17, 32]) func `are of 16 bytes and no other number`(count: Int) {
        #expect(SubjectTag(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }
}
