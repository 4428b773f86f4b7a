// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
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
        // Enough without references and extras: the list grows at most once for most fragments.
        let texts = channel.utf8.count + (itemTitle?.utf8.count ?? 0) + (guid?.utf8.count ?? 0)
        xml.reserveCapacity(192 + texts + ratings.reduce(0) { $0 + 48 + $1.scheme.utf8.count + $1.value.utf8.count })
        // Constant parts with nothing between them, which is the rule, are appended as one.
        if extras.hasAnyInChannel {
            xml.append("<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"")
            xml += extras.rssAttributes
            xml.appendTag("><channel", attributes: extras.channelAttributes, whole: "><channel>")
            xml.appendTag("<title", attributes: extras.channelTitleAttributes, whole: "<title>")
        } else {
            xml.append("<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"><channel><title>")
        }
        xml.appendXMLText(channel.utf8.span)
        if hasItem { appendItem(to: &xml) } else { xml.append("</title>") }
        if !extras.inChannel.isEmpty { xml += extras.inChannel }
        guard extras.inRSS.isEmpty else { return xml + "</channel>".utf8 + extras.inRSS + "</rss>".utf8 }
        xml.append("</channel></rss>")
        return xml
    }

    /// Appends the end tag of the channel's title, and the item.
    private func appendItem(to xml: inout [UInt8]) {
        xml.appendTag("</title><item", attributes: extras.itemAttributes, whole: "</title><item>")
        if let itemTitle {
            xml.appendTag("<title", attributes: extras.itemTitleAttributes, whole: "<title>")
            xml.appendXMLText(itemTitle.utf8.span)
            xml.append("</title>")
        }
        if let guid {
            xml.appendTag("<guid", attributes: extras.guidAttributes, whole: "<guid>")
            xml.appendXMLText(guid.utf8.span)
            xml.append("</guid>")
        }
        for rating in ratings { xml.appendRating(rating) }
        if !extras.inItem.isEmpty { xml += extras.inItem }
        xml.append("</item>")
    }
}

extension [UInt8] {
    /// Appends a start tag, which is `whole` without attributes.
    @inline(__always)
    fileprivate mutating func appendTag(_ start: StaticString, attributes: [UInt8], whole: StaticString) {
        if attributes.isEmpty { return append(whole) }
        append(start)
        self += attributes
        append(">")
    }

    fileprivate mutating func appendRating(_ rating: Rating) {
        append("<media:rating scheme=\"")
        appendXMLAttributeValue(rating.scheme.utf8.span)
        append("\">")
        appendXMLText(rating.value.utf8.span)
        append("</media:rating>")
    }
}
