// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
package import RequestTargets

/// The rule by which the client's address is chosen from `X-Forwarded-For`. Each proxy appends the address of its peer
/// to this field. The addresses before the trusted ones are claims of the client.
package enum ForwardedFor: Hashable, Sendable {
    /// The field has one address, that of the client.
    case oneAddress
    /// A number of trusted proxies, 1 to 16, each of which has added an address: the first that they have added is the client's.
    case hops(Int)
    /// The trusted proxies are in these networks: the last address outside of them is the client's.
    case networks([IPNetwork])

    /// The most addresses that are read.
    private static let maximum = 64

    /// Returns the address of the client as it is written, with or without a port; `nil` if the rule finds none.
    ///
    /// - Parameter lines: The values of the fields, in their order.
    package func client(in lines: [Substring]) -> Substring? {
        if case .oneAddress = self { return lines.count == 1 ? lines.first : nil }
        let addresses = lines.flatMap { line in
            line.utf8.split(separator: UInt8(ascii: ","), maxSplits: Self.maximum, omittingEmptySubsequences: false)
                .map { Substring($0).trimmingBlanks }
        }
        guard addresses.count <= Self.maximum else { return nil }
        switch self {
        case .oneAddress: return nil
        case .hops(let count):
            let number = addresses.count - count
            return addresses.indices.contains(number) ? addresses[number] : nil
        case .networks(let networks):
            for text in addresses.reversed() {
                // What is behind a proxy that cannot be read is nobody's word.
                guard let address = IPAddress(reported: text) else { return nil }
                if !networks.contains(where: { $0.has(address.number) }) { return text }
            }
            return nil
        }
    }
}
