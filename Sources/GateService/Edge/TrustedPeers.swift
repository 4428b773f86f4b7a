// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore

/// The peers that may ask as edges: this machine, and the configured networks and certificates. A client that reaches the
/// listener directly could forge the edge's header fields.
struct TrustedPeers: Hashable, Sendable {
    /// True if every process of this machine may ask over TCP.
    var trustsLoopback = true
    var networks: [Network] = []
    /// The SHA-256 digests of client certificates.
    var certificates: [[UInt8]] = []

    /// Returns true if the peer is trusted. The result is cached for the connection until the next reload.
    ///
    /// - Parameter snapshot: The number of the snapshot that these peers belong to.
    func trusts(_ connection: HTTPConnection, snapshot: UInt64) -> Bool {
        if let known = connection.trust, known.snapshot == snapshot { return known.isTrusted }
        let isTrusted = isAddressTrusted(connection.channel.remoteAddress) || isCertificateTrusted(connection)
        connection.trust = (snapshot, isTrusted)
        return isTrusted
    }

    /// Returns the standing of a peer before its first request.
    func standing(of peer: SocketAddress?) -> PeerStanding {
        if isAddressTrusted(peer) { return .trusted }
        return certificates.isEmpty ? .untrusted : .unknown
    }

    private func isAddressTrusted(_ address: SocketAddress?) -> Bool {
        switch address {
        case .unixDomainSocket: return true
        case .v4, .v6:
            guard let number = address?.number else { return false }
            return trustsLoopback && Network.loopback.contains { $0.has(number) }
                || networks.contains { $0.has(number) }
        // The client's end of a unix socket has no address.
        case nil: return false
        }
    }

    private func isCertificateTrusted(_ connection: HTTPConnection) -> Bool {
        guard !certificates.isEmpty, let digest = connection.certificateDigest else { return false }
        return certificates.contains(digest)
    }

    /// A network: addresses with a common prefix. IPv4 addresses are kept in their IPv6 form, `::ffff:0:0/96`.
    struct Network: Hashable, Sendable {
        private let first: UInt128
        private let mask: UInt128

        fileprivate static let loopback = [Network("127.0.0.0/8"), Network("::1/128")].compactMap { $0 }

        /// Parses an address, or `ADDRESS/BITS`. `nil` if it is neither, or if it covers all addresses (`/0`).
        init?(_ text: String) {
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            // The C library stops at a NUL byte. Only IPv6 addresses have a zone.
            guard let address = parts.first, !address.contains(0), let number = Self.number(String(Substring(address)))
            else { return nil }
            let isV6 = address.prefix { $0 != UInt8(ascii: "%") }.contains(UInt8(ascii: ":"))
            guard isV6 || !address.contains(UInt8(ascii: "%")) else { return nil }
            let size = isV6 ? 128 : 32
            // Only digits are accepted: `Int` would also accept a sign.
            let digits = parts.count == 1 ? String(size) : String(Substring(parts[1]))
            guard 1...3 ~= digits.utf8.count, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let bits = Int(digits),
                1...size ~= bits
            else { return nil }
            mask = UInt128.max << UInt128(size - bits)
            first = number & mask
        }

        func has(_ number: UInt128) -> Bool { number & mask == first }

        /// Returns the address as a number.
        static func number(_ text: String) -> UInt128? {
            // A zone (`%eth0`) names the interface, not the peer.
            let end = text.utf8.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
            return (try? SocketAddress(ipAddress: String(text[..<end]), port: 0))?.number
        }
    }
}
