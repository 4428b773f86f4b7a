// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A network: addresses with a common prefix.
package struct IPNetwork: Hashable, Sendable {
    private let first: UInt128
    private let mask: UInt128

    /// Parses an address, or `ADDRESS/BITS`. Returns `nil` if it is neither, or if it covers all addresses (`/0`).
    ///
    /// A zone of an IPv6 address (`%eth0`) names the interface, not the peer, and is ignored. It has visible ASCII
    /// characters.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first else { return nil }
        let address = whole.prefix { $0 != UInt8(ascii: "%") }
        let zone = whole.dropFirst(address.count)
        let isV6 = address.contains(UInt8(ascii: ":"))
        guard zone.isEmpty || isV6 && zone.count > 1 && zone.allSatisfy({ 0x21...0x7E ~= $0 }),
            let number = IPAddress(Substring(address))?.number
        else { return nil }
        let size = isV6 ? 128 : 32
        // Only digits are accepted: `Int` would also accept a sign.
        let digits = parts.count == 1 ? String(size) : String(Substring(parts[1]))
        guard 1...3 ~= digits.utf8.count, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let bits = Int(digits),
            1...size ~= bits
        else { return nil }
        mask = UInt128.max << UInt128(size - bits)
        first = number & mask
    }

    /// True if the address of this number is in the network. IPv4 addresses are in their IPv6 form, `::ffff:0:0/96`.
    package func has(_ number: UInt128) -> Bool { number & mask == first }
}
