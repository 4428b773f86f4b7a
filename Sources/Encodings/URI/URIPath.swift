// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reading of the path of a URI: the only code that decodes its percent-encoding and resolves its dot segments. The
/// catalogue, edge tokens, signed paths and the references of manifests use it alike.
///
/// A path that an origin may interpret differently is a fault. Source: RFC 3986 §5.2.4 and §6.2.2; accepts a subset.
package enum URIPath {
    /// The largest path with its query, in bytes.
    package static let maximumSize = 8 * 1024

    /// A reason to refuse a path.
    package enum Fault: Error {
        case fragment
        case badEncoding
        case encodedTwice
        case encodedSlash
        case encodedDelimiter
        case backslash
        case controlCharacter
        case parameters
        case aboveRoot
    }

    /// A set of characters that servers read in different ways, which a caller permits.
    package struct Permissions: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// A slash that is percent-encoded, which is decoded. Otherwise it stays encoded, as a part of its segment.
        package static let encodedSlash = Permissions(rawValue: 1)
        /// A semicolon.
        package static let parameters = Permissions(rawValue: 2)
    }

    /// An encoded slash, as a decoded path has it: nothing else is decoded to that, because a path that is encoded twice is a fault.
    package static let encodedSlash: StaticString = "%2F"

    /// Decodes one level of percent-encoding, up to the query.
    ///
    /// An encoded slash is a part of its segment (RFC 3986 §2.2), and stays ``encodedSlash``. Some servers decode it
    /// before they split a path. A part that they would read as an empty or dot segment is a fault. A look-up of a path
    /// also looks up their reading (``splitAtEncodedSlashes(_:)``).
    package static func decode(_ bytes: Span<UInt8>, permitting permitted: Permissions = []) throws(Fault) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var position = 0
        var hasEncodedSlash = false
        while position < bytes.count, bytes[position] != UInt8(ascii: "?") {
            var byte = bytes[position]
            var isEncoded = false
            switch byte {
            case UInt8(ascii: "#"): throw .fragment
            case UInt8(ascii: "%"):
                guard let encoded = bytes.percentEncodedByte(at: position) else { throw .badEncoding }
                byte = encoded
                isEncoded = true
                position += 3
            default: position += 1
            }
            switch byte {
            case 0x00...0x1F, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "/") where isEncoded && !permitted.contains(.encodedSlash):
                decoded.append(encodedSlash)
                hasEncodedSlash = true
                continue
            // A server that decodes before it splits a target reads the rest as a query or a fragment.
            case UInt8(ascii: "?") where isEncoded, UInt8(ascii: "#") where isEncoded: throw .encodedDelimiter
            case UInt8(ascii: ";") where !permitted.contains(.parameters): throw .parameters
            default: decoded.append(byte)
            }
            // A double-encoded path names another file to a server that decodes twice.
            if decoded.count >= 3, decoded.span.percentEncodedByte(at: decoded.count - 3) != nil { throw .encodedTwice }
        }
        if hasEncodedSlash { try demandUsualSegments(decoded.span) }
        return decoded
    }

    /// Throws if a server that decodes first reads a part of a segment as empty or as a dot segment. The parts are
    /// separated by encoded slashes.
    package static func demandUsualSegments(_ path: Span<UInt8>) throws(Fault) {
        var (start, position, isAfterEncoded) = (0, 0, false)
        while true {
            let isEncoded = path.percentEncodedByte(at: position) == UInt8(ascii: "/")
            guard position == path.count || isEncoded || path[position] == UInt8(ascii: "/") else {
                position += 1
                continue
            }
            if isEncoded || isAfterEncoded {
                let part = path.extracting(start..<position)
                guard part.count > 0, dots(of: part) == 0 else { throw .encodedSlash }
            }
            guard position < path.count else { return }
            position += isEncoded ? 3 : 1
            (start, isAfterEncoded) = (position, isEncoded)
        }
    }

    /// Returns a decoded path as a server has it that decodes slashes before it splits; `nil` if it has no ``encodedSlash``.
    package static func splitAtEncodedSlashes(_ path: Span<UInt8>) -> [UInt8]? {
        var split: [UInt8] = []
        var position = 0
        while position < path.count {
            let isEncoded = path.percentEncodedByte(at: position) == UInt8(ascii: "/")
            split.append(isEncoded ? UInt8(ascii: "/") : path[position])
            position += isEncoded ? 3 : 1
        }
        return split.count == path.count ? nil : split
    }

    /// Removes empty and dot segments of a path that begins with a slash. A trailing slash stays.
    package static func resolve(_ path: Span<UInt8>) throws(Fault) -> [UInt8] {
        var resolved: [UInt8] = []
        resolved.reserveCapacity(path.count)
        try append(path, to: &resolved, from: 0, reading: .request)
        return resolved
    }

    /// The meaning of empty segments, and of dot segments at the root.
    package enum Reading {
        /// To the servers that serve a request: empty segments count for nothing, and no path leads above the root.
        case request
        /// In a reference, as players resolve it (RFC 3986 §5.2.4): empty segments stay, and the root is its own parent.
        case reference
    }

    /// Appends a path, of which the dot segments are resolved. An encoded dot counts as a dot.
    ///
    /// - Parameters:
    ///   - path: The path; a leading slash is that of its first segment.
    ///   - output: The text before the path. From `root` on, it is the folder of the path, without the last slash.
    ///   - root: The length of `output` at the root.
    package static func append(
        _ path: Span<UInt8>,
        to output: inout [UInt8],
        from root: Int,
        reading: Reading
    ) throws(Fault) {
        var start = path.count > 0 && path[0] == UInt8(ascii: "/") ? 1 : 0
        while true {
            let end = path.firstIndex(of: UInt8(ascii: "/"), from: start) ?? path.count
            let (segment, isLast) = (path.extracting(start..<end), end == path.count)
            let dots = dots(of: segment)
            if dots == 0 {
                if reading == .reference || isLast || segment.count > 0 {
                    output.append(UInt8(ascii: "/"))
                    output.append(copying: segment)
                }
            } else {
                if dots == 2 {
                    guard reading == .reference || output.count > root else { throw .aboveRoot }
                    while output.count > root, output.removeLast() != UInt8(ascii: "/") {}
                }
                if isLast { output.append(UInt8(ascii: "/")) }
            }
            guard !isLast else { return }
            start = end + 1
        }
    }

    /// Returns 1 or 2 for a dot segment, with its dots as they are or percent-encoded; 0 for other segments.
    package static func dots(of segment: Span<UInt8>) -> Int {
        // An encoded dot has three bytes.
        guard segment.count <= 6 else { return 0 }
        var (dots, position) = (0, 0)
        while position < segment.count {
            if segment[position] == UInt8(ascii: ".") {
                position += 1
            } else if segment.percentEncodedByte(at: position) == UInt8(ascii: ".") {
                position += 3
            } else {
                return 0
            }
            dots += 1
        }
        return dots <= 2 ? dots : 0
    }
}

extension URIPath {
    /// Returns the path or query of a URI in normal form. Unreserved characters are decoded, other encodings are in
    /// upper case, and characters that are invalid in a URI are encoded.
    ///
    /// `nil` for controls, for `#`, and for percent signs that encode nothing. Source: RFC 3986 §6.2.2.
    ///
    /// - Parameter plain: The characters that stay as they are.
    package static func normalText(_ bytes: Span<UInt8>, plain: ASCIISet) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            var byte = bytes[position]
            var isWritten = plain.contains(byte)
            if byte == UInt8(ascii: "%") {
                guard let encoded = bytes.percentEncodedByte(at: position) else { return nil }
                position += 3
                byte = encoded
                isWritten = byte.isUnreserved
            } else if byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "#") {
                return nil
            } else {
                position += 1
            }
            if isWritten { text.append(byte) } else { text.append(percentEncoding: byte) }
        }
        return text
    }
}

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
