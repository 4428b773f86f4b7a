// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import MediaResources
@testable import PlaybackGate

extension Target {
    /// Feeds: the items and the end are the same for any split into chunks, and those of a complete feed for any block.
    ///
    /// First byte: the seed of the split.
    static let feed = Target(name: "feed") { input in
        var input = input
        let choice = input.choice()
        var random = SplitMix64(seed: UInt64(choice))
        let largest = [1, 7, 40, 300][Int(choice % 4)]
        let feed = input.bytes
        let whole = read(feed, block: 64 * 1024) { _ in feed.count }
        for block in [64 * 1024, largest] {
            let one = block == largest ? read(feed, block: block) { _ in feed.count } : whole
            let pieces = read(feed, block: block) { _ in Int.random(in: 1...largest, using: &random) }
            demand(pieces == one, or: "in chunks of up to \(largest): \(pieces), and not \(one)")
            // What is malformed is judged by where a block ends too.
            guard whole.error == nil else { continue }
            demand(pieces == whole, or: "in blocks of \(block): \(pieces), and not \(whole)")
        }
        var catalogue = Catalogue()
        for case .entry(let entry) in whole.items {
            demand(entry.streamPaths.count == entry.streamURLs.count, or: "streams without paths")
            demand(!entry.mediaID.isEmpty, or: "an item without a media id")
            demand(entry.resource.kind == .fragment, or: "an item whose resource is no fragment")
            demand(
                (try? MediaResource(entry.resource.text)) == entry.resource,
                or: "a resource that is another when read"
            )
            for scope in FeedPathScope.allCases {
                _ = catalogue.add(entry, requestor: "REF30", source: "feed", scope: scope)
            }
            let found = catalogue.find(.media(entry.mediaID))
            demand(found != .unknown, or: "an item that is not found")
        }
    }

    /// The result of reading a feed.
    private struct Outcome: CustomStringConvertible {
        var items: [FeedItem] = []
        var error: FeedError.Code?

        var description: String { "\(items.count) items, \(error?.rawValue ?? "complete")" }

        static func == (left: Outcome, right: Outcome) -> Bool {
            guard left.error == right.error, left.items.count == right.items.count else { return false }
            return zip(left.items, right.items).allSatisfy { left, right in
                switch (left, right) {
                case (.entry(let left), .entry(let right)): left == right
                case (.refused(let left), .refused(let right)): left == right
                default: false
                }
            }
        }
    }

    private static func read(_ feed: [UInt8], block: Int, chunk: (Int) -> Int) -> Outcome {
        var outcome = Outcome()
        var reader = FeedReader(blockSize: block)
        var start = 0
        do throws(FeedError) {
            while start < feed.count {
                let end = min(feed.count, start + max(1, chunk(start)))
                // A copy lets the address sanitizer detect reads beyond the chunk.
                let piece = Array(feed[start..<end])
                try reader.read(piece.span) { outcome.items.append($0) }
                start = end
            }
            try reader.finish { outcome.items.append($0) }
        } catch { outcome.error = error.code }
        return outcome
    }
}
