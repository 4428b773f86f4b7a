// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import EmbeddedGate
import Platform

@testable import SharedGrants

extension Target {
    private static let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)

    /// The names of segments, with a pattern of renditions in the first line; and lines of logs.
    static let segment = Target(name: "segment") { input in
        var input = input
        if case .segment(let found) = LoggedSegment.read(input.bytes.span, renditions: []) {
            demand(found.playback != 0 && found.segment.track != 0, or: "a playback or a track without a number")
            demand(found.name.utf8.count == 32, or: "an id of another length")
        }
        let pattern = String(validating: input.line(), as: UTF8.self).flatMap { RenditionPattern($0) }
        guard let path = input.text?[...] else { return }
        let segment = Segment(path: path)
        demand(segment?.track != 0, or: "a segment without a track")
        demand(segment == Segment(path: path, renditions: []), or: "two readers")
        demand(segment == Segment(path: path + "?v=1/2.ts"), or: "a query that counts")
        guard let pattern else { return }
        let renditions = [pattern]
        let replaced = Segment(path: path, renditions: renditions)
        demand(replaced?.track != 0, or: "a segment without a track")
        let prefix = pattern.text.prefix { $0 != "*" }
        guard !String(path).contains(prefix) else { return }
        demand(replaced == segment, or: "a pattern that nothing matches")
    }

    /// Batches of reports, from another gate and from an edge.
    static let reports = Target(name: "reports") { input in
        guard let batch = LeakReportBatch(input.bytes) else { return }
        let again = LeakReportBatch(batch.encoded)
        demand(again?.observer == batch.observer, or: "another batch")
        let isNear = batch.reports.allSatisfy {
            abs($0.time.millisecondsSince1970 / 4 - now.millisecondsSince1970 / 4) < 1 << 28
        }
        if isNear { demand(again?.reports == batch.reports, or: "other reports") }
        var gate = LeakCases()
        _ = gate.set(.revoke, handover: .seconds(45))
        gate.isShared = true
        demand(gate.note(edge: 9, of: 1, at: now), or: "no room for an edge")
        for report in batch.reports {
            let time = report.time
            for event in gate.apply(report, ofEdge: 9, at: time) + gate.apply(report, of: batch.observer, at: time) {
                if case .proven(let leak) = event { demand(leak.returns >= 3, or: "a proof without returns") }
            }
            demand(gate.watchCount <= 2048, or: "too many watches")
        }
        demand(gate.orders(for: 9, at: now).count <= 2048 + 1024, or: "too many orders")
    }

    /// The service's orders to an observer.
    static let orders = Target(name: "orders") { input in
        var input = input
        let size = playgate_observer_size(64)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        defer { memory.deallocate() }
        guard let observer = playgate_observer_create(memory, size, 64) else { return }
        let path = Words(input.line()), bytes = Words(input.bytes)
        let time = now.millisecondsSince1970
        let isObeyed = playgate_observer_obey(observer, bytes.slice, time) == PLAYGATE_OK
        var request = playgate_request()
        request.size = UInt32(MemoryLayout<playgate_request>.size)
        (request.target, request.now) = (path.slice, time)
        var answer = playgate_answer()
        (answer.size, answer.outcome) = (UInt32(MemoryLayout<playgate_answer>.size), Int32(PLAYGATE_ALLOW))
        let session = Words(Array("000102030405060708090a0b0c0d0e0f".utf8))
        (answer.session, answer.playback, answer.playback_end) = (session.slice, 0x0809_0A0B_0C0D_0E0F, time)
        for second in 0..<3 as Range<Int64> {
            request.now = time + second * 1000
            let isCalled = playgate_observe(observer, &request, &answer) == 1
            demand(isObeyed || !isCalled, or: "orders that are none")
        }
        var reports = playgate_reports()
        reports.size = UInt32(MemoryLayout<playgate_reports>.size)
        var batch = [CChar](repeating: 0, count: Int(PLAYGATE_REPORTS_LIMIT))
        let length = playgate_observer_reports(observer, time + 3000, &batch, &reports)
        let read = LeakReportBatch(batch.prefix(length).map { UInt8(bitPattern: $0) })
        demand(read?.reports.count == Int(reports.count), or: "a batch that no gate reads")
    }
}
