// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A kind of playback, of which each seed is one.
struct Scenario {
    enum Kind {
        /// An hour of one jar. `frequency` multiplies the chance of each rare behaviour; companions are second tabs,
        /// picture-in-picture and downloads.
        case honest(frequency: Double, hasCompanions: Bool)
        /// A copied cookie whose first device stops after an overlap.
        case handover
        case leak(LeakKind, viewers: Int)
    }

    enum LeakKind: String, CaseIterable {
        case live
        case lowLatency = "low-latency"
        case filmElsewhere = "vod-elsewhere"
        case filmInSync = "vod-in-sync"
        case liveOnOtherEdges = "live-x"
        case filmOnOtherEdges = "vod-x"

        var content: Content.Kind {
            switch self {
            case .live, .liveOnOtherEdges: .live
            case .lowLatency: .lowLatency
            case .filmElsewhere, .filmInSync, .filmOnOtherEdges: .onDemand
            }
        }

        /// Each viewer uses another edge.
        var isOnOtherEdges: Bool { self == .liveOnOtherEdges || self == .filmOnOtherEdges }
    }

    let name: String
    let kind: Kind
    /// The time at which the playback ends, in seconds.
    let duration: Double

    static let viewers = [2, 3, 5, 20, 100]

    /// All scenarios: `honest`, `honest-one-player`, `honest-busy`, `handover`, and leaks such as `leak-2-live`.
    static let all: [Scenario] = {
        let single = [
            Scenario(name: "honest", kind: .honest(frequency: 1, hasCompanions: true), duration: 3600),
            Scenario(
                name: "honest-one-player",
                kind: .honest(frequency: 1, hasCompanions: false),
                duration: 3600
            ),
            Scenario(name: "honest-busy", kind: .honest(frequency: 8, hasCompanions: true), duration: 3600),
            Scenario(name: "handover", kind: .handover, duration: 1200),
        ]
        let leaks = viewers.flatMap { count in
            LeakKind.allCases.map {
                Scenario(name: "leak-\(count)-\($0.rawValue)", kind: .leak($0, viewers: count), duration: 900)
            }
        }
        return single + leaks
    }()

    func makePlayback(seed: UInt64) -> Playback {
        var world = World(seed: seed, end: duration)
        return switch kind {
        case .honest(let frequency, let hasCompanions):
            world.makeHonest(frequency: frequency, hasCompanions: hasCompanions)
        case .handover: world.makeHandover()
        case .leak(let kind, let count): world.makeLeak(kind, viewers: count)
        }
    }
}

/// The players of one playback while it is created.
private struct World {
    let seed: UInt64
    let end: Double
    var random: SeededRandom
    var players: [Player] = []

    init(seed: UInt64, end: Double) {
        (self.seed, self.end) = (seed, end)
        random = SeededRandom(seed: seed, stream: 0)
    }

    private mutating func makeContentKind() -> Content.Kind {
        let draw = random.fraction()
        return draw < 0.4 ? .live : draw < 0.55 ? .lowLatency : .onDemand
    }

    /// Draws a position in the first two thirds of a film; the edge of a live stream.
    private mutating func makeStartPosition(in content: Content) -> StartPosition {
        guard content.kind == .onDemand else { return .live }
        let length = Double(Content.segmentsOfFilm) * content.segmentDuration
        return .media(random.uniform(in: 0...length * 2 / 3))
    }

    private mutating func addPlayer(
        jar: Int = 0,
        of content: Content,
        from start: Double,
        until stop: Double,
        at position: StartPosition,
        behaviour: Behaviour
    ) {
        let stream = SeededRandom(seed: seed, stream: UInt64(players.count) + 2)
        players.append(
            Player(
                jar: jar,
                content: content,
                start: start,
                stop: stop,
                at: position,
                behaviour: behaviour,
                random: stream
            )
        )
    }

    private func makePlayback(copies: [JarCopy] = [], sharedFrom: Double? = nil) -> Playback {
        let stream = SeededRandom(seed: seed, stream: 1)
        return Playback(players: players, copies: copies, sharedFrom: sharedFrom, random: stream)
    }
}

// MARK: - Honest playbacks

extension World {
    mutating func makeHonest(frequency: Double, hasCompanions: Bool) -> Playback {
        let kind = makeContentKind()
        let content = Content(kind, title: "tnt", random: &random)
        let start = random.uniform(in: 0...2)
        let behaviour = Behaviour.honest(for: kind, from: start, until: end, frequency: frequency, random: &random)
        let position = makeStartPosition(in: content)
        addPlayer(of: content, from: start, until: end, at: position, behaviour: behaviour)
        guard hasCompanions else { return makePlayback() }
        if random.chance(min(0.9, 0.05 * frequency)) { addTab(of: content) }
        if random.chance(min(0.9, 0.03 * frequency)) { addPictureInPicture(of: content) }
        if kind == .onDemand, random.chance(min(0.9, 0.03 * frequency)) { addDownload(of: content) }
        return makePlayback()
    }

