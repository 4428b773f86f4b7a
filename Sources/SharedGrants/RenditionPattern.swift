// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A part of paths that names the rendition of a track, such as `/v*/`, in which `*` stands for any characters but `/`.
///
/// All renditions of a track count as one: two players whose bandwidths differ fetch the same segments of it.
package struct RenditionPattern: Hashable, Sendable {
    /// The pattern as written.
    package let text: String
    private let prefix: [UInt8]
    private let suffix: [UInt8]

    /// Parses a pattern; `nil` if it does not have one `*`, and characters before and after it.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        (self.text, prefix, suffix) = (text, Array(parts[0]), Array(parts[1]))
    }

    /// Returns a path with the pattern's own text for the first part that matches it; `nil` if none does.
    func replacingMatch(in path: Substring) -> Substring? {
        let bytes = Array(path.utf8)
        guard bytes.count >= prefix.count + suffix.count else { return nil }
        for start in 0...bytes.count - prefix.count - suffix.count where bytes[start...].starts(with: prefix) {
            var end = start + prefix.count
            while end + suffix.count <= bytes.count {
                if bytes[end...].starts(with: suffix) {
                    let rest = bytes[(end + suffix.count)...]
                    return String(decoding: bytes[..<start] + text.utf8 + rest, as: UTF8.self)[...]
                }
                if bytes[end] == UInt8(ascii: "/") { break }
                end += 1
            }
        }
        return nil
    }
}

extension Segment {
    /// Reads a path whose renditions count as one track.
    package init?(path: Substring, renditions: [RenditionPattern]) {
        for pattern in renditions {
            guard let replaced = pattern.replacingMatch(in: path) else { continue }
            self.init(path: replaced)
            return
        }
        self.init(path: path)
    }
}
