// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A scanner that follows the elements of a feed and makes items of them.
struct FeedScanner: Sendable {
    private let isChannelGiven: Bool
    private var channel: String?
    private var channelRatings: [Rating] = []
    /// True if the channel has a rating in a namespace that is meant to be that of Media RSS.
    private var hasUnknownRating = false
    private var hasChannel = false
    private var hasChannelTitle = false
    private var hasRoot = false
    private var depth = 0
    private var item: FeedItemBuilder?
    private var text: TextUnderway?
    /// The element to which the next attributes belong.
    private var element = Element.other
    /// The elements that have names of Media RSS in other namespaces, such as `rating in urn:other`.
    private(set) var foreignElements: Set<String> = []

    /// The most names of foreign elements that are stored.
    private static let mostForeignElements = 20

    /// The depths of the elements of RSS.
    private enum Depth {
        static let rss = 1
        static let channel = 2
        static let item = 3
    }

    /// An element whose attributes or text are used.
    private enum Element: Equatable, Sendable {
        case other
        case media(MediaKind)
        case channelTitle
        case title
        case guid
        case rating(scheme: String)
        case restriction(relationship: String, type: String)
    }

    /// An element whose text is being read.
    private struct TextUnderway: Sendable {
        let element: Element
        let depth: Int
        var bytes: [UInt8] = []
        var fault: FeedRefusal.Reason?

        static let longest = 64 * 1024
    }

    init(channel: String?) {
        isChannelGiven = channel?.isEmpty == false
        self.channel = isChannelGiven ? channel : nil
    }

    /// True if the root element was read to its end.
    var isComplete: Bool { hasRoot && depth == 0 }

    mutating func read(_ events: XMLEvents, body: (FeedItem) -> Void) throws(FeedError) {
        for index in events.list.indices {
            let event = events.list[index]
            if event.kind != .attribute { endAttributes() }
            switch event.kind {
            case .start: try start(event, in: events)
            case .attribute: attribute(event, in: events)
            case .interruption: text?.fault = .markupInText
            case .text: append(events.text(event.value))
            case .end: try end(event, body: body)
            }
        }
    }

    // MARK: Elements

    private mutating func start(_ event: XMLEvent, in events: XMLEvents) throws(FeedError) {
        depth += 1
        element = .other
        if depth == Depth.rss {
            hasRoot = true
            guard event.namespace.isEmpty else {
                throw FeedError(.notRSS, reason: "the element rss is in a namespace", line: Int(event.line))
            }
        }
        if text != nil {
            text?.fault = .markupInText
            return
        }
        let isPlain = event.namespace.isEmpty
        let isMedia = MediaNamespace(event.namespace, in: events) != nil
        if isPlain, events.equals(event.name, literal: "item") {
            startItem(event)
        } else if item != nil {
            startInItem(event, in: events, isPlain: isPlain, isMedia: isMedia)
        } else {
            try startInChannel(event, in: events, isPlain: isPlain, isMedia: isMedia)
        }
    }

    private mutating func startItem(_ event: XMLEvent) {
        if item != nil {
            item?.fail(.misplaced)
            return
        }
        item = FeedItemBuilder(line: Int(event.line), depth: depth)
        if depth != Depth.item || !hasChannel { item?.fail(.misplaced) }
        if hasUnknownRating { item?.fail(.unknownNamespace) }
    }

    private mutating func startInItem(_ event: XMLEvent, in events: XMLEvents, isPlain: Bool, isMedia: Bool) {
        let isChild = depth == (item?.depth ?? 0) + 1
        if isPlain, isChild, events.equals(event.name, literal: "title") {
            startText(.title)
        } else if isPlain, isChild, events.equals(event.name, literal: "guid") {
            startText(.guid)
        } else if isMedia, events.equals(event.name, literal: "rating") {
            startText(.rating(scheme: ""))
        } else if isMedia, events.equals(event.name, literal: "restriction") {
            startText(.restriction(relationship: "", type: ""))
        } else if isMedia && events.equals(event.name, literal: "content")
            || isPlain && events.equals(event.name, literal: "enclosure")
        {
            element = .media(MediaKind())
        } else if !isMedia {
            startForeign(event, in: events)
        }
    }

    /// Refuses the item if Media RSS is meant by an unknown name, and otherwise notes an element that could be meant.
    private mutating func startForeign(_ event: XMLEvent, in events: XMLEvents) {
        let names: [StaticString] = ["rating", "restriction", "content", "group"]
        guard names.contains(where: { events.equals(event.name, literal: $0) }) else { return }
        if MediaNamespace.resembles(event.namespace, in: events) { item?.fail(.unknownNamespace) }
        guard foreignElements.count < Self.mostForeignElements else { return }
        let namespace = event.namespace.isEmpty ? "no namespace" : events.string(event.namespace).printable(limit: 100)
        foreignElements.insert("\(events.string(event.name)) in \(namespace)")
    }

