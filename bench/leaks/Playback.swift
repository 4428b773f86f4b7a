// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A copy of the first jar's grant into another jar.
struct JarCopy {
    let time: Double
    let jar: Int
}

/// One session: one or more cookie jars, each with one or more players, event by event.
///
/// The times and paths of the requests depend only on the seed. The answers of an installation change only the grants
/// that the jars hold.
struct Playback {
    /// The time at which a second viewer starts with a copied grant; nil if there is none.
    let sharedFrom: Double?
    private var players: [Player]
    private var jars: [HeldGrant]
    private var queue = EventQueue()
    private var requestsInFlight: [RequestInFlight] = []
    private var freeSlots: [Int] = []
    private var random: SeededRandom

    /// Creates a playback. Each jar holds the grant of the session until the first jar is copied into it.
    init(players: [Player], copies: [JarCopy] = [], sharedFrom: Double? = nil, random: SeededRandom) {
        (self.players, self.sharedFrom, self.random) = (players, sharedFrom, random)
        let count = (players.map(\.jar).max() ?? 0) + 1
        jars = Array(repeating: HeldGrant(id: self.random.next() | 1, issued: 0, generation: 0), count: count)
        for copy in copies { queue.insert(.copy(jar: copy.jar), at: copy.time) }
        for (number, player) in players.enumerated() { queue.insert(.start(player: number), at: player.start) }
    }

    /// Sends the requests up to a time to an installation, and stops early if the playback is proven to be shared.
    mutating func run(
        with installation: inout some Installation,
        until limit: Double
    ) -> (requests: Int, end: Double) {
        var requests = 0
        while let event = queue.popFirst(until: limit) {
            let time = event.time
            switch event.kind {
            case .copy(let jar): jars[jar] = jars[0]
            case .adoption(let jar, let grant): jars[jar] = grant
            case .start(let player): start(player, at: time)
            case .action(let player): performAction(of: player, at: time)
            case .fetch(let loop): fetch(loop, at: time)
            case .answer(let loop, let isComplete): finishFetch(loop, isComplete: isComplete, at: time)
            case .arrival(let slot):
                requests += 1
                serve(slot, with: &installation, at: time)
                if installation.proven != nil { return (requests, time) }
            }
        }
        return (requests, limit)
    }

    private mutating func start(_ number: Int, at time: Double) {
        let position: Double? =
            switch players[number].startPosition {
            case .live: nil
            case .media(let position): position
            case .player(let other, let offset): players[other].position(at: time) + offset
            }
        players[number].begin(at: position, time: time)
        for track in 0..<2 { scheduleFetch(of: track, player: number, at: time) }
        scheduleAction(of: number)
    }

    private mutating func performAction(of number: Int, at time: Double) {
        guard time < players[number].stop else { return }
        players[number].performNextAction(at: time)
        scheduleIdleLoops(of: number, at: time)
        scheduleAction(of: number)
    }

    private mutating func scheduleAction(of number: Int) {
        if let next = players[number].nextActionTime { queue.insert(.action(player: number), at: next) }
    }

    private mutating func scheduleIdleLoops(of number: Int, at time: Double) {
        for track in 0..<2 where !players[number].loops[track].isInFlight {
            scheduleFetch(of: track, player: number, at: time)
        }
    }

    private mutating func scheduleFetch(of track: Int, player number: Int, at time: Double) {
        guard let next = players[number].nextFetchTime(of: track, at: time) else { return }
        let loop = LoopReference(player: number, track: track, epoch: players[number].loops[track].epoch)
        queue.insert(.fetch(loop), at: next)
    }

    private func isCurrent(_ loop: LoopReference, at time: Double) -> Bool {
        players[loop.player].loops[loop.track].epoch == loop.epoch && time < players[loop.player].stop
    }

