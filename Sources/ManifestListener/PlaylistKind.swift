// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The kind of a manifest, on which the lives of the grants in it depend.
enum PlaylistKind: Hashable, Sendable {
    /// A multivariant playlist: the player requests the playlists in it again and again by the same URLs.
    case index
    /// An HLS playlist that the player requests again, by the URL that it has.
    ///
    /// - Parameters:
    ///   - reload: The longest time until the next request, three target durations; `nil` if it has none.
    ///   - isDelta: True if it may be, or is, an update without segments that were named before.
    case live(reload: Duration?, isDelta: Bool)
    /// A dynamic MPD. Players request it again after its own period, which may be hours, and store its content.
    ///
    /// - Parameter namesItself: True if it names the URL of the next request, by `Location`.
    case dynamic(namesItself: Bool)
    /// A playlist that does not change any more.
    ///
    /// - Parameters:
    ///   - duration: Its duration; `nil` if it has none.
    ///   - mayHaveBeenLive: True if a player may have requested it while it was live.
    case finished(_ duration: Duration?, mayHaveBeenLive: Bool)
}

extension PlaylistKind {
    /// Finds the kind of an HLS playlist. It need not be valid: the rewriter refuses an invalid one.
    ///
    /// Source: RFC 8216 §4.3.2.1, §4.3.3.4, §4.3.4.2, and its second edition §4.4.3.8 and §4.4.5.2.
    init(hls playlist: Span<UInt8>) {
        var facts = HLSFacts()
        var start = 0
        while start < playlist.count {
            let end = playlist.firstIndex(of: UInt8(ascii: "\n"), from: start) ?? playlist.count
            if playlist[start] == UInt8(ascii: "#") { facts.read(playlist.extracting(start..<end)) }
            start = end + 1
        }
        if facts.isIndex {
            self = .index
        } else if facts.isFinished {
            self = .finished(.milliseconds(facts.duration), mayHaveBeenLive: !facts.isRecorded)
        } else {
            let reload = facts.target > 0 ? Duration.milliseconds(3 * facts.target) : nil
            self = .live(reload: reload, isDelta: facts.isDelta)
        }
    }

    /// The facts in the tags of an HLS playlist; times are in milliseconds.
    private struct HLSFacts {
        var (isFinished, isRecorded, isIndex, isDelta) = (false, false, false, false)
        var (target, duration): (Int64, Int64) = (0, 0)

        mutating func read(_ line: Span<UInt8>) {
            if line.starts(with: "#EXTINF:", at: 0) {
                duration = min(duration + line.extracting(8...).leadingMilliseconds, PlaylistKind.longest)
            } else if line.starts(with: "#EXT-X-TARGETDURATION:", at: 0) {
                target = min(line.extracting(22...).leadingMilliseconds, PlaylistKind.longest)
            } else if line.starts(with: "#EXT-X-SERVER-CONTROL:", at: 0) {
                isDelta = isDelta || line.firstPosition(of: "CAN-SKIP-UNTIL".utf8.span) != nil
            } else if line.starts(with: "#EXT-X-SKIP:", at: 0) {
                isDelta = true
            } else if line.starts(with: "#EXT-X-PLAYLIST-TYPE:VOD", at: 0) {
                isRecorded = true
            } else if line.starts(with: "#EXT-X-ENDLIST", at: 0) {
                isFinished = true
            } else if line.starts(with: "#EXT-X-STREAM-INF:", at: 0) {
                isIndex = true
            }
        }
    }

    /// The longest duration that is counted, 1,000 days.
    fileprivate static let longest: Int64 = 86_400_000_000
}

extension Span<UInt8> {
    /// The decimal number of seconds at the start, in milliseconds, rounded up; 0 if there is none.
    fileprivate var leadingMilliseconds: Int64 {
        var (value, scale, position): (Int64, Int64, Int) = (0, 0, 0)
        while position < count, value < 1_000_000_000_000 {
            let byte = self[position]
            position += 1
            if byte == UInt8(ascii: "."), scale == 0 {
                scale = 1
            } else if byte.isASCIIDigit {
                if scale == 1000 { return value + 1 }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
                if scale > 0 { scale *= 10 }
            } else {
                break
            }
        }
        return value * (1000 / Swift.max(scale, 1))
    }
}

