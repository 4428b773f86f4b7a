// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// What a feed says about one item: what it protects, or why it cannot be protected by what it says.
public enum FeedItem: Sendable {
    /// An entry of the catalogue.
    case entry(CatalogueEntry)
    /// An item that cannot become a resource. It must stay protected, and somebody must look at it.
    case refused(FeedRefusal)
}

/// An item of a feed that became a resource.
public struct CatalogueEntry: Hashable, Sendable {
    /// The identifier of the media: the item's guid, or the path of its first stream where it has none.
    public let mediaID: String
    /// The URLs of the streams as written, from `media:content` and `enclosure`.
    public let streamURLs: [String]
    /// The paths of ``streamURLs``, one each: without scheme, host, query and fragment, and not decoded.
    public let streamPaths: [String]
    /// What a token must be good for.
    public let resource: MediaResource
    /// Where the item may be shown, as the feed says.
    public let restrictions: [MediaRestriction]
    /// The line of the item's start tag, from 1.
    public let line: Int

    /// The ratings of the item, or of its channel where it has none of its own.
    public var ratings: [Rating] { resource.ratings }
}

/// A `<media:restriction>`: who may or may not be shown an item.
///
/// Source: Media RSS 1.5.1, `<media:restriction>`.
public struct MediaRestriction: Hashable, Sendable {
    /// `allow` or `deny`.
    public let relationship: String
    /// `country`, `uri` or `sharing`; empty where the feed does not say.
    public let type: String
    /// What is allowed or denied, separated by white space, such as country codes.
    public let value: String
}

/// An item that cannot become a resource, and why.
public struct FeedRefusal: Hashable, Sendable {
    /// The line of the item's start tag, from 1.
    public let line: Int
    /// Why; stable, for programs.
    public let reason: Reason
    /// More about it, in words, for people; empty where the reason says all.
    public let detail: String
    /// The item's guid or title, as far as it could be read.
    public let name: String?

    /// Why an item cannot become a resource.
    @nonexhaustive
    public enum Reason: String, Sendable, CaseIterable {
        /// The title of the channel stands behind the item, or nowhere.
        case channelUnknown = "feed_channel_unknown"
        /// Neither title nor guid: the item would be protected as its whole channel.
        case nameless = "feed_item_nameless"
        /// Neither guid nor stream: nothing to find the item by.
        case noMediaID = "feed_no_media_id"
        /// A second title or guid.
        case repeatedElement = "feed_repeated_element"
        /// Elements in a title, guid, rating or restriction, or a comment or processing instruction within its text.
        case markupInText = "feed_markup_in_text"
        /// A text of more than 64 KiB.
        case textTooLong = "feed_text_too_long"
        /// More than 256 streams, 32 ratings or 64 restrictions.
        case tooMuch = "feed_too_much"
        /// A stream whose URL has no path that can be told.
        case badURL = "feed_bad_url"
        /// An item within an item, or outside the channel.
        case misplaced = "feed_item_misplaced"
        /// What the item says is no resource; the detail has the resource's error.
        case badResource = "feed_bad_resource"
    }
}

/// The reason why a feed cannot be read any further. What was read before is of a feed that is broken.
///
/// Two errors are equal when their codes are.
public struct FeedError: Error, Sendable {
    /// What is wrong; stable, for programs.
    public let code: Code
    /// What is wrong, in words, for people.
    public let reason: String
    /// The line, from 1; 0 where it is not known.
    public let line: Int
    /// The column, from 1; 0 where it is not known.
    public let column: Int

    /// What is wrong with a feed.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// Not well-formed XML, or cut short.
        case malformedXML = "feed_malformed_xml"
        /// A document type declaration.
        case doctype = "feed_doctype"
        /// The root element is not `rss`, or is in a namespace.
        case notRSS = "feed_not_rss"
        /// Elements nested more than 64 deep.
        case tooDeep = "feed_too_deep"
        /// A second channel, or a second title of the channel, or one that has markup in it or is too long.
        case ambiguousChannel = "feed_ambiguous_channel"
        /// libxml2 could not get memory.
        case internalFailure = "feed_internal_failure"
    }

    init(_ code: Code, _ reason: String, line: Int = 0, column: Int = 0) {
        self.code = code
        self.reason = reason
        self.line = line
        self.column = column
    }
}

extension FeedError: Equatable {
    /// Equality of codes.
    public static func == (left: FeedError, right: FeedError) -> Bool { left.code == right.code }
}

extension FeedError: CustomStringConvertible {
    public var description: String {
        let place = line > 0 ? "line \(line)\(column > 0 ? ", column \(column)" : ""): " : ""
        return "\(place)\(reason) [\(code.rawValue)]"
    }
}

extension FeedError {
    init(_ failure: XMLFailure) {
        switch failure {
        case .doctype: self.init(.doctype, "a document type declaration is not allowed")
        case .tooDeep, .tooManyElements: self.init(.tooDeep, "elements are nested more than 64 deep")
        case .otherRoot: self.init(.notRSS, "the root element is not rss")
        case .syntax(let message, let line, let column):
            self.init(.malformedXML, message, line: line, column: column)
        case .unsupportedEncoding(let name):
            self.init(.malformedXML, "the encoding \(name.printable(limit: 40)) is not known")
        case .outOfMemory: self.init(.internalFailure, "libxml2 could not get memory")
        }
    }
}
