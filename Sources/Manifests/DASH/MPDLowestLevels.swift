// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The lowest levels of an MPD, which are its Representations if it has them, and the common facts of those in each
/// level.
///
/// The levels are in the order of the document, so that those in a level follow each other. One range for each is
/// enough, for any number of them.
struct MPDLowestLevels {
    /// The content of a level.
    private struct Content {
        /// A range of `levels`.
        var levels = 0..<0
        /// A range of the lists of its height.
        var lists = 0..<0
        var hasPlainIDs = true
    }

    private var levels: [Int] = []
    /// For each height, the indices of lists of bases, for one level of that height after the other.
    private var lists: [[Int]]
    private var contents: [Content]

    /// Finds the lowest levels.
    ///
    /// - Parameters:
    ///   - list: For each level, the index of its list of bases.
    ///   - count: The number of these lists.
    init(of outline: MPDOutline, in document: Span<UInt8>, mode: ManifestRules.Mode, list: [Int], count: Int) {
        let heights = (outline.levels.map(\.height).max() ?? 0) + 1
        contents = Array(repeating: Content(), count: outline.levels.count)
        lists = Array(repeating: [], count: heights)
        levels.reserveCapacity(outline.levels.count)
        // For each height and list, the level that it was found in last.
        var last = Array(repeating: -1, count: heights * count)
        for lowest in outline.levels.indices where !outline.levels[lowest].hasLower {
            let isPlain = outline.levels[lowest].hasPlainID(in: document, mode: mode)
            levels.append(lowest)
            var level = lowest as Int?
            while let here = level {
                let height = outline.levels[here].height
                contents[here].hasPlainIDs = contents[here].hasPlainIDs && isPlain
                if contents[here].levels.isEmpty {
                    contents[here].levels = levels.count - 1..<levels.count
                    contents[here].lists = lists[height].count..<lists[height].count
                }
                contents[here].levels = contents[here].levels.lowerBound..<levels.count
                if last[height * count + list[lowest]] != here {
                    last[height * count + list[lowest]] = here
                    lists[height].append(list[lowest])
                    contents[here].lists = contents[here].lists.lowerBound..<lists[height].count
                }
                level = outline.levels[here].parent
            }
        }
    }

    /// Returns the lowest levels in a level.
    func levels(in level: Int) -> ArraySlice<Int> { levels[contents[level].levels] }

    /// Returns the different lists of bases of the lowest levels in a level.
    func lists(in level: Int, height: Int) -> ArraySlice<Int> { lists[height][contents[level].lists] }

    /// Returns true if no `@id` of a Representation in a level has a meaning of its own in paths.
    func hasPlainIDs(in level: Int) -> Bool { contents[level].hasPlainIDs }
}

extension MPDOutline.Level {
    /// Returns true if `@id` has no meaning of its own in paths, or there is none.
    fileprivate func hasPlainID(in document: Span<UInt8>, mode: ManifestRules.Mode) -> Bool {
        guard let id else { return true }
        let value = id.isLiteral ? [] : id.value(in: document) ?? []
        let bytes = id.isLiteral ? document.extracting(id.range) : value.span
        guard bytes.isPlainIdentifier else { return false }
        guard case .segment(let prefix) = mode else { return true }
        return bytes[0] != prefix.utf8.first
    }
}