    private mutating func makeCompanionTimes() -> (start: Double, stop: Double) {
        let start = random.uniform(in: 5...end * 0.9)
        return (start, min(end, start + random.uniform(in: 60...1800)))
    }

    /// Adds a second tab or player in the same jar: of the same content in two of three cases.
    private mutating func addTab(of content: Content) {
        let (start, stop) = makeCompanionTimes()
        let isSame = random.chance(2.0 / 3)
        let kind = isSame ? content.kind : makeContentKind()
        let tab = isSame ? content : Content(kind, title: "news", random: &random)
        let isInSync = isSame && kind == .onDemand && random.chance(0.5)
        let position = isInSync ? .player(0, offset: 0) : makeStartPosition(in: tab)
        let behaviour = Behaviour.honest(for: kind, from: start, until: stop, frequency: 1, random: &random)
        addPlayer(of: tab, from: start, until: stop, at: position, behaviour: behaviour)
    }

    /// Adds a small player: of other content beside the first, or of the same while the first pauses.
    private mutating func addPictureInPicture(of content: Content) {
        let (start, stop) = makeCompanionTimes()
        let isSame = random.chance(0.5)
        let small = isSame ? content : Content(content.kind, title: "news", random: &random)
        let isFilm = content.kind == .onDemand
        let position: StartPosition = isSame && isFilm ? .player(0, offset: 0) : makeStartPosition(in: small)
        let behaviour = Behaviour.mild(for: content.kind, from: start, until: stop, random: &random)
        addPlayer(of: small, from: start, until: stop, at: position, behaviour: behaviour)
        guard isSame else { return }
        let overlap = random.uniform(in: 0.5...4)
        let back: Action = isFilm ? .seek(by: stop - start) : .seekToLive
        players[0].add(actions: [
            TimedAction(time: start + overlap, action: .pause),
            TimedAction(time: stop - overlap, action: .resume),
            TimedAction(time: stop - overlap, action: back),
        ])
    }

    private mutating func addDownload(of content: Content) {
        let start = random.uniform(in: 5...end * 0.9)
        let behaviour = Behaviour.download(random: &random)
        addPlayer(of: content, from: start, until: end, at: .media(0), behaviour: behaviour)
    }

    /// Creates a handover from one device to another: they play at the same time for 8 s at the median.
    mutating func makeHandover() -> Playback {
        let kind = makeContentKind()
        let content = Content(kind, title: "tnt", random: &random)
        let start = random.uniform(in: 60...600)
        let stop = start + random.logNormal(median: 8, sigma: 0.6)
        let copy = JarCopy(time: start - random.uniform(in: 0.5...5), jar: 1)
        let first = Behaviour.mild(for: kind, from: 0, until: stop, random: &random)
        let position = makeStartPosition(in: content)
        addPlayer(of: content, from: 0, until: stop, at: position, behaviour: first)
        let second = Behaviour.mild(for: kind, from: start, until: end, random: &random)
        let next: StartPosition = kind == .onDemand ? .player(0, offset: 0) : .live
        addPlayer(jar: 1, of: content, from: start, until: end, at: next, behaviour: second)
        return makePlayback(copies: [copy], sharedFrom: start)
    }
}

// MARK: - Leaks

extension World {
    /// Creates a leak. The first viewer starts at any age of the grant, the others within 60 s.
    mutating func makeLeak(_ kind: Scenario.LeakKind, viewers: Int) -> Playback {
        let content = Content(kind.content, title: "tnt", random: &random)
        let first = random.uniform(in: 0...170)
        var (copies, sharedFrom): ([JarCopy], Double) = ([], .infinity)
        for jar in 0..<viewers {
            let start = jar == 0 ? first : first + random.uniform(in: 0...60)
            var behaviour = Behaviour.mild(for: kind.content, from: start, until: end, random: &random)
            if kind.isOnOtherEdges { (behaviour.edge, behaviour.otherEdge) = (jar, jar) }
            let isFollower = jar > 0 && kind == .filmInSync
            let position =
                isFollower
                ? .player(0, offset: random.normal(mean: 0, deviation: 1.5)) : makeStartPosition(in: content)
            addPlayer(jar: jar, of: content, from: start, until: end, at: position, behaviour: behaviour)
            guard jar > 0 else { continue }
            copies.append(JarCopy(time: random.uniform(in: max(0, first - 30)...start), jar: jar))
            sharedFrom = min(sharedFrom, start)
        }
        return makePlayback(copies: copies, sharedFrom: sharedFrom)
    }
}
