// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What a client asked an edge for: a path and a query, neither of them decoded.
struct OriginalTarget {
    let path: Substring
    /// What follows the first `?`; nil where there is none.
    let query: Substring?

    /// The most bytes that a target may have.
    static let maximumSize = 24 * 1024

    /// Splits a target; nil where it is not in the one form that a gate and an origin understand alike.
    ///
    /// That form is RFC 9112's origin form, of bytes that can stand in a request line: no scheme and host, no fragment,
    /// no space and no control character. Invalid UTF-8 comes here as U+FFFD, which nobody sends, and is refused too.
    init?(_ target: Substring) {
        let bytes = target.utf8.span
        guard 1...Self.maximumSize ~= bytes.count, bytes[0] == UInt8(ascii: "/") else { return nil }
        var queryStart: Int?
        for place in bytes.indices {
            switch bytes[place] {
            case UInt8(ascii: "?"): if queryStart == nil { queryStart = place }
            case 0...0x20, 0x7F, UInt8(ascii: "#"): return nil
            case 0xEF where place + 2 < bytes.count && bytes[place + 1] == 0xBF && bytes[place + 2] == 0xBD: return nil
            default: break
            }
        }
        if let queryStart {
            let mark = target.utf8.index(target.startIndex, offsetBy: queryStart)
            path = target[..<mark]
            query = target[target.utf8.index(after: mark)...]
        } else {
            path = target
            query = nil
        }
    }

    init(path: Substring, query: Substring?) {
        self.path = path
        self.query = query
    }
}
