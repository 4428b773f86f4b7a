// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// What a viewer wants to play and a media token is good for: a channel, or an asset of a channel.
///
/// Written as a plain identifier (`TNT`) or as a Media RSS fragment:
///
/// ```xml
/// <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title>
/// <item><title>Part 1</title><guid>1234</guid><media:rating scheme="urn:v-chip">TV-PG</media:rating></item></channel>
/// </rss>
/// ```
///
/// The plain identifier is the channel of the fragment that has nothing but a channel. A resource is read once; from
/// then on comparing it costs no more than comparing bytes, and cannot fail. Two resources are equal (and have one
/// hash) when they are the same resource in whatever spelling. To compare with options, see ``covers(_:options:)``.
public struct MediaResource: Sendable {
    /// How a resource is written.
    @nonexhaustive
    public enum Kind: String, Sendable {
        /// A plain identifier.
        case identifier
        /// A Media RSS fragment, whose spelling does not matter.
        case fragment
        /// Any other text, which is compared by its bytes alone.
        case opaque
    }

    private let storage: Storage

    /// The resource as it was written, byte for byte.
    public var text: String { storage.text }

    /// The bytes of ``text``.
    package var bytes: [UInt8] { storage.bytes }

    /// How the resource is written.
    public var kind: Kind { storage.kind }

    /// The one text that all spellings of this resource have in common.
    ///
    /// A Media RSS fragment; for an opaque resource, its text.
    public var canonicalForm: String { String(decoding: storage.canonical, as: UTF8.self) }

    /// The channel or network; for an opaque resource, its text.
    public var channel: String { storage.facts.channel }

    /// The title of the asset, or nil where the resource is a channel or has no title.
    public var itemTitle: String? { storage.facts.itemTitle }

    /// The identifier of the asset, or nil where the resource is a channel or has none.
    public var guid: String? { storage.facts.guid }

    /// The ratings of the asset in canonical order, each once.
    public var ratings: [Rating] { storage.facts.ratings }

    /// Whether this is a channel and nothing else.
    public var isChannel: Bool { kind != .opaque && facts.isChannel }

    /// Whether the asset has ratings on the scale of `limit` and all of these are at most `limit`.
    ///
    /// An asset without a rating on that scale is not at most anything.
    public func isRatedAtMost(_ limit: Rating) -> Bool {
        let comparable = ratings.filter { $0.sharesScale(with: limit) }
        return !comparable.isEmpty && comparable.allSatisfy { $0.isAtMost(limit) }
    }

    /// The most bytes that a resource may have.
    public static let maximumSize = 8 * 1024

    /// Reads a resource from untrusted text.
    ///
    /// Text whose first character is `<` and whose root element is `rss` is a fragment; any other root makes it
    /// opaque; all other text is an identifier.
    ///
    /// - Parameter text: At most ``maximumSize`` bytes.
    /// - Throws: ``ResourceError``, with every code that it has.
    public init(_ text: String) throws(ResourceError) {
        guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
        let trimmed = text.utf8.trimmingXMLSpace()
        guard let first = trimmed.first else { throw ResourceError(.empty, "the resource is empty") }
        // A file may begin with a byte order mark, and libxml2 knows it.
        let isMarked = trimmed.starts(with: "\u{FEFF}<".utf8)
        if first == UInt8(ascii: "<") || isMarked {
            self.storage = try FragmentReader.read(text)
        } else {
            let channel = String(Substring(trimmed))
            guard channel.isLegalXML, !channel.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw ResourceError(.invalidCharacter, "the resource has a control character")
            }
            self.storage = Storage(text: text, kind: .identifier, facts: ResourceFacts(channel: channel))
        }
    }

    /// Reads a resource from untrusted bytes.
    ///
    /// - Parameter bytes: UTF-8, at most ``maximumSize``.
    /// - Throws: ``ResourceError``, with every code that it has.
    public init(utf8 bytes: [UInt8]) throws(ResourceError) {
        guard bytes.count <= Self.maximumSize else { throw .tooLarge }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ResourceError(.invalidUTF8, "the resource is not UTF-8")
        }
        try self.init(text)
    }

    /// Takes a text as it is, to be compared by its bytes alone, even where it is a malformed fragment.
    ///
    /// - Parameter text: At most ``maximumSize`` bytes.
    /// - Throws: ``ResourceError`` with code ``ResourceError/Code/empty`` or ``ResourceError/Code/tooLarge``.
    public init(opaque text: String) throws(ResourceError) {
        guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
        guard text.utf8.contains(where: { !$0.isXMLSpace }) else {
            throw ResourceError(.empty, "the resource is empty")
        }
        self.storage = Storage(opaque: text)
    }

    init(_ storage: Storage) { self.storage = storage }

    var facts: ResourceFacts { storage.facts }

    /// What a resource consists of. Immutable, shared by the copies of the resource.
    final class Storage: Sendable {
        let text: String
        /// The text again, for comparisons that are quicker than with a string.
        let bytes: [UInt8]
        let kind: Kind
        let facts: ResourceFacts
        let canonical: [UInt8]

        init(text: String, kind: Kind, facts: ResourceFacts) {
            self.text = text
            self.bytes = [UInt8](text.utf8)
            self.kind = kind
            self.facts = facts
            self.canonical = facts.canonicalForm()
        }

        init(text: String, canonical: [UInt8], facts: ResourceFacts) {
            self.text = text
            self.bytes = [UInt8](text.utf8)
            self.kind = .fragment
            self.facts = facts
            self.canonical = canonical
        }

        init(opaque text: String) {
            self.text = text
            self.bytes = [UInt8](text.utf8)
            self.kind = .opaque
            self.facts = ResourceFacts(channel: text)
            self.canonical = bytes
        }
    }
}

extension MediaResource: Hashable {
    /// Whether both are the same resource, in whatever spelling.
    public static func == (left: MediaResource, right: MediaResource) -> Bool {
        left.storage === right.storage
            || ((left.kind == .opaque) == (right.kind == .opaque)
                && left.storage.canonical.hasSameBytes(as: right.storage.canonical))
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage.canonical) }
}

extension MediaResource: CustomStringConvertible {
    public var description: String { text }
}

extension ResourceError {
    static var tooLarge: ResourceError {
        ResourceError(.tooLarge, "the resource is larger than \(MediaResource.maximumSize) bytes")
    }
}
