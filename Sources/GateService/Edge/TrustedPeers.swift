// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore

/// Who may ask as an edge: this machine, and the networks and certificates of the configuration. A client that reaches
/// the listener past its edge could write what it likes into the edge's headers.
struct TrustedPeers: Hashable, Sendable {
    var networks: [Network] = []
    /// The SHA-256 of client certificates.
    var certificates: [[UInt8]] = []

    /// Whether the peer is trusted; found out once for a connection, and again after a reload.
    ///
    /// - Parameter snapshot: The number of the snapshot that these peers are of.
    func trusts(_ connection: HTTPConnection, snapshot: UInt64) -> Bool {
        if let known = connection.trust, known.snapshot == snapshot { return known.isTrusted }
        let isTrusted = isAddressTrusted(connection.channel.remoteAddress) || isCertificateTrusted(connection)
        connection.trust = (snapshot, isTrusted)
        return isTrusted
    }

    private func isAddressTrusted(_ address: SocketAddress?) -> Bool {
        switch address {
        case .unixDomainSocket: return true
        case .v4, .v6:
            guard let text = address?.ipAddress, let number = Network.number(text) else { return false }
            return Network.loopback.contains { $0.has(number) } || networks.contains { $0.has(number) }
        // A client's end of a unix socket has no name.
        case nil: return false
        }
    }

    private func isCertificateTrusted(_ connection: HTTPConnection) -> Bool {
        guard !certificates.isEmpty, let digest = connection.certificateDigest else { return false }
        return certificates.contains(digest)
    }

    /// Addresses that begin with the same bits. IPv4 is kept in the form that IPv6 has for it, `::ffff:0:0/96`.
    struct Network: Hashable, Sendable {
        private let first: UInt128
        private let mask: UInt128

        fileprivate static let loopback = [Network("127.0.0.0/8"), Network("::1/128")].compactMap { $0 }

        /// Reads an address, or `ADDRESS/BITS`; nil where it is neither, and for networks of everybody.
        init?(_ text: String) {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let isV6 = text.utf8.contains(UInt8(ascii: ":"))
            guard let address = parts.first, let number = Self.number(String(address)) else { return nil }
            let size = isV6 ? 128 : 32
            guard let bits = parts.count == 1 ? size : Int(parts[1]), 1...size ~= bits else { return nil }
            mask = UInt128.max << UInt128(size - bits)
            first = number & mask
        }

        func has(_ number: UInt128) -> Bool { number & mask == first }

        /// The address as a number.
        static func number(_ text: String) -> UInt128? {
            // Zones (`%eth0`) name the way and not the peer.
            let text = String(text.prefix { $0 != "%" })
            guard let address = try? SocketAddress(ipAddress: text, port: 0) else { return nil }
            let isV6 = text.utf8.contains(UInt8(ascii: ":"))
            return unsafe address.withSockAddr { address, _ in
                // sockaddr_in has the address behind family and port; sockaddr_in6 has a word of flow before it.
                let start = unsafe UnsafeRawPointer(address) + (isV6 ? 8 : 4)
                let bytes = unsafe UnsafeRawBufferPointer(start: start, count: isV6 ? 16 : 4)
                let number = unsafe bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
                return isV6 ? number : 0xFFFF_0000_0000 | number
            }
        }
    }
}
