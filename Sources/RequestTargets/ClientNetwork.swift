// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

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
