// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore

/// The peers that may ask as edges: this machine, and the networks and certificates of the configuration. A client that
/// reaches the listener past its edge could write what it likes into the edge's headers.
struct TrustedPeers: Hashable, Sendable {
    /// Whether every process of this machine may ask over TCP.
    var trustsLoopback = true
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

    /// The standing of a peer before its first request.
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
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            // The C library reads up to a zero byte; a zone names the way to addresses of IPv6 only.
            guard let address = parts.first, !address.contains(0), let number = Self.number(String(Substring(address)))
            else { return nil }
            let isV6 = address.prefix { $0 != UInt8(ascii: "%") }.contains(UInt8(ascii: ":"))
            guard isV6 || !address.contains(UInt8(ascii: "%")) else { return nil }
            let size = isV6 ? 128 : 32
            // Digits alone: `Int` takes a sign too.
            let digits = parts.count == 1 ? String(size) : String(Substring(parts[1]))
            guard 1...3 ~= digits.utf8.count, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let bits = Int(digits),
                1...size ~= bits
            else { return nil }
            mask = UInt128.max << UInt128(size - bits)
            first = number & mask
        }

        func has(_ number: UInt128) -> Bool { number & mask == first }

        /// The address as a number.
        static func number(_ text: String) -> UInt128? {
            // Zones (`%eth0`) name the way and not the peer.
            let end = text.utf8.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
            return (try? SocketAddress(ipAddress: String(text[..<end]), port: 0))?.number
        }
    }
}
