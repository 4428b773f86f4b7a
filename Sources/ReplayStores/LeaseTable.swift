// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import MediaTokens
internal import Platform

/// The leases in memory, found by viewer and by session.
///
/// A lease uses 56 bytes: 48 for its entry, and 4 for an index in each of two tables of chains. Of the viewer's key it
/// stores 16 bytes. No client can choose them, because the key contains a keyed tag. Every change also inspects a few
/// other entries and deletes expired ones. The table grows up to its capacity. A full table refuses new leases and
/// retains every live one.
struct LeaseTable {
    private struct Entry {
        package var session: SessionID
        package var viewer: Half
        /// The end in milliseconds since 1970; `.min` for a free entry.
        package var ends: Int64
        var nextOfViewer: Int32
        /// The next entry of the chain of sessions, or of the list of free entries.
        var nextOfSession: Int32
    }

    /// The first 16 bytes of a viewer's key.
    private struct Half: Equatable {
        let first: UInt64
        let second: UInt64

        init(_ key: LeaseKey) { (first, second, _, _) = key.digest.quarters }
    }

    private static let none: Int32 = -1

    private let capacity: Int
    private var entries: [Entry] = []
    private var viewers: [Int32] = []
    private var sessions: [Int32] = []
    private var firstFree = none
    /// The number of stored leases, including expired ones.
    private(set) var count = 0
    /// The entry at which the next incremental deletion begins.
    private var hand = 0
    /// The time before which no lease expires, after a sweep that made no room.
    private var fullUntil = Int64.min

    /// Creates a table.
    ///
    /// - Parameter capacity: The maximum number of leases.
    init(capacity: Int) { self.capacity = min(max(capacity, 1), Int(Int32.max)) }

    // MARK: Taking and freeing

    mutating func acquire(_ lease: StreamLease, at now: Timestamp) -> LeaseOutcome {
        let time = now.millisecondsSince1970
        let ends = lease.ends(at: now).millisecondsSince1970
        removeSome(at: time)
        let (live, own) = count(of: lease, at: time)
        if own != Self.none {
            entries[Int(own)].ends = max(entries[Int(own)].ends, ends)
            return .renewed
        }
        guard live < lease.limit else { return .limitReached(current: live) }
        // A session has one lease: one of another viewer gives way.
        remove(index(of: lease.session))
        guard count < capacity || makeRoom(at: time) else { return .full }
        insert(lease, ends: ends)
        return .taken
    }

    mutating func free(_ session: SessionID, at now: Timestamp) -> Bool {
        let index = index(of: session)
        guard index != Self.none else { return false }
        let isLive = entries[Int(index)].ends > now.millisecondsSince1970
        remove(index)
        return isLive
    }

    /// Returns the number of live leases of the viewer, and the index of the session's own. Deletes expired leases.
    private mutating func count(of lease: StreamLease, at time: Int64) -> (live: Int, own: Int32) {
        guard !viewers.isEmpty else { return (0, Self.none) }
        let viewer = Half(lease.key)
        var (live, own) = (0, Self.none)
        var index = viewers[home(viewer)]
        while index != Self.none {
            let entry = entries[Int(index)]
            if entry.viewer == viewer {
                if entry.ends <= time {
                    remove(index)
                } else {
                    live += 1
                    if entry.session == lease.session { own = index }
                }
            }
            index = entry.nextOfViewer
        }
        return (live, own)
    }

    private func index(of session: SessionID) -> Int32 {
        guard !sessions.isEmpty else { return Self.none }
        var index = sessions[home(session)]
        while index != Self.none, entries[Int(index)].session != session { index = entries[Int(index)].nextOfSession }
        return index
    }

    // MARK: Entries and chains

    private func home(_ viewer: Half) -> Int { Int(viewer.first % UInt64(viewers.count)) }
    private func home(_ session: SessionID) -> Int { Int(session.low % UInt64(sessions.count)) }

    private mutating func insert(_ lease: StreamLease, ends: Int64) {
        let entry = Entry(
            session: lease.session,
            viewer: Half(lease.key),
            ends: ends,
            nextOfViewer: Self.none,
            nextOfSession: Self.none
        )
        var index = firstFree
        if index != Self.none {
            firstFree = entries[Int(index)].nextOfSession
            entries[Int(index)] = entry
        } else {
            if entries.count == viewers.count { grow() }
            index = Int32(entries.count)
            entries.append(entry)
        }
        link(index)
        count += 1
        fullUntil = min(fullUntil, ends)
    }

    /// Doubles the room, up to the capacity, and rebuilds all chains.
    private mutating func grow() {
        let room = min(max(2 * viewers.count, 64), capacity)
        entries.reserveCapacity(room)
        viewers = [Int32](repeating: Self.none, count: room)
        sessions = viewers
        for index in entries.indices where entries[index].ends != .min { link(Int32(index)) }
    }

    private mutating func link(_ index: Int32) {
        let (viewer, session) = (home(entries[Int(index)].viewer), home(entries[Int(index)].session))
        entries[Int(index)].nextOfViewer = viewers[viewer]
        viewers[viewer] = index
        entries[Int(index)].nextOfSession = sessions[session]
        sessions[session] = index
    }

    /// Deletes an entry; nothing if there is none at this index.
    private mutating func remove(_ index: Int32) {
        guard index != Self.none else { return }
        unlinkFromViewer(index)
        unlinkFromSession(index)
        entries[Int(index)].ends = .min
        entries[Int(index)].nextOfSession = firstFree
        firstFree = index
        count -= 1
    }

    private mutating func unlinkFromViewer(_ index: Int32) {
        let head = home(entries[Int(index)].viewer)
        let next = entries[Int(index)].nextOfViewer
        guard viewers[head] != index else { return viewers[head] = next }
        var before = viewers[head]
        while entries[Int(before)].nextOfViewer != index { before = entries[Int(before)].nextOfViewer }
        entries[Int(before)].nextOfViewer = next
    }

    private mutating func unlinkFromSession(_ index: Int32) {
        let head = home(entries[Int(index)].session)
        let next = entries[Int(index)].nextOfSession
        guard sessions[head] != index else { return sessions[head] = next }
        var before = sessions[head]
        while entries[Int(before)].nextOfSession != index { before = entries[Int(before)].nextOfSession }
        entries[Int(before)].nextOfSession = next
    }

    // MARK: Forgetting

    /// Deletes the expired ones of the next four entries. This outpaces insertion.
    private mutating func removeSome(at time: Int64) {
        for _ in 0..<min(4, entries.count) {
            if hand >= entries.count { hand = 0 }
            if isOver(hand, at: time) { remove(Int32(hand)) }
            hand += 1
        }
    }

    /// Deletes all expired entries, unless that is known to make no room.
    private mutating func makeRoom(at time: Int64) -> Bool {
        guard time >= fullUntil else { return false }
        for index in entries.indices where isOver(index, at: time) { remove(Int32(index)) }
        guard count >= capacity else { return true }
        fullUntil = entries.lazy.map(\.ends).min() ?? time
        return false
    }

    private func isOver(_ index: Int, at time: Int64) -> Bool {
        entries[index].ends != .min && entries[index].ends <= time
    }
}
