// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An action of a viewer, of a player or of the network.
enum Action {
    case seek(by: Double)
    case seekToLive
    /// The page is loaded again: playback continues at the same position with an empty buffer and the same jar.
    case reload
    case pause
    case resume
    case setRate(Double)
    /// Switches between the three renditions of the video, and fetches the last segments of the buffer again.
    case switchRendition(by: Int, refetch: Int)
    case changeEdge(to: Int)
    /// Starts or ends a flapping: each request goes to one of two edges.
    case flap(Bool)
    case changeLoss(to: Double)
}

struct TimedAction {
    let time: Double
    let action: Action
}

/// How a player, its network and its viewer behave.
struct Behaviour {
    /// The media that the player fetches ahead of its position, in seconds.
    var bufferAhead: Double
    /// The part of a full buffer that is played before the player fetches again; 0 for segment by segment.
    var burst = 0.0
    /// The media before its position that the player does not fetch again; 0 if each seek empties the buffer.
    var backBuffer: Double
    /// Seconds of video that arrive in a second.
    var throughput: Double
    var roundTrip: Double
    /// The time from the publication of a live segment to the player's request.
    var pollDelay: Double
    /// The share of requests that fail and are sent again.
    var loss: Double
    var edge = 0
    var otherEdge = 0
    /// The segments of the whole film are fetched as fast as possible.
    var isDownload = false
    /// The actions in order of time.
    var actions: [TimedAction] = []

    /// Draws a player and a good network.
    init(for kind: Content.Kind, random: inout SeededRandom) {
        bufferAhead = random.uniform(in: kind == .onDemand ? 30...120 : 20...40)
        backBuffer = random.chance(0.6) ? 0 : random.uniform(in: 20...90)
        throughput = max(1.4, random.logNormal(median: 8, sigma: 0.6))
        roundTrip = min(0.4, random.logNormal(median: 0.04, sigma: 0.6))
        pollDelay = random.uniform(in: kind == .lowLatency ? 0.02...0.25 : 0.1...2.5)
        loss = random.chance(0.7) ? 0.001 : random.uniform(in: 0.001...0.02)
    }

    /// Draws a viewer who only plays, with the losses and the changes of rendition of an ordinary network.
    static func mild(
        for kind: Content.Kind,
        from start: Double,
        until end: Double,
        random: inout SeededRandom
    ) -> Behaviour {
        var plan = ActionPlan(kind: kind, start: start, end: end, random: random)
        plan.addSwitches(perHour: 6)
        var behaviour = Behaviour(for: kind, random: &plan.random)
        behaviour.actions = plan.sorted
        random = plan.random
        return behaviour
    }

    /// Draws a viewer with any number of honest behaviours. `frequency` multiplies the chance of each rare one.
    static func honest(
        for kind: Content.Kind,
        from start: Double,
        until end: Double,
        frequency: Double,
        random: inout SeededRandom
    ) -> Behaviour {
        var plan = ActionPlan(kind: kind, start: start, end: end, frequency: frequency, random: random)
        plan.addViewerActions()
        plan.addNetworkActions()
        var behaviour = Behaviour(for: kind, random: &plan.random)
        behaviour.otherEdge = 1
        if plan.occurs(0.15) {
            behaviour.bufferAhead = plan.random.uniform(in: 60...120)
            behaviour.burst = behaviour.bufferAhead * plan.random.uniform(in: 0.5...0.85)
        }
        behaviour.actions = plan.sorted
        random = plan.random
        return behaviour
    }

    /// Draws a download beside the playback.
    static func download(random: inout SeededRandom) -> Behaviour {
        var behaviour = Behaviour(for: .onDemand, random: &random)
        behaviour.throughput = random.uniform(in: 10...60)
        behaviour.isDownload = true
        return behaviour
    }

    /// Adds actions, and sorts all by time.
    mutating func add(actions more: [TimedAction]) {
        actions = (actions + more).sorted { $0.time < $1.time }
    }
}

/// The actions of a player, drawn before it starts. Chances and means are for an hour.
struct ActionPlan {
    let kind: Content.Kind
    let start: Double
    let end: Double
    var frequency = 1.0
    var random: SeededRandom
    private var actions: [TimedAction] = []

    init(kind: Content.Kind, start: Double, end: Double, frequency: Double = 1, random: SeededRandom) {
        (self.kind, self.start, self.end, self.frequency, self.random) = (kind, start, end, frequency, random)
    }

    var sorted: [TimedAction] { actions.sorted { $0.time < $1.time } }

    private var hours: Double { (end - start) / 3600 }

