// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import XML

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
