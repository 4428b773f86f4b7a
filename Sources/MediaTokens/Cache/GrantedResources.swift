// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import MediaResources
internal import Platform

/// The resources of tokens, read from their texts.
///
/// An issuer spells the same resources in the same way in all its tokens, so fragments are cached by all their bytes.
/// Only the content of the text is cached, which depends on nothing else. The comparison with a wanted resource is done
/// again on every call.
enum GrantedResources {
    private static let fragments = TokenTable(capacity: 1024)

    /// The largest fragment that is cached, in bytes. Real ones have a quarter of that.
    static let maximumSize = 1024

    private final class Known: Sendable {
        let resource: MediaResource

        init(_ resource: MediaResource) { self.resource = resource }
    }

    /// Returns the resource that `text` is, or `nil` if it is none.
    static func resource(_ text: Span<UInt8>) -> MediaResource? {
        // Other text is read faster than it is found.
        guard 1...maximumSize ~= text.count, text[0] == UInt8(ascii: "<") else { return read(text) }
        let now = Timestamp(millisecondsSince1970: 0)
        if let known = fragments.lookUp(text, generation: 0, at: now) as? Known { return known.resource }
        guard let resource = read(text) else { return nil }
        fragments.insert(text, value: Known(resource), generation: 0, life: now...now)
        return resource
    }

    private static func read(_ text: Span<UInt8>) -> MediaResource? {
        try? MediaResource(utf8: [UInt8](copying: text))
    }
}
