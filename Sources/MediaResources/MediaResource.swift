// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The resource that a viewer wants to play and a media token authorizes: a channel, or an asset of a channel.
///
/// Written as a plain identifier (`TNT`) or as a Media RSS fragment:
///
/// ```xml
/// <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title>
/// <item><title>Part 1</title><guid>1234</guid><media:rating scheme="urn:v-chip">TV-PG</media:rating></item></channel>
/// </rss>
/// ```
///
/// A plain identifier is equal to a fragment with only that channel. A resource is parsed once. Comparisons then cost
/// no more than a comparison of bytes, and cannot fail. Two resources are equal (and have the same hash) if they are
/// the same resource in any spelling. To compare with options, use ``covers(_:options:)``.
public struct MediaResource: Sendable {
    /// The form in which a resource is written.
    @nonexhaustive
    public enum Kind: String, Sendable {
        /// A plain identifier.
        case identifier
        /// A Media RSS fragment. Its spelling does not matter.
        case fragment
        /// Any other text. It is compared by its bytes only.
        case opaque
    }

    private let storage: Storage

    /// The resource as written, byte for byte.
    public var text: String { storage.text }

    /// True if the resource is written so, byte for byte.
    package func isWritten(_ text: Span<UInt8>) -> Bool { storage.isWritten(text) }

    /// The form in which the resource is written.
    public var kind: Kind { storage.kind }

    /// The text that all spellings of this resource have in common.
    ///
    /// A Media RSS fragment; for an opaque resource, its text.
    public var canonicalForm: String { String(decoding: storage.canonical, as: UTF8.self) }

    /// The channel or network; for an opaque resource, its text.
    public var channel: String { storage.facts.channel }

    /// The title of the asset, or `nil` if the resource is a channel or has no title.
    public var itemTitle: String? { storage.facts.itemTitle }

    /// The identifier of the asset, or `nil` if the resource is a channel or has none.
    public var guid: String? { storage.facts.guid }

    /// The ratings of the asset in canonical order, without duplicates.
    public var ratings: [Rating] { storage.facts.ratings }

    /// True if the resource is a channel and nothing else.
    public var isChannel: Bool { kind != .opaque && facts.isChannel }

    /// Returns true if the asset has ratings on the scale of `limit` and all of them are at most `limit`.
    ///
    /// Returns false if the asset has no rating on that scale.
    public func isRatedAtMost(_ limit: Rating) -> Bool {
        let comparable = ratings.filter { $0.sharesScale(with: limit) }
        return !comparable.isEmpty && comparable.allSatisfy { $0.isAtMost(limit) }
    }

    /// The largest size of a resource, in bytes: 8 KiB.
    public static let maximumSize = 8 * 1024

