// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// Decides the checks of a listener, and knows if it can.
package protocol CheckAuthority: Sendable {
    /// Answers a check.
    ///
    /// - Parameters:
    ///   - request: The client's request; `nil` if Envoy did not describe it unambiguously.
    ///   - peer: The peer that sends checks.
    func check(_ request: CheckRequest?, from peer: GRPCPeer) async -> CheckAnswer

    /// True if a peer may send checks. The connection of any other is closed `requestTimeout` after its first request.
    func trusts(_ peer: GRPCPeer) -> Bool

    /// True if checks can be decided, for the health service.
    var isReady: Bool { get async }
}

/// A peer of the listener.
package struct GRPCPeer: Sendable {
    /// The address; `nil` if it is unknown.
    package let address: SocketAddress?
    /// The SHA-256 digest of the certificate that it presented; `nil` for none.
    package let certificate: [UInt8]?

    package init(address: SocketAddress?, certificate: [UInt8]?) {
        self.address = address
        self.certificate = certificate
    }

    /// Parses an address as gRPC describes it: `ipv4:HOST:PORT`, `ipv6:[HOST]:PORT` or `unix:PATH`.
    package static func address(_ text: String) -> SocketAddress? {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0] {
        case "unix": return try? SocketAddress(unixDomainSocketPath: "")
        case "ipv4", "ipv6":
            guard let colon = parts[1].lastIndex(of: ":"), let port = UInt16(parts[1][parts[1].index(after: colon)...])
            else { return nil }
            var host = parts[1][..<colon]
            if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
            return try? SocketAddress(ipAddress: String(host), port: Int(port))
        default: return nil
        }
    }
}
