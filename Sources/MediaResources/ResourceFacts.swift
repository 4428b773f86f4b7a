// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import XML

/// The facts of a resource. The canonical form contains these and nothing else.
struct ResourceFacts: Sendable {
    var channel: String
    var itemTitle: String?
    var guid: String?
    /// The ratings in canonical order, without duplicates.
    var ratings: [Rating] = []
    /// The elements and attributes that have no property here, in canonical XML and document order.
    var extras = Extras()
    /// True if the fragment uses the other Media RSS namespace, `http://video.search.yahoo.com/mrss/`.
    var usesVideoNamespace = false

    /// The content of a fragment beside the known facts, by the element that contains it.
    struct Extras: Hashable, Sendable {
        var rssAttributes: [UInt8] = []
        var channelAttributes: [UInt8] = []
        var channelTitleAttributes: [UInt8] = []
        var itemAttributes: [UInt8] = []
        var itemTitleAttributes: [UInt8] = []
        var guidAttributes: [UInt8] = []
        var inItem: [UInt8] = []
        var inChannel: [UInt8] = []
        var inRSS: [UInt8] = []

        var isEmpty: Bool { !hasAnyInChannel && !hasAnyInItem }

        func isSame(as other: Extras) -> Bool { (isEmpty && other.isEmpty) || self == other }

        var hasAnyInChannel: Bool {
            !(rssAttributes.isEmpty && channelAttributes.isEmpty && channelTitleAttributes.isEmpty
                && inChannel.isEmpty && inRSS.isEmpty)
        }

        var hasAnyInItem: Bool {
            !(itemAttributes.isEmpty && itemTitleAttributes.isEmpty && guidAttributes.isEmpty && inItem.isEmpty)
        }
    }

    var hasItem: Bool { itemTitle != nil || guid != nil || !ratings.isEmpty || extras.hasAnyInItem }

    var isChannel: Bool { !hasItem && extras.isEmpty }

    /// The number of elements in the canonical form, without those among the extras.
    var elementCount: Int {
        let inItem = (itemTitle == nil ? 0 : 1) + (guid == nil ? 0 : 1) + ratings.count
        return 3 + (hasItem ? 1 + inItem : 0)  // rss, channel and its title
    }

    /// Returns the canonical fragment: one line, fixed order, fixed prefix, escaped text, no insignificant content.
    func canonicalForm() -> [UInt8] {
        var xml: [UInt8] = []
        xml.reserveCapacity(160 + channel.utf8.count + (itemTitle?.utf8.count ?? 0) + (guid?.utf8.count ?? 0))
        xml += "<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"".utf8
        xml += extras.rssAttributes
        xml += "><channel".utf8
        xml += extras.channelAttributes
        xml += ">".utf8
        xml.appendElement("title", extras.channelTitleAttributes, channel)
        if hasItem {
            xml += "<item".utf8
            xml += extras.itemAttributes
            xml += ">".utf8
            if let itemTitle { xml.appendElement("title", extras.itemTitleAttributes, itemTitle) }
            if let guid { xml.appendElement("guid", extras.guidAttributes, guid) }
            for rating in ratings { xml.appendRating(rating) }
            xml += extras.inItem
            xml += "</item>".utf8
        }
        xml += extras.inChannel
        xml += "</channel>".utf8
        xml += extras.inRSS
        xml += "</rss>".utf8
        return xml
    }
}

extension [UInt8] {
    fileprivate mutating func appendElement(_ name: String, _ attributes: [UInt8], _ text: String) {
        self += "<".utf8
        self += name.utf8
        self += attributes
        self += ">".utf8
        appendXMLText(text.utf8)
        self += "</".utf8
        self += name.utf8
        self += ">".utf8
    }

    fileprivate mutating func appendRating(_ rating: Rating) {
        self += "<media:rating scheme=\"".utf8
        appendXMLAttributeValue(rating.scheme.utf8)
        self += "\">".utf8
        appendXMLText(rating.value.utf8)
        self += "</media:rating>".utf8
    }
}
