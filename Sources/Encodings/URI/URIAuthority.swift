// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The host and port of a URI, as a client or an edge sends them.
///
/// Source: RFC 9110 §7.2, RFC 3986 §3.2.2; accepts a subset.
package struct URIAuthority {
    /// The host in lower case without the trailing dot of the root, such as `live.example.com` or `[2001:db8::1]`. It shares
    /// the storage of the text if that is in lower case.
    package let host: Substring
    /// The port, at least 1; `nil` if none is given.
    package let port: UInt16?

    /// The maximum size of a host, in bytes.
    package static let maximumHostSize = 255

    /// Parses a name or an address, with or without a port; `nil` if it is invalid.
    package init?(_ requested: Substring) {
        let bytes = requested.utf8.span
        guard 1...Self.maximumHostSize + 6 ~= bytes.count else { return nil }
        var end = bytes.count
        var isLower = true
        let isAddress = bytes[0] == UInt8(ascii: "[")
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "_"):
                continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): isLower = false
            case UInt8(ascii: ":") where isAddress && end == bytes.count: continue
            case UInt8(ascii: "[") where index == 0: continue
            case UInt8(ascii: "]") where isAddress && end == bytes.count: end = index + 1
            case UInt8(ascii: ":") where !isAddress && end == bytes.count: end = index
            case UInt8(ascii: ":") where isAddress && index == end: continue
            default: return nil
            }
        }
        guard case .some(let port) = Self.port(bytes, from: end) else { return nil }
        guard !isAddress || bytes[end - 1] == UInt8(ascii: "]") else { return nil }
        if end > 1, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        guard 1...Self.maximumHostSize ~= end, bytes[0] != UInt8(ascii: ".") else { return nil }
        // A slice of a text costs more than reading it.
        let isWhole = end == bytes.count
        let host = isWhole ? requested : requested[..<requested.utf8.index(requested.startIndex, offsetBy: end)]
        self.host = isLower ? host : host.lowercased()[...]
        self.port = port
    }

    /// Returns the port behind a colon: `.some(nil)` if there is none, `nil` if the rest is no port from 1 to 65535.
    private static func port(_ bytes: Span<UInt8>, from start: Int) -> UInt16?? {
        guard start < bytes.count else { return .some(nil) }
        guard bytes[start] == UInt8(ascii: ":"), bytes.count - start <= 6 else { return nil }
        if start + 1 == bytes.count { return .some(nil) }
        var port = 0
        for index in start + 1..<bytes.count {
            guard bytes[index].isASCIIDigit else { return nil }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        guard let port = UInt16(exactly: port), port > 0 else { return nil }
        return .some(port)
    }
}
