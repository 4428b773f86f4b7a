// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore
internal import Synchronization

/// The certificates of the open connections, by the addresses of their peers.
///
/// gRPC gives its services the address of a peer only.
final class PeerCertificates: Sendable {
    private let digests = Mutex<[String: [UInt8]]>([:])

    /// Returns the SHA-256 digest of the certificate that a peer presented; `nil` for none.
    func digest(of peer: SocketAddress) -> [UInt8]? {
        guard let key = peer.key else { return nil }
        return digests.withLock { $0[key] }
    }

    /// Stores the certificate of a connection as long as it is open. Called on its event loop, after the handshake.
    func remember(_ connection: any Channel) {
        guard let key = connection.remoteAddress?.key, digests.withLock({ $0[key] == nil }),
            let digest = HTTPConnection(connection).certificateDigest
        else { return }
        digests.withLock { $0[key] = digest }
        connection.closeFuture.whenComplete { [self] _ in digests.withLock { $0[key] = nil } }
    }
}

extension SocketAddress {
    fileprivate var key: String? {
        guard let ipAddress, let port else { return nil }
        return "\(ipAddress) \(port)"
    }
}
