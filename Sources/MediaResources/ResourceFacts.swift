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
        xml.append("<rss version=\"2.0\" xmlns:media=\"http://search.yahoo.com/mrss/\"")
        xml.append(extras.rssAttributes, before: "><channel")
        xml.append(extras.channelAttributes, before: "><title")
        xml.appendContent(extras.channelTitleAttributes, channel, end: "</title>")
        if hasItem {
            xml.append("<item")
            xml.append(extras.itemAttributes, before: ">")
            if let itemTitle {
                xml.append("<title")
                xml.appendContent(extras.itemTitleAttributes, itemTitle, end: "</title>")
            }
            if let guid {
                xml.append("<guid")
                xml.appendContent(extras.guidAttributes, guid, end: "</guid>")
            }
            for rating in ratings { xml.appendRating(rating) }
            xml.append(extras.inItem, before: "</item>")
        }
        xml.append(extras.inChannel, before: "</channel>")
        xml.append(extras.inRSS, before: "</rss>")
        return xml
    }
}

extension [UInt8] {
    /// Appends extras, which most fragments do not have, and the text after them.
    fileprivate mutating func append(_ extras: [UInt8], before text: StaticString) {
        if !extras.isEmpty { append(copying: extras.span) }
        append(text)
    }

    /// Appends the attributes of a start tag, its end, and the text up to the end tag.
    fileprivate mutating func appendContent(_ attributes: [UInt8], _ text: String, end: StaticString) {
        append(attributes, before: ">")
        appendXMLText(text.utf8.span)
        append(end)
    }

    fileprivate mutating func appendRating(_ rating: Rating) {
        append("<media:rating scheme=\"")
        appendXMLAttributeValue(rating.scheme.utf8.span)
        append("\">")
        appendXMLText(rating.value.utf8.span)
        append("</media:rating>")
    }
}