extension PlaylistKind {
    /// Finds the kind of an MPD. It need not be valid: the rewriter refuses an invalid one.
    ///
    /// Source: ISO/IEC 23009-1 §5.3.1.
    init(dash manifest: Span<UInt8>) {
        let limits = XMLLimits(depth: 64, elements: 1_000_000, root: "MPD", utf8Only: true)
        guard var parser = XMLEventParser(limits: limits) else {
            self = .dynamic(namesItself: false)
            return
        }
        var head = Head()
        var start = 0
        // The wanted attributes stand before the first period.
        while start < manifest.count, parser.failure == nil, !head.isOver {
            let end = min(start + 16 * 1024, manifest.count)
            parser.read(manifest.extracting(start..<end), isLast: end == manifest.count)
            head.read(parser.events)
            parser.removeEvents()
            start = end
        }
        self =
            head.isDynamic ? .dynamic(namesItself: head.hasLocation) : .finished(head.duration, mayHaveBeenLive: false)
    }

    /// The facts at the start of an MPD.
    private struct Head {
        var isDynamic = false
        var hasLocation = false
        var duration: Duration?
        var isOver = false
        private var element = ""

        mutating func read(_ events: XMLEvents) {
            for index in events.list.indices where !isOver {
                let event = events.list[index]
                switch event.kind {
                case .start:
                    element = events.string(event.name)
                    if element == "Location" { hasLocation = true }
                    if element == "Period" { isOver = true }
                case .attribute where element == "MPD":
                    if events.equals(event.name, literal: "type") {
                        isDynamic = events.equals(event.value, literal: "dynamic")
                    }
                    if events.equals(event.name, literal: "mediaPresentationDuration") {
                        duration = Duration(xml: events.string(event.value))
                    }
                default: break
                }
            }
        }
    }
}

extension Duration {
    /// Parses an `xs:duration`, such as `PT1H2M3.5S`, rounded up to a second; a year counts as 366 days and a month as 31.
    /// Returns `nil` for any other text, and for more than 1,000 days.
    package init?(xml text: String) {
        var rest = text.utf8[...]
        guard rest.popFirst() == UInt8(ascii: "P"), !rest.isEmpty else { return nil }
        var (seconds, isTime): (Int64, Bool) = (0, false)
        while let byte = rest.first {
            if byte == UInt8(ascii: "T"), !isTime {
                isTime = true
                rest.removeFirst()
                continue
            }
            let digits = rest.prefix { $0.isASCIIDigit }
            rest = rest.dropFirst(digits.count)
            var hasFraction = false
            if rest.first == UInt8(ascii: ".") {
                let fraction = rest.dropFirst().prefix { $0.isASCIIDigit }
                hasFraction = true
                rest = rest.dropFirst(1 + fraction.count)
            }
            guard 1...9 ~= digits.count, let number = Int64(Substring(digits)), let unit = rest.popFirst(),
                let length = Self.seconds(in: unit, isTime: isTime), !hasFraction || unit == UInt8(ascii: "S")
            else { return nil }
            seconds += number * length + (hasFraction ? 1 : 0)
            guard seconds <= 86_400_000 else { return nil }
        }
        self = .seconds(seconds)
    }

    private static func seconds(in unit: UInt8, isTime: Bool) -> Int64? {
        switch (unit, isTime) {
        case (UInt8(ascii: "Y"), false): 366 * 86_400
        case (UInt8(ascii: "M"), false): 31 * 86_400
        case (UInt8(ascii: "D"), false): 86_400
        case (UInt8(ascii: "H"), true): 3600
        case (UInt8(ascii: "M"), true): 60
        case (UInt8(ascii: "S"), true): 1
        default: nil
        }
    }
}
