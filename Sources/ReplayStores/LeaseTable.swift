// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import MediaTokens
internal import Platform

/// The leases in memory, found by viewer and by session.
///
/// A lease takes 56 bytes: 48 for its entry and 4 for a place in each of two tables of chains. Of the viewer's key it keeps 16
/// bytes, which nobody can choose: the key contains a keyed tag. Every change also looks at a few other entries and deletes
/// expired ones. The table grows up to its capacity; a full one refuses, and never forgets a live lease.
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
        package let first: UInt64
        package let second: UInt64

        init(_ key: LeaseKey) { (first, second, _, _) = key.digest.quarters }
    }

    private static let none: Int32 = -1

    private let capacity: Int
    private var entries: [Entry] = []
    private var viewers: [Int32] = []
    private var sessions: [Int32] = []
    private var firstFree = none
    /// The number of stored leases, including expired ones.
    package private(set) var count = 0
    /// The entry at which the next incremental deletion begins.
    private var hand = 0
    /// The time before which no lease expires, after a sweep that made no room.
    private var fullUntil = Int64.min

    /// Creates a table.
    ///
    /// - Parameter capacity: The maximum number of leases.
    init(capacity: Int) { self.capacity = min(max(capacity, 1), Int(Int32.max)) }

    // MARK: Taking and freeing

    package mutating func take(_ lease: StreamLease, at now: Timestamp) -> LeaseOutcome {
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
        remove(place(of: lease.session))
        guard count < capacity || makeRoom(at: time) else { return .full }
        insert(lease, ends)
        return .taken
    }

    package mutating func free(_ session: SessionID, at now: Timestamp) -> Bool {
        let place = place(of: session)
        guard place != Self.none else { return false }
        let isLive = entries[Int(place)].ends > now.millisecondsSince1970
        remove(place)
        return isLive
    }

    /// Returns the number of live leases of the viewer, and the place of the session's own. Deletes those that are over.
    private mutating func count(of lease: StreamLease, at time: Int64) -> (live: Int, own: Int32) {
        guard !viewers.isEmpty else { return (0, Self.none) }
        let viewer = Half(lease.key)
        var (live, own) = (0, Self.none)
        var place = viewers[home(viewer)]
        while place != Self.none {
            let entry = entries[Int(place)]
            if entry.viewer == viewer {
                if entry.ends <= time {
                    remove(place)
                } else {
                    live += 1
                    if entry.session == lease.session { own = place }
                }
            }
            place = entry.nextOfViewer
        }
        return (live, own)
    }

    private func place(of session: SessionID) -> Int32 {
        guard !sessions.isEmpty else { return Self.none }
        var place = sessions[home(session)]
        while place != Self.none, entries[Int(place)].session != session { place = entries[Int(place)].nextOfSession }
        return place
    }

    // MARK: Entries and chains

    private func home(_ viewer: Half) -> Int { Int(viewer.first % UInt64(viewers.count)) }
    private func home(_ session: SessionID) -> Int { Int(session.low % UInt64(sessions.count)) }

    private mutating func insert(_ lease: StreamLease, _ ends: Int64) {
        let entry = Entry(
            session: lease.session,
            viewer: Half(lease.key),
            ends: ends,
            nextOfViewer: Self.none,
            nextOfSession: Self.none
        )
        var place = firstFree
        if place != Self.none {
            firstFree = entries[Int(place)].nextOfSession
            entries[Int(place)] = entry
        } else {
            if entries.count == viewers.count { grow() }
            place = Int32(entries.count)
            entries.append(entry)
        }
        link(place)
        count += 1
        fullUntil = min(fullUntil, ends)
    }

    /// Doubles the room, up to the capacity, and forms all chains anew.
    private mutating func grow() {
        let room = min(max(2 * viewers.count, 64), capacity)
        entries.reserveCapacity(room)
        viewers = [Int32](repeating: Self.none, count: room)
        sessions = viewers
        for place in entries.indices where entries[place].ends != .min { link(Int32(place)) }
    }

    private mutating func link(_ place: Int32) {
        let (viewer, session) = (home(entries[Int(place)].viewer), home(entries[Int(place)].session))
        entries[Int(place)].nextOfViewer = viewers[viewer]
        viewers[viewer] = place
        entries[Int(place)].nextOfSession = sessions[session]
        sessions[session] = place
    }

    /// Deletes an entry; nothing if there is none at `place`.
    private mutating func remove(_ place: Int32) {
        guard place != Self.none else { return }
        unlinkFromViewer(place)
        unlinkFromSession(place)
        entries[Int(place)].ends = .min
        entries[Int(place)].nextOfSession = firstFree
        firstFree = place
        count -= 1
    }

    private mutating func unlinkFromViewer(_ place: Int32) {
        let head = home(entries[Int(place)].viewer)
        let next = entries[Int(place)].nextOfViewer
        guard viewers[head] != place else { return viewers[head] = next }
        var before = viewers[head]
        while entries[Int(before)].nextOfViewer != place { before = entries[Int(before)].nextOfViewer }
        entries[Int(before)].nextOfViewer = next
    }

    private mutating func unlinkFromSession(_ place: Int32) {
        let head = home(entries[Int(place)].session)
        let next = entries[Int(place)].nextOfSession
        guard sessions[head] != place else { return sessions[head] = next }
        var before = sessions[head]
        while entries[Int(before)].nextOfSession != place { before = entries[Int(before)].nextOfSession }
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
        for place in entries.indices where isOver(place, at: time) { remove(Int32(place)) }
        guard count >= capacity else { return true }
        fullUntil = entries.lazy.map(\.ends).min() ?? time
        return false
    }

    private func isOver(_ place: Int, at time: Int64) -> Bool {
        entries[place].ends != .min && entries[place].ends <= time
    }
}