    /// Adds the media element after all its attributes were read.
    private mutating func endAttributes() {
        guard case .media(let media) = element else { return }
        if media.isStream { item?.addStream(media.url) }
        element = .other
    }

    private mutating func startInChannel(
        _ event: XMLEvent,
        in events: XMLEvents,
        isPlain: Bool,
        isMedia: Bool
    ) throws(FeedError) {
        if depth == Depth.channel, isPlain, events.equals(event.name, literal: "channel") {
            guard !hasChannel else {
                throw FeedError(.ambiguousChannel, reason: "a second channel", line: Int(event.line))
            }
            hasChannel = true
        } else if depth == Depth.item, hasChannel, isPlain, events.equals(event.name, literal: "title") {
            guard !hasChannelTitle else {
                throw FeedError(.ambiguousChannel, reason: "a second title of the channel", line: Int(event.line))
            }
            hasChannelTitle = true
            startText(.channelTitle)
        } else if depth == Depth.item, hasChannel, isMedia, events.equals(event.name, literal: "rating") {
            startText(.rating(scheme: ""))
        } else if depth == Depth.item, hasChannel, !isMedia, events.equals(event.name, literal: "rating"),
            MediaNamespace.resembles(event.namespace, in: events)
        {
            // It would be the rating of every item.
            hasUnknownRating = true
        }
    }

    /// Starts to read a text. Starts again if an attribute adds to its element, as attributes come before text.
    private mutating func startText(_ element: Element) {
        self.element = element
        text = TextUnderway(element: element, depth: depth)
    }

    private mutating func attribute(_ event: XMLEvent, in events: XMLEvents) {
        guard event.namespace.isEmpty else { return }
        switch element {
        case .media(var media):
            if events.equals(event.name, literal: "url") {
                media.url = events.string(event.value).trimmed
            } else if events.equals(event.name, literal: "medium") {
                media.medium = events.string(event.value)
            } else if events.equals(event.name, literal: "type") {
                media.type = events.string(event.value)
            }
            element = .media(media)
        case .rating:
            if events.equals(event.name, literal: "scheme") { startText(.rating(scheme: events.string(event.value))) }
        case .restriction(let relationship, let type):
            if events.equals(event.name, literal: "relationship") {
                startText(.restriction(relationship: events.string(event.value), type: type))
            } else if events.equals(event.name, literal: "type") {
                startText(.restriction(relationship: relationship, type: events.string(event.value)))
            }
        case .other, .channelTitle, .title, .guid: break
        }
    }

    private mutating func append(_ bytes: Span<UInt8>) {
        guard let length = text?.bytes.count else { return }
        if length + bytes.count > TextUnderway.longest {
            text?.fault = .textTooLong
        } else {
            text?.bytes.append(copying: bytes)
        }
    }

    private mutating func end(_ event: XMLEvent, body: (FeedItem) -> Void) throws(FeedError) {
        if let text, text.depth == depth {
            self.text = nil
            try endText(text, line: Int(event.line))
        }
        if let item, item.depth == depth {
            self.item = nil
            body(item.finish(channel: channel, channelRatings: channelRatings))
        }
        depth -= 1
        element = .other
    }

    private mutating func endText(_ text: TextUnderway, line: Int) throws(FeedError) {
        let value = String(decoding: text.bytes.trimmingXMLSpace(), as: UTF8.self)
        if text.element == .channelTitle {
            guard text.fault == nil || isChannelGiven else {
                throw FeedError(
                    .ambiguousChannel,
                    reason: "the title of the channel has markup or is too long",
                    line: line
                )
            }
            if !isChannelGiven, !value.isEmpty { channel = value }
            return
        }
        if let fault = text.fault { item?.fail(fault) }
        switch text.element {
        case .title: item?.set(\.title, to: value)
        case .guid: item?.set(\.guid, to: value)
        case .rating(let scheme):
            guard !value.isEmpty else { return }
            let rating = Rating(scheme: scheme, value: value)
            if item == nil {
                // More ratings than these make the resources too large. Those are refused one by one.
                if channelRatings.count < 64 { channelRatings.append(rating) }
            } else {
                item?.add(rating)
            }
        case .restriction(let relationship, let type):
            item?.add(MediaRestriction(relationship: relationship, type: type, value: value))
        case .other, .media, .channelTitle: break
        }
    }
}
