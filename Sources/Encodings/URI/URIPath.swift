// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The steps that bring the path of a URI to one form, for the catalogue and for edge tokens alike.
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

    /// Decodes one level of percent-encoding, up to the query.
    package static func decode(_ bytes: Span<UInt8>) throws(Fault) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var place = 0
        while place < bytes.count {
            var byte = bytes[place]
            var isEncoded = false
            place += 1
            switch byte {
            case UInt8(ascii: "?"): return decoded
            case UInt8(ascii: "#"): throw .fragment
            case UInt8(ascii: "%"):
                guard place + 1 < bytes.count, let high = bytes[place].hexadecimalDigit,
                    let low = bytes[place + 1].hexadecimalDigit
                else { throw .badEncoding }
                byte = high << 4 | low
                isEncoded = true
                place += 2
            default: break
            }
            switch byte {
            case 0x00...0x1F, 0x7F: throw .controlCharacter
            case UInt8(ascii: "\\"): throw .backslash
            case UInt8(ascii: "/") where isEncoded: throw .encodedSlash
            // A server that decodes before it splits a target takes the rest for a query or a fragment.
            case UInt8(ascii: "?") where isEncoded, UInt8(ascii: "#") where isEncoded: throw .encodedDelimiter
            case UInt8(ascii: ";"): throw .parameters
            default: decoded.append(byte)
            }
            // A double-encoded path names another file to a server that decodes twice.
            if decoded.count >= 3, decoded[decoded.count - 3] == UInt8(ascii: "%"),
                decoded[decoded.count - 2].hexadecimalDigit != nil, decoded[decoded.count - 1].hexadecimalDigit != nil
            {
                throw .encodedTwice
            }
        }
        return decoded
    }

    /// Removes empty and dot segments of a path that begins with a slash. A trailing slash stays.
    package static func resolve(_ path: [UInt8]) throws(Fault) -> [UInt8] {
        var resolved: [UInt8] = []
        resolved.reserveCapacity(path.count)
        var position = 0
        while position < path.count {
            // `position` is at a slash; the segment ends at the next one.
            var end = position + 1
            while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
            let segment = path[position + 1..<end]
            let isLast = end == path.count
            switch segment.elementsEqual("..".utf8) ? 2 : segment.elementsEqual(".".utf8) ? 1 : 0 {
            case 2:
                guard let slash = resolved.lastIndex(of: UInt8(ascii: "/")) else { throw .aboveRoot }
                resolved.removeSubrange(slash...)
                if isLast { resolved.append(UInt8(ascii: "/")) }
            case 1:
                if isLast { resolved.append(UInt8(ascii: "/")) }
            default:
                if !segment.isEmpty || isLast { resolved += path[position..<end] }
            }
            position = end
        }
        return resolved
    }
}