    /// Draws whether a behaviour with a chance in an hour occurs.
    mutating func occurs(_ chance: Double) -> Bool { random.chance(min(0.9, chance * frequency * hours)) }

    /// Draws a time of the playback.
    mutating func time() -> Double { random.uniform(in: start...end) }

    mutating func addViewerActions() {
        let isFilm = kind == .onDemand
        for _ in 0..<random.poisson(mean: (isFilm ? 3 : 0.5) * hours) { addSeek() }
        if occurs(isFilm ? 0.06 : 0.02) { addSeekStorm() }
        if occurs(isFilm ? 0.05 : 0.02) { addRepeats() }
        if isFilm, occurs(0.1) { addSpeed() }
        if occurs(0.08) { add(.reload, at: time()) }
        if occurs(0.02) { addReloadStorm() }
        for _ in 0..<random.poisson(mean: 1.5 * hours) { addPause() }
    }

    mutating func addNetworkActions() {
        addSwitches(perHour: 4)
        if occurs(0.1) { addSwitches(perHour: random.uniform(in: 20...60)) }
        if occurs(0.08) { addBadNetwork() }
        if occurs(0.04) { addFailover() }
        if occurs(0.03) { addFlapping() }
    }

    /// Adds changes of rendition, half of which are reversed after 6 to 30 s.
    mutating func addSwitches(perHour mean: Double) {
        for _ in 0..<random.poisson(mean: mean * hours) {
            let (begin, step) = (time(), random.integer(in: 1...2))
            add(.switchRendition(by: step, refetch: refetchedSegments()), at: begin)
            guard random.chance(0.5) else { continue }
            let back = begin + random.uniform(in: 6...30)
            add(.switchRendition(by: 3 - step, refetch: refetchedSegments()), at: back)
        }
    }

    private mutating func refetchedSegments() -> Int { random.chance(0.5) ? 0 : random.integer(in: 1...4) }

    private mutating func add(_ action: Action, at time: Double) {
        if time < end { actions.append(TimedAction(time: time, action: action)) }
    }

    private mutating func addSeek() {
        let distance = random.logNormal(median: 60, sigma: 1.5)
        let begin = time()
        add(.seek(by: random.chance(0.5) ? distance : -distance), at: begin)
        if kind != .onDemand { add(.seekToLive, at: begin + random.uniform(in: 5...300)) }
    }

    private mutating func addSeekStorm() {
        var moment = time()
        let direction = random.chance(0.5) ? 1.0 : -1.0
        for _ in 0..<random.integer(in: 8...30) {
            let step = direction * random.logNormal(median: 20, sigma: 1)
            add(.seek(by: random.chance(0.75) ? step : -step), at: moment)
            moment += 0.2 + random.exponential(mean: 1.5)
        }
        if kind != .onDemand { add(.seekToLive, at: moment + random.uniform(in: 5...60)) }
    }

    /// Adds a loop: the viewer goes back by 10 s again and again.
    private mutating func addRepeats() {
        var moment = time()
        for _ in 0..<random.integer(in: 3...12) {
            add(.seek(by: -10), at: moment)
            moment += random.uniform(in: 6...15)
        }
    }

    private mutating func addSpeed() {
        let begin = time()
        add(.setRate(1.25 + 0.25 * Double(random.integer(in: 0...3))), at: begin)
        add(.setRate(1), at: begin + random.uniform(in: 300...3600))
    }

    private mutating func addReloadStorm() {
        var moment = time()
        for _ in 0..<random.integer(in: 3...10) {
            add(.reload, at: moment)
            moment += random.uniform(in: 1.5...12)
        }
    }

    private mutating func addPause() {
        let (begin, length) = (time(), random.logNormal(median: 40, sigma: 1.2))
        add(.pause, at: begin)
        add(.resume, at: begin + length)
        if kind != .onDemand, length > 20, random.chance(0.6) { add(.seekToLive, at: begin + length + 1) }
    }

    private mutating func addBadNetwork() {
        let begin = time()
        add(.changeLoss(to: random.uniform(in: 0.05...0.35)), at: begin)
        add(.changeLoss(to: 0.002), at: begin + random.uniform(in: 120...3600))
    }

    private mutating func addFailover() {
        let begin = time()
        add(.changeEdge(to: 2), at: begin)
        if random.chance(0.5) { add(.changeEdge(to: 0), at: begin + random.uniform(in: 5...900)) }
    }

    private mutating func addFlapping() {
        let begin = time()
        add(.flap(true), at: begin)
        add(.flap(false), at: begin + random.uniform(in: 60...1200))
    }
}
