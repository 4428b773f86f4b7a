// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import EdgeTokens
import GateTestSupport
import Platform
import SharedGrants
import Testing

/// An edge that decides by itself: the observer of the C interface, with its reports and orders.
final class ObservingEdge {
    let observer: OpaquePointer
    private let memory: UnsafeMutableRawPointer

    /// Creates an edge whose observer has a record for each of 64 playbacks.
    init() throws {
        let size = playgate_observer_size(64)
        memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        observer = try #require(playgate_observer_create(memory, size, 64))
    }

    deinit { memory.deallocate() }

    /// The number by which gates know it.
    var number: UInt64 { UInt64(name, radix: 16) ?? 0 }

    var name: String {
        let name = playgate_observer_name(observer)
        return String(decoding: UnsafeRawBufferPointer(start: name.bytes, count: name.length), as: UTF8.self)
    }

    /// Counts a request that was allowed. Returns true if the edge calls the gate.
    func observe(
        _ path: String,
        by holder: GrantHolder,
        method: String = "GET",
        changing change: (inout playgate_answer) -> Void = { _ in },
        at now: Timestamp
    ) -> Bool {
        // Texts are good for a request.
        let slices = SliceMemory()
        var request = playgate_request()
        request.size = UInt32(MemoryLayout<playgate_request>.size)
        request.now = now.millisecondsSince1970
        request.method = slices.slice(method)
        request.target = slices.slice(path)
        var answer = playgate_answer()
        answer.size = UInt32(MemoryLayout<playgate_answer>.size)
        answer.outcome = Int32(PLAYGATE_ALLOW)
        answer.playback = holder.playback
        answer.grant_number = holder.grant
        answer.issued = holder.issued.millisecondsSince1970
        answer.playback_end = holder.sessionEnd.millisecondsSince1970
        answer.session = slices.slice(holder.session.hexadecimal)
        answer.profile = slices.slice(holder.profile)
        change(&answer)
        return withExtendedLifetime(slices) { playgate_observe(observer, &request, &answer) == 1 }
    }

    /// The reports that wait, and what confirms them.
    func reports(at now: Timestamp) -> (batch: [UInt8], confirmation: playgate_reports) {
        var reports = playgate_reports()
        reports.size = UInt32(MemoryLayout<playgate_reports>.size)
        var bytes = [CChar](repeating: 0, count: Int(PLAYGATE_REPORTS_LIMIT))
        let length = playgate_observer_reports(observer, now.millisecondsSince1970, &bytes, &reports)
        return (bytes.prefix(length).map { UInt8(bitPattern: $0) }, reports)
    }

    func confirm(_ reports: playgate_reports) {
        withUnsafePointer(to: reports) { playgate_observer_confirm(observer, $0) }
    }

    func obey(_ orders: [UInt8], at now: Timestamp) -> Int32 {
        let slices = SliceMemory()
        return withExtendedLifetime(slices) {
            playgate_observer_obey(observer, slices.slice(orders), now.millisecondsSince1970)
        }
    }

    /// Reports to a gate, and obeys its orders.
    func report(to gate: LeakWatch, at now: Timestamp) {
        let (batch, confirmation) = reports(at: now)
        guard case .orders(let orders) = gate.exchange(batch, of: "edge", at: now) else { return }
        confirm(confirmation)
        _ = obey(orders, at: now)
    }

    var counts: playgate_observer_counters { playgate_observer_counts(observer) }
}
