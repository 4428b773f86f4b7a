// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A host in canonical form: lower case, without a port and without the trailing dot of the root.
///
/// Source: RFC 9110 §7.2, RFC 3986 §3.2.2; accepts a subset.
public struct HostName: Hashable, Sendable {
    /// The host, such as `live.example.com` or `[2001:db8::1]`.
    public let text: Substring

    /// The maximum size of a host, in bytes.
    public static let maximumSize = 255

    /// Parses a host as a client or an edge sends it; `nil` if it is invalid.
    ///
    /// - Parameter requested: A name or an address, with or without a port.
    public init?(_ requested: Substring) {
        let bytes = requested.utf8.span
        guard 1...Self.maximumSize + 6 ~= bytes.count else { return nil }
        var end = bytes.count
        var isLower = true
        let isAddress = bytes[0] == UInt8(ascii: "[")
        for place in bytes.indices {
            switch bytes[place] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "_"):
                continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): isLower = false
            case UInt8(ascii: ":") where isAddress && end == bytes.count: continue
            case UInt8(ascii: "[") where place == 0: continue
            case UInt8(ascii: "]") where isAddress && end == bytes.count: end = place + 1
            case UInt8(ascii: ":") where !isAddress && end == bytes.count: end = place
            case UInt8(ascii: ":") where isAddress && place == end: continue
            default: return nil
            }
        }
        guard Self.isPort(bytes, from: end), !isAddress || bytes[end - 1] == UInt8(ascii: "]") else { return nil }
        if end > 1, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        guard 1...Self.maximumSize ~= end, bytes[0] != UInt8(ascii: ".") else { return nil }
        let host = requested[..<requested.utf8.index(requested.startIndex, offsetBy: end)]
        text = isLower ? host : host.lowercased()[...]
    }

    /// True if the rest is empty, or a colon and at most five digits.
    private static func isPort(_ bytes: Span<UInt8>, from start: Int) -> Bool {
        guard start < bytes.count else { return true }
        guard bytes[start] == UInt8(ascii: ":"), bytes.count - start <= 6 else { return false }
        for place in start + 1..<bytes.count
        where !bytes[place].isASCIIDigit { return false }
        return true
    }

    /// Byte equality.
    public static func == (left: HostName, right: HostName) -> Bool { ByteKey(left.text) == ByteKey(right.text) }

    public func hash(into hasher: inout Hasher) { hasher.combine(ByteKey(text)) }
}
