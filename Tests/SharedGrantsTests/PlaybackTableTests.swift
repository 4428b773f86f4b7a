// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import SharedGrants
import Testing

@Suite struct `A table of playbacks` {
    /// A request for a segment of one track, a number of seconds after the start.
    private typealias Request = (seconds: Double, index: UInt32)

    /// The number of turns from 1 on that the requests reach; 0 for none.
    private static func level(of requests: [Request]) -> Int {
        (1...20).last { limit in
            let table = PlaybackTable(capacity: 64)
            return requests.contains { table.count($0, suspicion: limit).contains(.suspected) }
        } ?? 0
    }

    private static func steady(_ indices: some Sequence<UInt32>, from start: Double = 0) -> [Request] {
        indices.enumerated().map { (start + 4 * Double($0.offset), $0.element) }
    }

    private static let histories: [(name: String, requests: [Request], level: Int)] = [
        ("one player", steady(1...50), 0),
        ("one player that repeats each tenth segment", steady((1...50).flatMap { $0 % 10 == 0 ? [$0, $0] : [$0] }), 1),
        ("a seek forward and back", steady(Array(1...10) + Array(500...510) + Array(11...20)), 1),
        ("again ten seconds", steady(Array(1...10) + Array(8...20)), 1),
        ("two players at one position", steady((1...20).flatMap { [$0, $0] }), 20),
        ("two players, one a segment behind", steady((2...20).flatMap { [$0, $0 - 1] }), 18),
        ("two players, one 20 segments behind", steady((100...160).flatMap { [$0, $0 - 20] }), 20),
        ("two players far apart", steady((1...20).flatMap { [$0, $0 + 1000] }), 20),
        ("three players at one position", steady((1...8).flatMap { [$0, $0, $0] }), 15),
        ("one player that fills what it left out", steady([1, 3, 2, 5, 4, 7, 6, 9, 8]), 0),
    ]

