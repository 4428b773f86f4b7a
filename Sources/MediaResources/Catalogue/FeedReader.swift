// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A reader of a programmer's Media RSS feed, for making a catalogue.
///
/// Reads the feed in pieces and reports an item for every `<item>`, in constant memory for any size of the feed.
/// Reads RSS 2.0 in any encoding that libxml2 supports, and skips elements of other namespaces.
///
/// ```swift
/// var reader = FeedReader()
/// while let chunk = try file.read(upToCount: 65_536) {
///     try reader.read(chunk.span) { item in add(item) }
/// }
/// try reader.finish { item in add(item) }
/// ```
///
/// The resource of an item is built from the title of the channel, and the item's title, guid and ratings: each
/// `media:rating` of the item, its groups and contents, or if there are none, of the channel. The namespace of Media RSS has the
/// spellings that feeds have. An item with another that resembles it is refused, as its ratings would be lost.
public struct FeedReader: ~Copyable, Sendable {
    private var parser: XMLEventParser?
    private var scanner: FeedScanner
    private var error: FeedError?
    /// The bytes of a block that is not whole yet.
    private var block: [UInt8] = []
    /// The number of bytes parsed at once. Their events are held in memory until the items are reported.
    private let blockSize: Int

    private static let limits = XMLLimits(depth: 64, elements: .max, root: "rss", utf8Only: false)

    /// Creates a reader.
    ///
    /// - Parameter channel: The channel of the resources, if it is not the title of the feed's channel. By default,
    ///   that title.
    public init(channel: String? = nil) {
        self.init(channel: channel, blockSize: 64 * 1024)
    }

    /// Creates a reader that parses in blocks of the given size, so that tests see feeds that are longer than a block.
    init(channel: String? = nil, blockSize: Int) {
        parser = XMLEventParser(limits: Self.limits)
        scanner = FeedScanner(channel: channel?.trimmed)
        self.blockSize = blockSize
    }

    /// The elements so far that have names of Media RSS in other namespaces, such as `rating in urn:other`; at most 20. They are
    /// not read.
    public var foreignElements: [String] { scanner.foreignElements.sorted() }

    /// Reads the next bytes of the feed.
    ///
    /// Bytes are parsed in blocks of 64 KiB, counted from the start of the feed. libxml2 misses some faults at the end
    /// of its input, such as a `]]>` in text. The result must not depend on where chunks end.
    ///
    /// - Parameters:
    ///   - chunk: The next bytes, in any number.
    ///   - body: Called for each item that ends in a block that the chunk completes.
    /// - Throws: ``FeedError``. Every further call throws it again.
    public mutating func read(_ chunk: Span<UInt8>, body: (FeedItem) -> Void) throws(FeedError) {
        if let error { throw error }
        var start = 0
        while start < chunk.count {
            let end = min(start + blockSize - block.count, chunk.count)
            let piece = chunk.extracting(start..<end)
            start = end
            if piece.count == blockSize {
                try parse(piece, isLast: false, body: body)
            } else {
                block.append(copying: piece)
                if block.count == blockSize { try parseBlock(isLast: false, body) }
            }
        }
    }

    /// Ends the feed.
    ///
    /// - Parameter body: Called for each item that ends in the last block.
    /// - Throws: ``FeedError``. A truncated feed is malformed. Every further call throws.
    public mutating func finish(_ body: (FeedItem) -> Void) throws(FeedError) {
        try parseBlock(isLast: true, body)
        guard scanner.isComplete else { throw fail(FeedError(.malformedXML, reason: "the feed is incomplete")) }
        error = FeedError(.malformedXML, reason: "the feed has ended before")
    }

    private mutating func parseBlock(isLast: Bool, _ body: (FeedItem) -> Void) throws(FeedError) {
        var whole: [UInt8] = []
        swap(&whole, &block)
        try parse(whole.span, isLast: isLast, body: body)
        whole.removeAll(keepingCapacity: true)
        block = whole
    }

    private mutating func parse(_ piece: Span<UInt8>, isLast: Bool, body: (FeedItem) -> Void) throws(FeedError) {
        if let error { throw error }
        guard parser != nil else { throw fail(FeedError(XMLFailure.outOfMemory)) }
        parser?.read(piece, isLast: isLast)
        let failure = parser?.failure
        do {
            if let events = parser?.events { try scanner.read(events, body: body) }
        } catch {
            throw fail(error)
        }
        parser?.removeEvents()
        if let failure { throw fail(FeedError(failure)) }
    }

    private mutating func fail(_ error: FeedError) -> FeedError {
        self.error = error
        return error
    }
}
