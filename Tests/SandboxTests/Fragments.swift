// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Resources in Media RSS.
enum Fragment {
    static let film = fragment(
        channel: "Cinema",
        title: "Example Film",
        guid: "film-1",
        scheme: "urn:mpaa",
        rating: "R"
    )

    static func fragment(
        channel: String,
        title: String,
        guid: String,
        scheme: String,
        rating: String
    ) -> String {
        """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>\(channel)</title>\
        <item><title><![CDATA[\(title)]]></title><guid>\(guid)</guid>\
        <media:rating scheme="\(scheme)">\(rating)</media:rating></item></channel></rss>
        """
    }

    static func rated(_ rating: String) -> String {
        fragment(channel: "TNT", title: "Show", guid: "show-1", scheme: "urn:v-chip", rating: rating)
    }

    static let malformed = "<rss><channel><title>TNT</channel></rss>"
}
