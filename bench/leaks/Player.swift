// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A live stream, a low-latency stream or a film, with separate video and audio.
struct Content {
    enum Kind: CaseIterable { case live, lowLatency, onDemand }

    static let audio = 3
    /// The number of segments of a film of two hours.
    static let segmentsOfFilm = 1800

    let kind: Kind
    /// The duration of a segment, or of a part of a low-latency stream, in seconds.
    let segmentDuration: Double
    /// The media time that a live stream has reached at time zero.
    private let clock: Double
    /// The paths up to the number: of three renditions of the video, then of the audio.
    private let prefixes: [String]

    /// Creates content. `title` is the folder of the stream or film.
    init(_ kind: Kind, title: String, random: inout SeededRandom) {
        self.kind = kind
        segmentDuration = kind == .lowLatency ? 1 : 4
        clock = segmentDuration * Double(random.integer(in: 1000...900_000))
        let (folder, name) =
            switch kind {
            case .live: ("live", "seg_")
            case .lowLatency: ("low", "part_")
            case .onDemand: ("vod", "seg_")
            }
        prefixes = ["v480", "v720", "v1080", "audio"].map { "/\(folder)/\(title)/\($0)/\(name)" }
    }

    /// Returns the path of a segment. A film starts again at its end.
    func path(of index: Int, rendition: Int) -> String {
        let number = kind == .onDemand ? index % Self.segmentsOfFilm : index
        var path = prefixes[rendition]
        path += String(1_000_000 + number).dropFirst()
        path += ".m4s"
        return path
    }

    func index(at position: Double) -> Int { Int(position / segmentDuration) }

    /// Returns the media time that a live stream has reached.
    func liveEdge(at time: Double) -> Double { clock + time }

    /// Returns the time at which a segment is complete; nil for a film.
    func publication(of index: Int) -> Double? {
        kind == .onDemand ? nil : Double(index + 1) * segmentDuration - clock
    }

    /// Returns the position at which a player joins a live stream: three segments behind its edge.
    func joiningPosition(at time: Double) -> Double {
        Double(index(at: liveEdge(at: time)) - 3) * segmentDuration
    }

    /// Returns the nearest position that can be played. A live stream has ten minutes.
    func reachable(_ position: Double, at time: Double) -> Double {
        guard kind != .onDemand else { return max(0, position) }
        return min(max(position, liveEdge(at: time) - 600), joiningPosition(at: time))
    }
}

/// The requests for one track of a player: one at a time.
struct FetchLoop {
    /// The index of the next segment to fetch.
    var next = 0
    /// The index of the first segment in the buffer.
    var first = 0
    /// A number that grows with each change of plan. Events of another epoch are void.
    var epoch: UInt32 = 0
    var isInFlight = false
    var failures = 0

    /// Empties the buffer, and continues at another segment.
    mutating func restart(at index: Int) {
        (next, first) = (index, index)
        abandon()
    }

    /// Gives up the request in flight or the waiting one.
    mutating func abandon() {
        epoch &+= 1
        isInFlight = false
    }
}

/// The course of one request.
struct Transfer {
    let index: Int
    let rendition: Int
    let edge: Int
    /// The time at which the request arrives at the edge; nil if it never does.
    let arrival: Double?
    /// The time at which the header of the answer arrives at the player.
    let header: Double
    /// The time at which the player has the segment, or notices that it will not get it.
    let end: Double
    let isComplete: Bool
    let isAborted: Bool
}

/// The position at which a player starts.
enum StartPosition {
    /// The edge of a live stream.
    case live
    case media(Double)
    /// The position of another player, and an offset in seconds.
    case player(Int, offset: Double)
}

