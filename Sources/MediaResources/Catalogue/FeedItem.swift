// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The result for one item of a feed: a catalogue entry, or a refusal.
public enum FeedItem: Sendable {
    /// An entry of the catalogue.
    case entry(CatalogueEntry)
    /// An item that cannot become a resource. It must stay protected, and an operator must look at it.
    case refused(FeedRefusal)
}

/// An item of a feed that became a resource.
public struct CatalogueEntry: Hashable, Sendable {
    /// The identifier of the media: the item's guid, or the path of its first stream if it has no guid.
    public let mediaID: String
    /// The URLs of the streams as written, from `media:content` and `enclosure`. Images, documents and subtitles are none, by
    /// `medium`, `type`, or without both the end of the path.
    public let streamURLs: [String]
    /// The paths of ``streamURLs``, one for each: without scheme, host, query and fragment, and not decoded.
    public let streamPaths: [String]
    /// The resource that a token must cover.
    public let resource: MediaResource
    /// The restrictions on the playback of the item, as written in the feed.
    public let restrictions: [MediaRestriction]
    /// The line of the item's start tag, from 1.
    public let line: Int

    /// The ratings of the item, or of its channel if the item has none.
    public var ratings: [Rating] { resource.ratings }
}

/// A `<media:restriction>`: a rule that allows or denies the playback of an item.
///
/// Source: Media RSS 1.5.1, `<media:restriction>`.
public struct MediaRestriction: Hashable, Sendable {
    /// `allow` or `deny`.
    public let relationship: String
    /// `country`, `uri` or `sharing`; empty if the feed has none.
    public let type: String
    /// The allowed or denied values, separated by white space, such as country codes.
    public let value: String
}

/// An item that cannot become a resource, and the reason.
public struct FeedRefusal: Hashable, Sendable {
    /// The line of the item's start tag, from 1.
    public let line: Int
    /// The kind of fault; stable, for programs.
    public let reason: Reason
    /// Details in words, for people; empty if the reason is sufficient.
    public let detail: String
    /// The item's guid or title, if it could be read.
    public let name: String?

    /// A reason why an item cannot become a resource.
    @nonexhaustive
    public enum Reason: String, Sendable, CaseIterable {
        /// The title of the channel comes after the item, or is missing.
        case channelUnknown = "feed_channel_unknown"
        /// The item has neither title nor guid, and would be protected as its whole channel.
        case nameless = "feed_item_nameless"
        /// The item has neither guid nor stream, and could not be looked up.
        case noMediaID = "feed_no_media_id"
        /// The item has a second title or guid.
        case repeatedElement = "feed_repeated_element"
        /// A title, guid, rating or restriction has an element in it, or a comment or processing instruction within its
        /// text.
        case markupInText = "feed_markup_in_text"
        /// A text is longer than 64 KiB.
        case textTooLong = "feed_text_too_long"
        /// The item has more than 256 streams, 32 ratings or 64 restrictions.
        case tooMuch = "feed_too_much"
        /// The URL of a stream has no path that can be determined.
        case badURL = "feed_bad_url"
        /// The item is within another item, or outside the channel.
        case misplaced = "feed_item_misplaced"
        /// The item or its channel has ratings, restrictions or streams in a namespace that resembles that of Media RSS, and is
        /// none of its spellings.
        case unknownNamespace = "feed_unknown_namespace"
        /// The content of the item is not a valid resource. The detail has the resource's error.
        case badResource = "feed_bad_resource"
    }
}

/// An error that ends the reading of a feed. Items that were read before it come from a broken feed.
///
/// Two errors are equal if their codes are equal.
public struct FeedError: Error, Sendable {
    /// The kind of error; stable, for programs.
    public let code: Code
    /// The explanation in words, for people.
    public let reason: String
    /// The line, from 1; 0 if it is unknown.
    public let line: Int
    /// The column, from 1; 0 if it is unknown.
    public let column: Int

    /// The kind of an error in a feed.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The feed is not well-formed XML, or is truncated.
        case malformedXML = "feed_malformed_xml"
        /// The feed has a document type declaration.
        case doctype = "feed_doctype"
        /// The root element is not `rss`, or is in a namespace.
        case notRSS = "feed_not_rss"
        /// Elements are nested more than 64 deep.
        case tooDeep = "feed_too_deep"
        /// There is a second channel, a second title of the channel, or a title with markup in it or of more than 64 KiB.
        case ambiguousChannel = "feed_ambiguous_channel"
        /// libxml2 could not allocate memory.
        case internalFailure = "feed_internal_failure"
    }

    init(_ code: Code, reason: String, line: Int = 0, column: Int = 0) {
        self.code = code
        self.reason = reason
        self.line = line
        self.column = column
    }
}

extension FeedError: Equatable {
    /// True if both errors have the same code.
    public static func == (left: FeedError, right: FeedError) -> Bool { left.code == right.code }
}

extension FeedError: CustomStringConvertible {
    /// The position if known, the reason, and the code in brackets.
    public var description: String {
        let location = line > 0 ? "line \(line)\(column > 0 ? ", column \(column)" : ""): " : ""
        return "\(location)\(reason) [\(code.rawValue)]"
    }
}

extension FeedError {
    init(_ failure: XMLFailure) {
        switch failure {
        case .doctype: self.init(.doctype, reason: "a document type declaration is not allowed")
        case .tooLarge:
            self.init(.malformedXML, reason: "the names and values of a part of the feed take more than 16 MiB")
        case .tooDeep, .tooManyElements: self.init(.tooDeep, reason: "elements are nested more than 64 levels deep")
        case .otherRoot: self.init(.notRSS, reason: "the root element is not rss")
        case .syntax(let message, let line, let column):
            self.init(.malformedXML, reason: message, line: line, column: column)
        case .unsupportedEncoding(let name):
            self.init(.malformedXML, reason: "the encoding \(name.printable(limit: 40)) is unknown")
        case .outOfMemory: self.init(.internalFailure, reason: "libxml2 is out of memory")
        }
    }
}