    private mutating func fetch(_ loop: LoopReference, at time: Double) {
        guard isCurrent(loop, at: time) else { return }
        let transfer = players[loop.player].beginFetch(of: loop.track, at: time)
        guard let arrival = transfer.arrival else {
            return queue.insert(.answer(loop, isComplete: false), at: transfer.end)
        }
        let request = RequestInFlight(loop: loop, transfer: transfer, grant: jars[players[loop.player].jar])
        if let slot = freeSlots.popLast() {
            requestsInFlight[slot] = request
            queue.insert(.arrival(slot: slot), at: arrival)
        } else {
            queue.insert(.arrival(slot: requestsInFlight.count), at: arrival)
            requestsInFlight.append(request)
        }
    }

    private mutating func serve(_ slot: Int, with installation: inout some Installation, at time: Double) {
        let (loop, transfer) = (requestsInFlight[slot].loop, requestsInFlight[slot].transfer)
        let request = SegmentRequest(
            time: time,
            edge: transfer.edge,
            path: players[loop.player].content.path(of: transfer.index, rendition: transfer.rendition),
            grant: requestsInFlight[slot].grant,
            isAborted: transfer.isAborted
        )
        freeSlots.append(slot)
        queue.insert(.answer(loop, isComplete: transfer.isComplete), at: transfer.end)
        guard let grant = installation.serve(request) else { return }
        // Of the answers that break off, half deliver their header.
        if random.chance(transfer.isComplete ? 0.01 : 0.5) { return }
        let delay = random.uniform(in: 0.03...0.6)
        queue.insert(.adoption(jar: players[loop.player].jar, grant), at: transfer.header + delay)
    }

    private mutating func finishFetch(_ loop: LoopReference, isComplete: Bool, at time: Double) {
        guard isCurrent(loop, at: time) else { return }
        players[loop.player].finishFetch(of: loop.track, isComplete: isComplete, at: time)
        // A jump to the edge of a live stream restarts both tracks.
        if players[loop.player].loops[loop.track].epoch == loop.epoch {
            scheduleFetch(of: loop.track, player: loop.player, at: time)
        } else {
            scheduleIdleLoops(of: loop.player, at: time)
        }
    }
}

/// A track of a player at one of its epochs.
private struct LoopReference {
    let player: Int
    let track: Int
    let epoch: UInt32
}

/// A request between player and edge, with the grant that the jar held when it was sent.
private struct RequestInFlight {
    let loop: LoopReference
    let transfer: Transfer
    let grant: HeldGrant
}

/// A binary heap of events, in order of time and then of insertion.
private struct EventQueue {
    enum Kind {
        case copy(jar: Int)
        case start(player: Int)
        case action(player: Int)
        case fetch(LoopReference)
        case arrival(slot: Int)
        case answer(LoopReference, isComplete: Bool)
        case adoption(jar: Int, HeldGrant)
    }

    struct Event {
        let time: Double
        let number: Int
        let kind: Kind

        func precedes(_ other: Event) -> Bool {
            time < other.time || (time == other.time && number < other.number)
        }
    }

    private var events: [Event] = []
    private var count = 0

    mutating func insert(_ kind: Kind, at time: Double) {
        count += 1
        let event = Event(time: time, number: count, kind: kind)
        events.append(event)
        var index = events.count - 1
        while index > 0, event.precedes(events[(index - 1) / 2]) {
            events[index] = events[(index - 1) / 2]
            index = (index - 1) / 2
        }
        events[index] = event
    }

    /// Removes and returns the first event; nil if it is later than a time.
    mutating func popFirst(until limit: Double) -> Event? {
        guard let first = events.first, first.time <= limit, let last = events.popLast() else { return nil }
        guard !events.isEmpty else { return first }
        var index = 0
        while case var child = 2 * index + 1, child < events.count {
            if child + 1 < events.count, events[child + 1].precedes(events[child]) { child += 1 }
            guard events[child].precedes(last) else { break }
            events[index] = events[child]
            index = child
        }
        events[index] = last
        return first
    }
}