/// A player with two tracks: 0 is video, 1 is audio.
struct Player {
    let jar: Int
    let content: Content
    let start: Double
    let stop: Double
    let startPosition: StartPosition
    private(set) var loops: [2 of FetchLoop] = [FetchLoop(), FetchLoop()]
    private(set) var behaviour: Behaviour
    private var random: SeededRandom
    private var nextAction = 0
    private var rendition = 1
    private var rate = 1.0
    private var isPaused = false
    private var isFlapping = false
    private var isFollowingLive = true
    /// The position at `anchorTime`, in seconds of media.
    private var anchor = 0.0
    private var anchorTime = 0.0
    /// The time before which the player sends nothing.
    private var readyTime = 0.0

    init(
        jar: Int,
        content: Content,
        start: Double,
        stop: Double,
        at startPosition: StartPosition,
        behaviour: Behaviour,
        random: SeededRandom
    ) {
        (self.jar, self.content, self.start, self.stop) = (jar, content, start, stop)
        (self.startPosition, self.behaviour, self.random) = (startPosition, behaviour, random)
    }

    /// Adds actions before the player starts.
    mutating func add(actions: [TimedAction]) { behaviour.add(actions: actions) }

    /// Starts at a position; nil for the edge of a live stream.
    mutating func begin(at position: Double?, time: Double) {
        let position = content.reachable(position ?? content.joiningPosition(at: time), at: time)
        restart(at: position, time: time)
    }

    /// Returns the position of the playback, which never passes the end of the buffer.
    func position(at time: Double) -> Double {
        guard !isPaused else { return anchor }
        let buffered = Double(min(loops[0].next, loops[1].next)) * content.segmentDuration - anchor
        return anchor + max(0, min(rate * (time - anchorTime), buffered))
    }

    private mutating func setAnchor(_ position: Double, time: Double) { (anchor, anchorTime) = (position, time) }

    /// Empties the buffer, and continues at a position.
    private mutating func restart(at position: Double, time: Double) {
        setAnchor(position, time: time)
        for track in 0..<2 { loops[track].restart(at: content.index(at: position)) }
    }
}

// MARK: - Requests

extension Player {
    /// Returns the time of the next request of a track; nil if it waits for an action.
    mutating func nextFetchTime(of track: Int, at time: Double) -> Double? {
        let next = loops[track].next
        var earliest = max(readyTime, time + 0.01)
        if let publication = content.publication(of: next), publication + behaviour.pollDelay * 1.5 + 1 > time {
            let delay = behaviour.pollDelay + random.exponential(mean: behaviour.pollDelay * 0.1 + 0.02)
            earliest = max(earliest, publication + delay)
        }
        if behaviour.isDownload { return next < Content.segmentsOfFilm ? earliest : nil }
        let room = position(at: time) + behaviour.bufferAhead - Double(next) * content.segmentDuration
        if room >= 0 { return earliest }
        return isPaused ? nil : max(earliest, time + (behaviour.burst - room) / rate)
    }

    /// Sends the next request of a track.
    mutating func beginFetch(of track: Int, at time: Double) -> Transfer {
        loops[track].isInFlight = true
        let isBroken = random.chance(behaviour.loss)
        let jitter = behaviour.roundTrip * 0.3 + behaviour.loss * 0.4
        let arrival = time + behaviour.roundTrip / 2 + random.exponential(mean: jitter)
        let header = arrival + behaviour.roundTrip / 2 + random.exponential(mean: jitter)
        let share = track == 0 ? 1 : 0.1
        let end = header + content.segmentDuration * share * random.uniform(in: 0.6...1.6) / behaviour.throughput
        let half = (arrival + end) / 2
        let retry = isBroken ? random.uniform(in: random.chance(0.7) ? 0.3...3 : 4...10) : 0
        let isLost = isBroken && random.chance(0.4)
        let isCut = isBroken && random.chance(0.5)
        return Transfer(
            index: loops[track].next,
            rendition: track == 0 ? rendition : Content.audio,
            edge: isFlapping && random.chance(0.5) ? behaviour.otherEdge : behaviour.edge,
            arrival: isLost ? nil : arrival,
            header: header,
            end: isBroken ? max(time + retry, header) : end,
            isComplete: !isBroken,
            isAborted: isCut || isInterrupted(before: half)
        )
    }

