// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform

/// An address of a client. An IPv6 address that maps an IPv4 one (`::ffff:0:0/96`) is that IPv4 address.
public struct IPAddress: Hashable, Sendable {
    /// The address as a number, IPv4 as `::ffff:0:0/96`.
    package let number: UInt128

    private static let mapped: UInt128 = 0xFFFF_0000_0000

    /// Creates an address from a number, IPv4 as `::ffff:0:0/96`.
    package init(number: UInt128) { self.number = number }

    /// True if this is an IPv4 address.
    public var isIPv4: Bool { number >> 32 == Self.mapped >> 32 }

    /// Parses an address, such as `203.0.113.9` or `2001:db8::1`; `nil` for any other text, and for one with a zone or port.
    public init?(_ text: Substring) {
        let bytes = text.utf8.span
        guard 2...45 ~= bytes.count, bytes.firstIndex(of: 0, from: 0) == nil else { return nil }
        let isIPv6 = bytes.firstIndex(of: UInt8(ascii: ":"), from: 0) != nil
        var address: [16 of UInt8] = .init(repeating: 0)
        var characters: [46 of CChar] = .init(repeating: 0)
        for index in bytes.indices { characters[index] = CChar(truncatingIfNeeded: bytes[index]) }
        var target = address.mutableSpan
        let isParsed = unsafe characters.span.withUnsafeBufferPointer { text in
            unsafe target.withUnsafeMutableBytes { target in
                guard let text = text.baseAddress, let target = target.baseAddress else { return false }
                return unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, target) == 1
            }
        }
        guard isParsed else { return nil }
        var number: UInt128 = 0
        for index in 0..<(isIPv6 ? 16 : 4) { number = number << 8 | UInt128(address[index]) }
        self.number = isIPv6 ? number : Self.mapped | number
    }

    /// Parses an address; see ``init(_:)-(Substring)``.
    public init?(_ text: String) { self.init(text[...]) }

    /// The 4 bytes of an IPv4 address, or the 16 of an IPv6 one.
    package var bytes: [UInt8] {
        stride(from: isIPv4 ? 24 : 120, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt128($0)) }
    }

    /// True if the first `length` bits are those of `prefix`, whose missing bytes are zero.
    ///
    /// - Parameters:
    ///   - prefix: The first bytes of an address, at most 4 of IPv4 and 16 of IPv6.
    ///   - length: The number of bits.
    ///   - isIPv4: True if the prefix is one of IPv4.
    package func has(prefix: Span<UInt8>, length: Int, isIPv4: Bool) -> Bool {
        let size = isIPv4 ? 32 : 128
        guard length <= size, prefix.count <= size / 8 else { return false }
        // A short prefix of IPv6 does not cover all of IPv4.
        guard isIPv4 == self.isIPv4 || !isIPv4 && length >= 96 else { return false }
        var wanted: UInt128 = 0
        for index in 0..<size / 8 { wanted = wanted << 8 | UInt128(index < prefix.count ? prefix[index] : 0) }
        if isIPv4 { wanted |= Self.mapped }
        let bits = isIPv4 ? length + 96 : length
        guard bits > 0 else { return true }
        return (number ^ wanted) >> UInt128(128 - bits) == 0
    }
}

extension IPAddress {
    /// The address as edges write it: `203.0.113.9`, or the text of RFC 5952 for IPv6.
    public var text: String {
        if isIPv4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: number >> UInt128(112 - 16 * $0)) }
        var longest = 0..<0
        var index = 0
        while index < 8 {
            var end = index
            while end < 8, groups[end] == 0 { end += 1 }
            if end - index > max(1, longest.count) { longest = index..<end }
            index = max(end, index + 1)
        }
        func joined(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        if longest.isEmpty { return joined(groups[...]) }
        return "\(joined(groups[..<longest.lowerBound]))::\(joined(groups[longest.upperBound...]))"
    }
}
