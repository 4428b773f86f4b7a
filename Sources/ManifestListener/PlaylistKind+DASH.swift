// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

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
