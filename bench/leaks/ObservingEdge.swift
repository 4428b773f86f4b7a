// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import EdgeTokens
import EmbeddedGate
import Platform
import SharedGrants

/// An edge that decides by itself: the observer of the C interface, with its reports and orders.
@safe
final class ObservingEdge {
    private let observer: OpaquePointer
    private let memory: UnsafeMutableRawPointer
    /// The number by which gates know it.
    let number: UInt64

    /// Creates an edge whose observer has a record for each of 64 playbacks.
    init() {
        let size = playgate_observer_size(64)
        unsafe memory = .allocate(byteCount: size, alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        guard let made = unsafe playgate_observer_create(memory, size, 64) else { fatalError("no random numbers") }
        unsafe observer = made
        let name = unsafe playgate_observer_name(made)
        let text = unsafe UnsafeRawBufferPointer(start: name.bytes, count: name.length)
        number = UInt64(unsafe String(decoding: text, as: UTF8.self), radix: 16) ?? 0
    }

    deinit { unsafe memory.deallocate() }

    /// Counts a request that a grant opened. Returns true if the edge calls the gate.
    func observe(_ path: String, by holder: GrantHolder, at now: Timestamp) -> Bool {
        var (path, session, profile) = (path, holder.session.hexadecimal, holder.profile)
        var request = unsafe playgate_request()
        unsafe request.size = UInt32(MemoryLayout<playgate_request>.size)
        unsafe request.now = now.millisecondsSince1970
        var answer = unsafe playgate_answer()
        unsafe answer.size = UInt32(MemoryLayout<playgate_answer>.size)
        unsafe answer.outcome = Int32(PLAYGATE_ALLOW)
        unsafe answer.playback = holder.playback
        unsafe answer.grant_number = holder.grant
        unsafe answer.issued = holder.issued.millisecondsSince1970
        unsafe answer.playback_end = holder.sessionEnd.millisecondsSince1970
        return unsafe path.withSlice { path in
            unsafe session.withSlice { session in
                unsafe profile.withSlice { profile in
                    unsafe (request.target, answer.session, answer.profile) = unsafe (path, session, profile)
                    return unsafe playgate_observe(observer, &request, &answer) == 1
                }
            }
        }
    }

    /// Reports to a gate, and obeys its orders. Returns the number of bytes of the reports.
    func report(to gate: LeakWatch, edgeTime: Timestamp, gateTime: Timestamp) -> Int {
        var reports = playgate_reports()
        reports.size = UInt32(MemoryLayout<playgate_reports>.size)
        var bytes = [CChar](repeating: 0, count: Int(PLAYGATE_REPORTS_LIMIT))
        let length = unsafe playgate_observer_reports(observer, edgeTime.millisecondsSince1970, &bytes, &reports)
        let batch = bytes.prefix(length).map { UInt8(bitPattern: $0) }
        guard case .orders(let orders) = gate.exchange(batch, of: "edge", at: gateTime) else { return length }
        unsafe playgate_observer_confirm(observer, &reports)
        unsafe orders.withUnsafeBytes { orders in
            let slice = unsafe playgate_slice(bytes: orders.baseAddress?.assumingMemoryBound(to: CChar.self), length: orders.count)
            _ = unsafe playgate_observer_obey(observer, slice, edgeTime.millisecondsSince1970)
        }
        return length
    }
}

extension String {
    @unsafe
    fileprivate mutating func withSlice<Value>(_ body: (playgate_slice) -> Value) -> Value {
        withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                unsafe body(playgate_slice(bytes: text.baseAddress, length: text.count))
            }
        }
    }
}
