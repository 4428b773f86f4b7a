// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import RequestTargets

/// The addresses that key sets may be fetched from: those of the public internet, and the networks of a configuration.
///
/// A name that resolves to a private address could make the gate call services that trust its network.
public struct PermittedAddresses: Hashable, Sendable {
    private let networks: [IPNetwork]

    /// Only the public internet.
    public static let usual = PermittedAddresses(read: [])

    private init(read networks: [IPNetwork]) { self.networks = networks }

    /// Creates permissions.
    ///
    /// - Parameter networks: Further networks, such as `10.0.0.0/8`.
    /// - Throws: ``NotANetwork`` for a text that is none.
    public init(_ networks: [String] = []) throws(NotANetwork) {
        var read: [IPNetwork] = []
        for text in networks {
            guard let network = IPNetwork(text) else { throw NotANetwork(text: text) }
            read.append(network)
        }
        self.networks = read
    }

    /// An error of a caller whose text is not a network.
    public struct NotANetwork: Error, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let text: String
        /// A sentence for the author of a configuration.
        public var description: String { "\(text) must be an address or a network, such as 10.0.0.0/8" }
    }

    /// True if a set may be fetched from the address with this text. Other texts are never permitted.
    func permit(_ text: String) -> Bool {
        guard let number = IPAddress(text)?.number else { return false }
        if networks.contains(where: { $0.has(number) }) { return true }
        let isPublic = Self.publicIPv6.has(number) || number >> 32 == 0xFFFF
        return isPublic && !Self.reserved.contains { $0.has(number) }
    }

    /// Returns the address of a key set that will be refused, if the URL itself names it: an address that is not
    /// permitted, or `localhost`. The addresses of a DNS name are known with each fetch only.
    public func refusedAddress(of address: KeySetAddress) -> String? {
        let named = address.host == "localhost" ? "127.0.0.1" : address.host
        return IPAddress(named) == nil || permit(named) ? nil : named
    }

    /// The global unicast addresses of IPv6 (RFC 4291 §2.4).
    private static let publicIPv6 = network("2000::/3")

    /// The reserved networks of the registries of RFC 6890, and multicast; of IPv6 those within the global unicast addresses.
    private static let reserved = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].map(network)

    private static func network(_ text: String) -> IPNetwork {
        guard let network = IPNetwork(text) else { preconditionFailure("\(text) is not a network") }
        return network
    }
}