    /// Parses a resource from untrusted text.
    ///
    /// Text that begins with `<`, after any white space, and has the root element `rss` is a fragment. Text with any
    /// other root is opaque. All other text is an identifier.
    ///
    /// - Parameter text: At most ``maximumSize`` bytes.
    /// - Throws: ``ResourceError`` with any of its codes.
    public init(_ text: String) throws(ResourceError) {
        guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
        let trimmed = text.utf8.span.trimmingXMLSpace()
        guard !trimmed.isEmpty else { throw ResourceError(.empty, reason: "the resource is empty") }
        // A file may begin with a byte order mark, which libxml2 accepts.
        if trimmed.starts(with: "<", at: 0) || trimmed.starts(with: "\u{FEFF}<", at: 0) {
            self.storage = try FragmentReader.read(text)
        } else {
            let channel = String(decoding: trimmed)
            guard channel.isLegalXML, !channel.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw ResourceError(.invalidCharacter, reason: "the resource has a control character")
            }
            self.storage = Storage(text: text, kind: .identifier, facts: ResourceFacts(channel: channel))
        }
    }

    /// Parses a resource from untrusted bytes.
    ///
    /// - Parameter bytes: UTF-8, at most ``maximumSize``.
    /// - Throws: ``ResourceError`` with any of its codes.
    public init(utf8 bytes: [UInt8]) throws(ResourceError) {
        guard bytes.count <= Self.maximumSize else { throw .tooLarge }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ResourceError(.invalidUTF8, reason: "the resource is not UTF-8")
        }
        try self.init(text)
    }

    /// Creates an opaque resource, which is compared by its bytes only, even if the text is a malformed fragment.
    ///
    /// - Parameter text: At most ``maximumSize`` bytes.
    /// - Throws: ``ResourceError`` with code ``ResourceError/Code/empty`` or ``ResourceError/Code/tooLarge``.
    public init(opaque text: String) throws(ResourceError) {
        guard text.utf8.count <= Self.maximumSize else { throw .tooLarge }
        guard text.utf8.contains(where: { !$0.isXMLSpace }) else {
            throw ResourceError(.empty, reason: "the resource is empty")
        }
        self.storage = Storage(opaque: text)
    }

    init(_ storage: Storage) { self.storage = storage }

    var facts: ResourceFacts { storage.facts }

    /// The parts of a resource. Immutable, and shared by the copies of the resource.
    final class Storage: Sendable {
        let text: String
        /// The bytes of the text, which compare faster than a string.
        let bytes: [UInt8]
        let kind: Kind
        let facts: ResourceFacts
        let canonical: [UInt8]

        init(text: String, kind: Kind, facts: ResourceFacts) {
            self.text = text
            self.bytes = [UInt8](text.utf8)
            self.kind = kind
            self.canonical = facts.canonicalForm()
            // Last, so that they are moved: a copy counts a reference for each of their texts and lists.
            self.facts = facts
        }

        init(text: String, canonical: [UInt8], facts: ResourceFacts) {
            self.text = text
            self.bytes = [UInt8](text.utf8)
            self.kind = .fragment
            self.facts = facts
            self.canonical = canonical
        }

        /// True if the text has these bytes.
        func isWritten(_ text: Span<UInt8>) -> Bool {
            let bytes = bytes
            return bytes.span.hasSameBytes(as: text)
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
    /// True if both are the same resource in any spelling.
    public static func == (left: MediaResource, right: MediaResource) -> Bool {
        left.storage === right.storage
            || ((left.kind == .opaque) == (right.kind == .opaque)
                && left.storage.canonical.hasSameBytes(as: right.storage.canonical))
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage.canonical) }
}

extension MediaResource: CustomStringConvertible {
    /// The resource as written, as ``text``.
    public var description: String { text }
}

extension ResourceError {
    static var tooLarge: ResourceError {
        ResourceError(.tooLarge, reason: "the resource is larger than \(MediaResource.maximumSize) bytes")
    }
}

extension MediaResource {
    /// Creates the fragment for a channel, or for an asset of a channel.
    ///
    /// The text is the canonical form, so the same facts always give the same bytes. The resource of an authorization
    /// request therefore equals the one that the catalogue expects later. White space at either end of a fact is
    /// ignored.
    ///
    /// - Parameters:
    ///   - channel: The channel or network; not empty.
    ///   - itemTitle: The title of the asset; `nil` or empty if there is none.
    ///   - guid: The identifier of the asset; `nil` or empty if there is none.
    ///   - ratings: The ratings of the asset in any order; those with an empty value are ignored.
    /// - Throws: ``ResourceError`` with code ``ResourceError/Code/empty`` if the channel is empty,
    ///   ``ResourceError/Code/invalidCharacter``, ``ResourceError/Code/tooLarge`` or
    ///   ``ResourceError/Code/tooManyElements``.
    public init(
        channel: String,
        itemTitle: String? = nil,
        guid: String? = nil,
        ratings: [Rating] = []
    ) throws(ResourceError) {
        var facts = ResourceFacts(channel: channel.trimmed)
        guard !facts.channel.isEmpty else { throw ResourceError(.empty, reason: "the channel is empty") }
        facts.itemTitle = itemTitle?.trimmed.nonEmpty
        facts.guid = guid?.trimmed.nonEmpty
        facts.ratings = ratings.compactMap { rating in
            rating.value.trimmed.nonEmpty.map { Rating(scheme: rating.scheme, value: $0) }
        }.canonicalOrder()
        let texts = [channel, itemTitle ?? "", guid ?? ""] + ratings.map(\.scheme) + ratings.map(\.value)
        guard texts.allSatisfy(\.isLegalXML) else {
            throw ResourceError(.invalidCharacter, reason: "a value has a character that XML does not allow")
        }
        let canonical = facts.canonicalForm()
        guard canonical.count <= Self.maximumSize else { throw .tooLarge }
        guard facts.elementCount <= FragmentReader.limits.elements else {
            throw ResourceError(.tooManyElements, reason: "more than \(FragmentReader.limits.elements) elements")
        }
        self.init(Storage(text: String(decoding: canonical, as: UTF8.self), canonical: canonical, facts: facts))
    }
}

extension String {
    /// The text without XML white space at either end.
    package var trimmed: String { String(Substring(utf8.trimmingXMLSpace())) }

    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
