// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The limits of a manifest. A manifest that exceeds one is refused with ``ManifestCode/tooLarge``.
public struct ManifestLimits: Hashable, Sendable {
    /// The largest manifest, in bytes. A playlist is streamed, and uses the memory of a line; an MPD is held in memory
    /// until its end.
    public var size = 8 * 1024 * 1024
    /// The most lines of a playlist; of an MPD, the most elements.
    public var lines = 1_000_000
    /// The longest line of a playlist, in bytes without its end; of an MPD, the longest tag.
    public var lineLength = 64 * 1024
    /// The most attributes of a tag.
    public var attributes = 64
    /// The largest depth of an element; the root has depth 1.
    public var depth = 32
    /// The most references, rewritten or not.
    public var references = 100_000

    /// Creates the limits of manifests that players read: 8 MiB, and 100,000 references.
    public init() {}
}