    /// Receives the segment, or notices that it will not come.
    mutating func finishFetch(of track: Int, isComplete: Bool, at time: Double) {
        setAnchor(position(at: time), time: time)
        loops[track].isInFlight = false
        if isComplete {
            loops[track].next += 1
            loops[track].failures = 0
        } else {
            loops[track].failures += 1
            if loops[track].failures > 1, random.chance(0.3) { swap(&behaviour.edge, &behaviour.otherEdge) }
        }
        guard content.kind != .onDemand, isFollowingLive else { return }
        let lag = content.liveEdge(at: time) - Double(loops[track].next) * content.segmentDuration
        if lag > 7 * content.segmentDuration { seekToLive(at: time) }
    }

    /// Returns whether an action cancels the requests in flight before a time.
    private func isInterrupted(before time: Double) -> Bool {
        if stop < time { return true }
        for timed in behaviour.actions[nextAction...] {
            guard timed.time < time else { return false }
            switch timed.action {
            case .reload: return true
            case .seek, .seekToLive: if behaviour.backBuffer == 0 { return true }
            default: break
            }
        }
        return false
    }
}

// MARK: - Actions

extension Player {
    /// The time of the next action; nil after the last.
    var nextActionTime: Double? {
        nextAction < behaviour.actions.count ? behaviour.actions[nextAction].time : nil
    }

    /// Performs the next action, and gives up the requests that wait: they are due at another time.
    mutating func performNextAction(at time: Double) {
        let action = behaviour.actions[nextAction].action
        nextAction += 1
        setAnchor(position(at: time), time: time)
        switch action {
        case .seek(let distance):
            isFollowingLive = false
            seek(to: anchor + distance, at: time)
        case .seekToLive: if content.kind != .onDemand { seekToLive(at: time) }
        case .reload: reload(at: time)
        case .pause: (isPaused, isFollowingLive) = (true, false)
        case .resume: isPaused = false
        case .setRate(let value): rate = value
        case .switchRendition(let step, let count): switchRendition(by: step, refetch: count)
        case .changeEdge(let edge): behaviour.edge = edge
        case .flap(let isOn): isFlapping = isOn
        case .changeLoss(let share): behaviour.loss = share
        }
        for track in 0..<2 where !loops[track].isInFlight { loops[track].abandon() }
    }

    private mutating func seek(to position: Double, at time: Double) {
        let target = content.reachable(position, at: time)
        let oldest = content.index(at: max(0, anchor - behaviour.backBuffer))
        let index = content.index(at: target)
        setAnchor(target, time: time)
        readyTime = time + random.uniform(in: 0.02...0.15)
        for track in 0..<2 {
            let buffered = max(loops[track].first, oldest)
            if behaviour.backBuffer > 0, index >= buffered, index < loops[track].next { continue }
            loops[track].restart(at: index)
        }
    }

    private mutating func seekToLive(at time: Double) {
        isFollowingLive = true
        seek(to: content.joiningPosition(at: time), at: time)
    }

    private mutating func reload(at time: Double) {
        (isPaused, rate, rendition) = (false, 1, 1)
        readyTime = time + random.uniform(in: 0.6...2.5)
        if content.kind != .onDemand, isFollowingLive || random.chance(0.8) {
            isFollowingLive = true
            restart(at: content.joiningPosition(at: readyTime), time: time)
        } else {
            restart(at: anchor, time: time)
        }
    }

    private mutating func switchRendition(by step: Int, refetch count: Int) {
        rendition = (rendition + step) % 3
        let next = max(content.index(at: anchor) + 1, loops[0].next - count)
        guard next < loops[0].next else { return }
        loops[0].next = next
        loops[0].abandon()
    }
}
