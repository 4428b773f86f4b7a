// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension MediaResource {
    /// What may differ between the resource of a token and the one that is wanted.
    ///
    /// Every option but ``videoNamespaceAlias`` is off by default, and then matching is equality: reflexive,
    /// symmetric and transitive.
    public struct MatchOptions: Hashable, Sendable {
        /// Compare the texts byte for byte and nothing else, as integrators of the vendor's library did.
        public var exactOnly = false
        /// Let a token for a channel play every asset of that channel, where both say nothing unknown of the channel.
        ///
        /// Off by default: whoever asks for the channel should ask for the channel's resource.
        public var channelCoversAssets = false
        /// Let ratings differ.
        ///
        /// Off by default: the provider's parental control decided about the rating that it was shown.
        public var ignoreRating = false
        /// Take the rating schemes `urn:v-chip` and `urn:vchip` for one.
        public var schemeAliases = false
        /// Take ASCII letters of either case for the same, in channel, title and guid.
        public var ignoreCase = false
        /// Take any run of white space for one space, in channel, title and guid.
        public var collapseWhitespace = false
        /// Take `http://video.search.yahoo.com/mrss/` for the namespace of Media RSS too. On by default: both are in use.
        public var videoNamespaceAlias = true

        /// Makes options with the default of each.
        public init() {}

        /// Whether equality decides.
        var isDefault: Bool { self == Self() }
    }

    /// Whether a token for this resource is good for `wanted`.
    ///
    /// Without options this is equality. It cannot fail, allocates nothing and takes no lock.
    ///
    /// - Parameters:
    ///   - wanted: The resource that is to be played.
    ///   - options: What may differ.
    public func covers(_ wanted: MediaResource, options: MatchOptions = MatchOptions()) -> Bool {
        if options.isDefault { return self == wanted || text.hasSameBytes(as: wanted.text) }
        return mismatch(with: wanted, options: options) == nil
    }

    /// Why a token for this resource is not good for `wanted`, or nil where it is.
    ///
    /// - Parameters:
    ///   - wanted: The resource that is to be played.
    ///   - options: What may differ.
    public func mismatch(with wanted: MediaResource, options: MatchOptions = MatchOptions()) -> ResourceMismatch? {
        if text.hasSameBytes(as: wanted.text) { return nil }
        if options.exactOnly { return .notExact }
        if options.isDefault, self == wanted { return nil }
        if kind == .opaque || wanted.kind == .opaque { return .opaque }
        return facts.mismatch(with: wanted.facts, options: options)
    }

    /// Why a token that says `granted`, an untrusted text, is not good for this resource, or nil where it is.
    ///
    /// Equal bytes match whatever they say, as the signer vouched for them. Other text is read first, and text that is
    /// not a resource matches nothing.
    ///
    /// - Parameters:
    ///   - granted: The resource as a token spells it.
    ///   - options: What may differ.
    public func mismatch(withGranted granted: String, options: MatchOptions = MatchOptions()) -> ResourceMismatch? {
        if granted.hasSameBytes(as: text) { return nil }
        if options.exactOnly { return .notExact }
        guard let granted = try? MediaResource(granted) else { return .malformedGrant }
        return granted.mismatch(with: self, options: options)
    }
}

/// Why one resource does not cover another; the first difference that was found.
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
    /// Something beside channel, title, guid and ratings differs.
    case other = "other_content_differs"
    /// A channel is granted and an asset of it wanted (see `channelCoversAssets`).
    case channelForAsset = "channel_granted_asset_wanted"
    /// An asset is granted and its channel wanted, which is more.
    case assetForChannel = "asset_granted_channel_wanted"
    /// One of the two is not a fragment or identifier, and their bytes differ.
    case opaque = "opaque_text_differs"
    /// The bytes differ, and nothing but bytes was to be compared.
    case notExact = "not_exact"
    /// One of the two uses another namespace for Media RSS.
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
        guard same(channel, wanted.channel, options) else { return .channel }
        // First, and whatever stands beside them: the options about items are not to make a channel of one.
        if hasItem, !wanted.hasItem { return .assetForChannel }
        if !hasItem, wanted.hasItem {
            guard options.channelCoversAssets else { return .channelForAsset }
            return isChannel && !wanted.extras.hasAnyInChannel ? nil : .other
        }
        guard same(itemTitle, wanted.itemTitle, options) else { return .itemTitle }
        guard same(guid, wanted.guid, options) else { return .guid }
        guard options.ignoreRating || sameRatings(as: wanted, aliases: options.schemeAliases) else { return .rating }
        guard extras.isSame(as: wanted.extras) else { return .other }
        guard options.videoNamespaceAlias || usesVideoNamespace == wanted.usesVideoNamespace else { return .namespace }
        return nil
    }

    private func same(_ left: String?, _ right: String?, _ options: MediaResource.MatchOptions) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        if left.hasSameBytes(as: right) { return true }
        guard options.ignoreCase || options.collapseWhitespace else { return false }
        return FoldedText(left, options).elementsEqual(FoldedText(right, options))
    }

    /// Whether both sets of ratings are the same; with `aliases`, each is in the other under either name of its scheme.
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

/// The bytes of a text with letters and white space folded as the options say.
private struct FoldedText: Sequence, IteratorProtocol {
    private var bytes: String.UTF8View.Iterator
    private let options: MediaResource.MatchOptions
    private var isInSpace = false

    init(_ text: String, _ options: MediaResource.MatchOptions) {
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
