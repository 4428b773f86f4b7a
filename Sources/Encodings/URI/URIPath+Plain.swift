// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension URIPath {
    /// True if a text of at least 8 bytes has only letters, digits, `/`, `.`, `-` and `_`, and no `/` or `.` behind a `/`.
    ///
    /// Such a path has no query, and is its own normal form and its own canonical form. Nearly all paths of media are of this
    /// kind, so eight bytes are looked at together. False for all others, and for shorter ones: look at them byte by byte.
    package static func isPlain(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count >= 8 else { return false }
        // The slash before the next word, at the position of that word's first byte.
        var slashBefore: UInt64 = 0
        var position = 0
        while position <= bytes.count - 8, let word = bytes.word(at: position) {
            guard let slashes = word.slashesOfPlainPath(after: slashBefore) else { return false }
            slashBefore = slashes << 56
            position += 8
        }
        // The last eight bytes overlap those before, so all pairs of bytes are seen.
        if position == bytes.count { return true }
        return bytes.word(at: bytes.count - 8)?.slashesOfPlainPath(after: 0) != nil
    }
}

extension UInt64 {
    /// The highest bit of each of these eight bytes that is a slash; `nil` if they cannot be a part of a plain path.
    ///
    /// - Parameter slashBefore: The highest bit of all if a slash stands before the first byte.
    fileprivate func slashesOfPlainPath(after slashBefore: UInt64) -> UInt64? {
        guard self & .highBits == 0 else { return nil }
        let lower = self | 0x2020_2020_2020_2020
        let letters = lower.reaching(0x61) & ~lower.reaching(0x7B)
        // From `-` over `.` and `/` to `9`.
        let (dots, slashes, zeros) = (reaching(0x2E), reaching(0x2F), reaching(0x30))
        let others = reaching(0x2D) & ~reaching(0x3A)
        let underscores = reaching(0x5F) & ~reaching(0x60)
        guard (letters | others | underscores) & .highBits == .highBits else { return nil }
        let slash = slashes & ~zeros & .highBits
        guard (slash >> 8 | slashBefore) & dots & ~zeros == 0 else { return nil }
        return slash
    }
}
