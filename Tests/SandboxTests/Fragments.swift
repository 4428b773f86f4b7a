// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Resources in Media RSS.
enum Fragment {
    static let film = fragment("Cinema", "Example Film", "film-1", "urn:mpaa", "R")

    static func fragment(
        _ channel: String,
        _ title: String,
        _ guid: String,
        _ scheme: String,
        _ rating: String
    ) -> String {
        """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>\(channel)</title>\
        <item><title><![CDATA[\(title)]]></title><guid>\(guid)</guid>\
        <media:rating scheme="\(scheme)">\(rating)</media:rating></item></channel></rss>
        """
    }

    static func rated(_ rating: String) -> String { fragment("TNT", "Show", "show-1", "urn:v-chip", rating) }

    static let malformed = "<rss><channel><title>TNT</channel></rss>"
}
