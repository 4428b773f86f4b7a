// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import PlaybackGate

extension Catalogue {
    /// Reads the items of a feed of the channel TNT, each of which must be one that can be played.
    init(feedOf items: String, _ paths: FeedPathScope, grants profiles: [GrantProfile]) throws {
        self.init()
        let feed = """
            <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title>\
            \(items)</channel></rss>
            """
        var catalogue = Catalogue()
        var reader = FeedReader()
        let add: (FeedItem) -> Void = { item in
            guard case .entry(let entry) = item else {
                Issue.record("\(item)")
                return
            }
            _ = catalogue.add(entry, requestor: "REF30", source: "feed.xml", scope: paths, grants: profiles)
        }
        try reader.read(Array(feed.utf8).span, body: add)
        try reader.finish(add)
        self = catalogue
    }
}
