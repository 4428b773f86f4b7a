// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The beginning of the paths of players' URLs that a proxy in front removes, such as `/watch`. The rest is the path of
/// the origin.
package struct PublicPath: Hashable, Sendable {
    /// The path without its last slash; empty for none.
    package let text: String

    /// No public path.
    package static let none = PublicPath(empty: ())

    private init(empty: Void) { text = "" }

    /// Reads a path; `nil` if servers or players could read it as another, or if it could be a grant.
    ///
    /// - Parameter text: `/`, or segments of unreserved characters, each behind a slash, and perhaps a last slash: 1 to 1,024 bytes.
    package init?(_ text: String) {
        guard 1...1024 ~= text.utf8.count, text.utf8.first == UInt8(ascii: "/") else { return nil }
        let path = text.utf8.last == UInt8(ascii: "/") ? text.dropLast() : text[...]
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard !segment.isEmpty, segment.utf8.first != UInt8(ascii: "~"), segment.utf8.allSatisfy(\.isUnreserved),
                URIPath.dots(of: segment.utf8.span) == 0
            else { return nil }
        }
        self.text = String(path)
    }

    var bytes: [UInt8] { [UInt8](text.utf8) }

    /// True if a path is below this one; false if there is none.
    func isPrefix(of path: Span<UInt8>) -> Bool {
        let count = text.utf8.count
        return count > 0 && path.count > count && path[count] == UInt8(ascii: "/") && path.hasPrefix(text)
    }
}
