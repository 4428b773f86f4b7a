// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// Protects a listener without credentials from web pages.
///
/// A page in a browser on the operator's machine can send requests to loopback. DNS rebinding makes them look same-origin,
/// so `Host` must be an address or a configured name.
package struct HostGuard {
    /// The names of the listener, in the form of ``HostName``.
    package let hosts: [String]

    /// Creates a value of its members.
    package init(hosts: [String]) {
        self.hosts = hosts
    }

    /// True if the host of a request is that of the listener.
    package func admits(_ request: HTTPRequest) -> Bool {
        if request.isOverUnixSocket { return true }
        let named = request.head.headers["host"]
        guard named.count == 1, let host = HostName(named[0][...]) else { return false }
        return isKnown(host)
    }

    /// True if the host is an address, which DNS rebinding cannot use, or a known name.
    private func isKnown(_ host: HostName) -> Bool {
        if host.text == "localhost" || hosts.contains(where: { $0.utf8.elementsEqual(host.text.utf8) }) { return true }
        let text = host.text.utf8.first == UInt8(ascii: "[") ? host.text.dropFirst().dropLast() : host.text
        return (try? SocketAddress(ipAddress: String(text), port: 0)) != nil
    }
}

extension HTTPRequest {
    /// True for a connection over a unix socket: no browser can make one.
    package var isOverUnixSocket: Bool {
        if case .unixDomainSocket = connection.channel.localAddress { true } else { false }
    }
}
