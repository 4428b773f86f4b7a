// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import XML

/// The outline of an MPD: its levels, from the MPD to its Representations, and the references on each.
struct MPDOutline {
    /// The MPD, a Period, an AdaptationSet or a Representation.
    struct Level {
        /// The index of the level above; nil for the MPD.
        let parent: Int?
        /// The number of levels above.
        let height: Int
        /// The locations of its `BaseURL`s.
        var bases: [MPDField] = []
        /// The location of `@id`, of a Representation.
        var id: MPDField?
        /// True if it names its segments, by a template or a list.
        var hasSegments = false
        /// True if a segment has no URL but that of a `BaseURL`.
        var usesBase = false
        /// True if a lower level is in it.
        var hasLower = false
    }

    /// A reference that is not a `BaseURL`.
    struct Reference {
        /// The readers of a reference.
        enum Scope {
            /// Relative to the `BaseURL`s of the Representations in the level.
            case segments
            /// Such, and a template.
            case template
            /// Relative to the `BaseURL`s of the level.
            case level
            /// Relative to the MPD's URL, for most players, or to the `BaseURL`s of the level.
            case document
            /// A list of such, between spaces.
            case list
            /// Relative to the MPD's URL for some players, and to their page's for others.
            case event
        }

        let field: MPDField
        let level: Int
        let scope: Scope
    }

    var levels: [Level] = []
    var references: [Reference] = []
    /// The templates of queries (Annex I).
    var queries: [MPDField] = []
    /// True if an element is in another document, whose relative references the `BaseURL`s of this one are for.
    var hasRemoteElements = false
    /// The locations of `Location` elements, which are references too.
    var locations: [MPDField] = []
}
