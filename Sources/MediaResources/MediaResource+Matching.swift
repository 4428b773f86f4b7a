// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension MediaResource {
    /// The allowed differences between the resource of a token and the wanted one.
    ///
    /// Every option but ``videoNamespaceAlias`` is off by default. Matching is then equality: reflexive, symmetric and
    /// transitive.
    public struct MatchOptions: Hashable, Sendable {
        /// Compares the texts byte for byte only, as integrators of the vendor's library did.
        public var exactOnly = false
        /// Lets a token for a channel play every asset of that channel, if neither has unknown content outside the item.
        ///
        /// Off by default: programmers that authorize whole channels should use the resource of the channel.
        public var channelCoversAssets = false
        /// Ignores ratings.
        ///
        /// Off by default: the provider's parental controls decided on the rating in the request.
        public var ignoreRating = false
        /// Treats the rating schemes `urn:v-chip` and `urn:vchip` as equal.
        public var schemeAliases = false
        /// Ignores the case of ASCII letters in channel, title and guid.
        public var ignoreCase = false
        /// Treats any run of white space as one space in channel, title and guid.
        public var collapseWhitespace = false
        /// Accepts `http://video.search.yahoo.com/mrss/` as a Media RSS namespace too. On by default: both are in use.
        public var videoNamespaceAlias = true

        /// Creates options with their defaults.
        public init() {}

        /// True if all options have their defaults. Equality then decides.
        var isDefault: Bool { self == Self() }
    }

    /// Returns true if a token for this resource permits playback of `wanted`.
    ///
    /// Without options this is equality. It cannot fail, allocates nothing and acquires no lock.
    ///
    /// - Parameters:
    ///   - wanted: The resource to play.
    ///   - options: The allowed differences.
    public func covers(_ wanted: MediaResource, options: MatchOptions = MatchOptions()) -> Bool {
        if options.isDefault { return self == wanted || text.hasSameBytes(as: wanted.text) }
        return mismatch(with: wanted, options: options) == nil
    }

    /// Returns the reason why a token for this resource does not cover `wanted`, or `nil` if it does.
    ///
    /// - Parameters:
    ///   - wanted: The resource to play.
    ///   - options: The allowed differences.
    public func mismatch(with wanted: MediaResource, options: MatchOptions = MatchOptions()) -> ResourceMismatch? {
        if text.hasSameBytes(as: wanted.text) { return nil }
        if options.exactOnly { return .notExact }
        if options.isDefault, self == wanted { return nil }
        if kind == .opaque || wanted.kind == .opaque { return .opaque }
        return facts.mismatch(with: wanted.facts, options: options)
    }

    /// Returns the reason why a token with the untrusted resource text `granted` does not cover this resource, or `nil`
    /// if it does.
    ///
    /// Equal bytes always match, because the signer vouched for them. Other text is parsed first. Text that is not a
    /// resource matches nothing.
    ///
    /// - Parameters:
    ///   - granted: The resource text of the token.
    ///   - options: The allowed differences.
    public func mismatch(withGranted granted: String, options: MatchOptions = MatchOptions()) -> ResourceMismatch? {
        if granted.hasSameBytes(as: text) { return nil }
        if options.exactOnly { return .notExact }
        guard let granted = try? MediaResource(granted) else { return .malformedGrant }
        return granted.mismatch(with: self, options: options)
    }
}

/// A reason why one resource does not cover another: the first difference found.
@nonexhaustive
public enum ResourceMismatch: String, Sendable, CaseIterable {
    /// The channels differ.
    case channel = "channel_differs"
    /// The titles of the assets differ.
    case itemTitle = "item_title_differs"
    /// The guids of the assets differ.
    case guid = "guid_differs"
    /// The ratings differ.
    case rating = "rating_differs"
    /// Content other than channel, title, guid and ratings differs.
    case other = "other_content_differs"
    /// A channel is granted and an asset of it is wanted (see `channelCoversAssets`).
    case channelForAsset = "channel_granted_asset_wanted"
    /// An asset is granted and its channel is wanted, which is more.
    case assetForChannel = "asset_granted_channel_wanted"
    /// One of the two is opaque text, and their bytes differ.
    case opaque = "opaque_text_differs"
    /// The bytes differ, and the option `exactOnly` allows no other comparison.
    case notExact = "not_exact"
    /// One of the two uses another Media RSS namespace.
    case namespace = "namespace_differs"
    /// The granted text is not a resource.
    case malformedGrant = "granted_malformed"
    /// The wanted text is not a resource.
    case malformedWanted = "wanted_malformed"
}

extension ResourceFacts {
    fileprivate func mismatch(
        with wanted: ResourceFacts,
        options: MediaResource.MatchOptions
    ) -> ResourceMismatch? {
        guard same(channel, as: wanted.channel, options: options) else { return .channel }
        // Checked first, whatever the extras are: the options about items must not turn an asset into its channel.
        if hasItem, !wanted.hasItem { return .assetForChannel }
        if !hasItem, wanted.hasItem {
            guard options.channelCoversAssets else { return .channelForAsset }
            return isChannel && !wanted.extras.hasAnyInChannel ? nil : .other
        }
        guard same(itemTitle, as: wanted.itemTitle, options: options) else { return .itemTitle }
        guard same(guid, as: wanted.guid, options: options) else { return .guid }
        guard options.ignoreRating || sameRatings(as: wanted, aliases: options.schemeAliases) else { return .rating }
        guard extras.isSame(as: wanted.extras) else { return .other }
        guard options.videoNamespaceAlias || usesVideoNamespace == wanted.usesVideoNamespace else { return .namespace }
        return nil
    }

    private func same(_ left: String?, as right: String?, options: MediaResource.MatchOptions) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        if left.hasSameBytes(as: right) { return true }
        guard options.ignoreCase || options.collapseWhitespace else { return false }
        return FoldedText(left, options: options).elementsEqual(FoldedText(right, options: options))
    }

    /// True if both sets of ratings are equal. With `aliases`, a rating may have either name of its scheme.
    private func sameRatings(as wanted: ResourceFacts, aliases: Bool) -> Bool {
        guard aliases else { return ratings == wanted.ratings }
        return ratings.allSatisfy { wanted.ratings.containsAlias(of: $0) }
            && wanted.ratings.allSatisfy { ratings.containsAlias(of: $0) }
    }
}

extension [Rating] {
    fileprivate func containsAlias(of rating: Rating) -> Bool {
        contains { $0.value.hasSameBytes(as: rating.value) && $0.scheme.isAlias(of: rating.scheme) }
    }
}

extension String {
    fileprivate func isAlias(of other: String) -> Bool {
        hasSameBytes(as: other) || (isVChip && other.isVChip)
    }

    private var isVChip: Bool { self == "urn:v-chip" || self == "urn:vchip" }
}

/// The bytes of a text, with case and white space folded by the options.
private struct FoldedText: Sequence, IteratorProtocol {
    private var bytes: String.UTF8View.Iterator
    private let options: MediaResource.MatchOptions
    private var isInSpace = false

    init(_ text: String, options: MediaResource.MatchOptions) {
        self.bytes = text.utf8.makeIterator()
        self.options = options
    }

    mutating func next() -> UInt8? {
        while let byte = bytes.next() {
            if options.collapseWhitespace, byte.isXMLSpace {
                if isInSpace { continue }
                isInSpace = true
                return UInt8(ascii: " ")
            }
            isInSpace = false
            let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            return options.ignoreCase && isUpper ? byte | 0x20 : byte
        }
        return nil
    }
}