    @Test(arguments: histories.indices)
    func `counts turns`(number: Int) {
        let history = Self.histories[number]
        let level = Self.level(of: history.requests)
        // Some turns are lost at the start, or fade between others.
        #expect(
            history.level < 5 ? level <= history.level : level >= history.level * 3 / 4,
            "\(history.name): \(level)"
        )
    }

    @Test func `forgets turns as one player goes on`() {
        let table = PlaybackTable(capacity: 64)
        for request in Self.steady([1, 1, 2, 2, 3, 3, 4, 4]) {
            #expect(!table.count(request, suspicion: 5).contains(.suspected))
        }
        for request in Self.steady(5...40, from: 60) {
            #expect(!table.count(request, suspicion: 5).contains(.suspected))
        }
        for request in Self.steady([41, 41, 42, 42, 43, 43, 44, 44], from: 240) {
            #expect(!table.count(request, suspicion: 5).contains(.suspected))
        }
    }

    @Test func `begins again after a suspicion`() {
        let table = PlaybackTable(capacity: 64)
        let requests = Self.steady((1...40).flatMap { [$0, $0] })
        #expect(requests.count { table.count($0, suspicion: 5).contains(.suspected) } == 7)
    }

    @Test func `reports a playback at first, and each half minute`() {
        let table = PlaybackTable(capacity: 64)
        let counts = Self.steady(1...24).map { (second: $0.seconds, count: table.count($0, suspicion: 5)) }
        #expect(counts.filter { $0.count.contains(.new) }.map(\.second) == [0])
        #expect(counts.filter { $0.count.contains(.seen) }.map(\.second) == [32, 64])
    }

    @Test func `knows which playbacks are watched`() {
        let table = PlaybackTable(capacity: 64)
        table.setWatched(true, for: 42)
        #expect(!table.count((0, 1), suspicion: 5).contains(.watched))
        table.setWatched(true, for: 42)
        #expect(table.count((4, 2), suspicion: 5).contains(.watched))
        table.setWatched(false, for: 42)
        #expect(!table.count((8, 3), suspicion: 5).contains(.watched))
    }

    /// A player may fetch a segment in several parts. Two players at other positions are still two.
    @Test(arguments: [([0, 0, 0, 0], false), ([0, 1000], true)] as [([UInt32], Bool)])
    func `counts no turns of parts`(offsets: [UInt32], isSuspected: Bool) {
        let table = PlaybackTable(capacity: 64)
        let found = (1...40 as ClosedRange<UInt32>).contains { index in
            offsets.contains { offset in
                let time = Timestamp(millisecondsSince1970: Int64(index) * 4000)
                let segment = Segment(index: index + offset, track: 7)
                return table.count(segment, isPartial: true, of: 42, at: time, suspicion: 5).contains(.suspected)
            }
        }
        #expect(found == isSuspected)
    }

    /// Invented names push each other out, and not the track on which players alternate.
    @Test func `counts turns beside invented tracks`() {
        let table = PlaybackTable(capacity: 64)
        let found = (1...40 as ClosedRange<UInt32>).contains { index in
            let time = Timestamp(millisecondsSince1970: Int64(index) * 4000)
            for track: UInt16 in 100...107 {
                _ = table.count(Segment(index: index, track: track), of: 42, at: time, suspicion: 5)
            }
            let counts = (0..<2).map { _ in table.count(Segment(index: index, track: 7), of: 42, at: time, suspicion: 5)
            }
            return counts.contains { $0.contains(.suspected) }
        }
        #expect(found)
    }

    /// A clock that was set back makes nothing old.
    @Test func `survives a clock that is set back`() {
        let table = PlaybackTable(capacity: 64)
        for seconds in [1000.0, 1004, 500, 504, 508, 1008] {
            let count = table.count((seconds, UInt32(seconds / 4)), suspicion: 5)
            #expect(count.contains(.new) == (seconds == 1000) && !count.contains(.seen), "\(seconds)")
        }
    }

    @Test func `forgets the playback that was not seen for the longest time`() {
        let table = PlaybackTable(capacity: 64)
        for number in 1...1000 {
            let time = Timestamp(millisecondsSince1970: Int64(number) * 1000)
            _ = table.count(
                Segment(index: 1, track: 1),
                of: UInt64(number) &* 0x9E37_79B9_7F4A_7C15,
                at: time,
                suspicion: 5
            )
        }
        #expect(table.evicted >= 1000 - 64 && table.evicted < 1000)
        // The latest one is known.
        let last = Timestamp(millisecondsSince1970: 1_001_000)
        let count = table.count(Segment(index: 2, track: 1), of: 1000 &* 0x9E37_79B9_7F4A_7C15, at: last, suspicion: 5)
        #expect(!count.contains(.new))
    }

    @Test func `is shared by threads`() async {
        let table = PlaybackTable(capacity: 1024)
        await withTaskGroup(of: Int.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    (1...2000).count { number in
                        let segment = Segment(index: UInt32(number), track: UInt16(1 + thread))
                        let time = Timestamp(millisecondsSince1970: 5_000_000)
                        return table.count(segment, of: 42, at: time, suspicion: 5).contains(.suspected)
                    }
                }
            }
            // Each thread has a track of its own, and goes forward only.
            #expect(await group.reduce(0, +) == 0)
        }
    }

    /// Times and numbers of any size are counted.
    @Test(arguments: [0, 1, Int64.max, -1, 1 << 35])
    func `accepts any time and number`(time: Int64) {
        let table = PlaybackTable(capacity: 64)
        for index: UInt32 in [0, .max, 1, .max - 1, 0] {
            for track: UInt16 in [0, 1, .max] {
                let now = Timestamp(millisecondsSince1970: time)
                #expect(
                    !table.count(Segment(index: index, track: track), of: 0, at: now, suspicion: 63).contains(
                        .suspected
                    )
                )
            }
        }
    }
}

extension PlaybackTable {
    fileprivate func count(_ request: (seconds: Double, index: UInt32), suspicion: Int) -> Count {
        let time = Timestamp(millisecondsSince1970: Int64(request.seconds * 1000))
        return count(Segment(index: request.index, track: 7), of: 42, at: time, suspicion: suspicion)
    }
}
