// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The wish for a vendor's token: a folder or a file, the times, and what it is bound to.
public struct SigningRequest: Hashable, Sendable {
    /// The scheme of the URLs that players use.
    public var scheme = RequestURI.Scheme.https
    /// The host of the URLs, with its port if that is not the default one; `nil` if it is not known.
    public var host: String?
    /// The path, percent-encoded: with a final `/` everything below it, without one this file.
    public var path: String
    /// The file that the player starts with, for ``SignedDelivery/url``: the path itself, or one below it; `nil` if unknown.
    public var file: String?
    /// The other parameters in the query of the file's URL, without `?`; empty for none.
    public var query = ""
    /// The address or network of the client that the token is bound to; `nil` for none.
    public var client: ClientNetwork?
    /// The id of the session that the token shows, such as ``SixteenBytes/hexadecimal`` of ``SessionID``; `nil` for none.
    public var session: String?
    /// The time of issue.
    public var issued: Timestamp
    /// The expiry: the end of the life, or of the session if that is earlier. Rounded down to a second.
    public var expires: Timestamp

    /// Creates a wish for a path.
    public init(path: String, issued: Timestamp, expires: Timestamp) {
        self.path = path
        self.issued = issued
        self.expires = expires
    }
}

/// An address of a client, or the network of the addresses with the same leading bits.
public struct ClientNetwork: Hashable, Sendable {
    /// An address of the network.
    public let address: IPAddress
    /// The number of leading bits, up to 32 for IPv4 and 128 for IPv6.
    public let length: Int

    /// Creates a network; `nil` if the length is out of range.
    public init?(_ address: IPAddress, length: Int) {
        guard 0...(address.isIPv4 ? 32 : 128) ~= length else { return nil }
        self.address = address
        self.length = length
    }

    /// Creates a network of one address.
    public init(_ address: IPAddress) {
        self.address = address
        length = address.isIPv4 ? 32 : 128
    }

    /// True if the network has one address only.
    public var isAddress: Bool { length == (address.isIPv4 ? 32 : 128) }

    /// The first address and the length, such as `203.0.113.0/24`.
    public var description: String {
        let free = UInt128((address.isIPv4 ? 32 : 128) - length)
        // All 128 bits cannot be shifted out in one step of the standard library's operators that trap.
        let first = free == 128 ? 0 : (address.number >> free) << free
        return "\(IPAddress(number: first).text)/\(length)"
    }
}

extension ClientNetwork: CustomStringConvertible {}

extension IPAddress {
    /// The address as edges write it: `203.0.113.9`, or the text of RFC 5952 for IPv6.
    public var text: String {
        if isIPv4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: number >> UInt128(112 - 16 * $0)) }
        var longest = 0..<0
        var place = 0
        while place < 8 {
            var end = place
            while end < 8, groups[end] == 0 { end += 1 }
            if end - place > max(1, longest.count) { longest = place..<end }
            place = max(end, place + 1)
        }
        func joined(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        if longest.isEmpty { return joined(groups[...]) }
        return "\(joined(groups[..<longest.lowerBound]))::\(joined(groups[longest.upperBound...]))"
    }
}
