// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import NIOCore
package import RequestTargets

/// The peers that may send checks as edges: this machine, and the configured networks and certificates. A client that
/// reaches the listener directly could forge the edge's header fields.
package struct TrustedPeers: Hashable, Sendable {
    /// True if every process of this machine may send checks over TCP.
    var trustsLoopback = true
    package var networks: [IPNetwork] = []
    /// The SHA-256 digests of client certificates.
    package var certificates: [[UInt8]] = []

    /// Returns true if the peer is trusted. The result is cached for the connection until the next reload.
    ///
    /// - Parameter snapshot: The number of the snapshot that these peers belong to.
    package func trusts(_ connection: HTTPConnection, snapshot: UInt64) -> Bool {
        if let known = connection.trust, known.snapshot == snapshot { return known.isTrusted }
        let isTrusted = isAddressTrusted(connection.channel.remoteAddress) || isCertificateTrusted(connection)
        connection.trust = (snapshot, isTrusted)
        if isTrusted { connection.prove() }
        return isTrusted
    }

    /// Returns true if a peer is trusted.
    ///
    /// - Parameter certificate: The SHA-256 digest of the certificate that it presented; `nil` for none.
    package func trusts(_ address: SocketAddress?, certificate: [UInt8]?) -> Bool {
        isAddressTrusted(address) || certificate.map { certificates.contains($0) } ?? false
    }

    /// Returns the standing of a peer before its first request.
    package func standing(of peer: SocketAddress?) -> PeerStanding {
        if isAddressTrusted(peer) { return .trusted }
        return certificates.isEmpty ? .untrusted : .unknown
    }

    private func isAddressTrusted(_ address: SocketAddress?) -> Bool {
        switch address {
        case .unixDomainSocket: return true
        case .v4, .v6:
            guard let number = address?.number else { return false }
            return trustsLoopback && IPNetwork.loopback.contains { $0.has(number) }
                || networks.contains { $0.has(number) }
        // The client's end of a unix socket has no address.
        case nil: return false
        }
    }

    private func isCertificateTrusted(_ connection: HTTPConnection) -> Bool {
        guard !certificates.isEmpty, let digest = connection.certificateDigest else { return false }
        return certificates.contains(digest)
    }
}

extension IPNetwork {
    fileprivate static let loopback = [IPNetwork("127.0.0.0/8"), IPNetwork("::1/128")].compactMap { $0 }
}
