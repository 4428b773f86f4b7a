// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The limits of a listener for its connections and requests.
package struct HTTPLimits: Hashable, Sendable {
    /// The most open connections.
    package var connections: Int
    /// The most open connections of one address.
    package var connectionsPerPeer: Int
    /// The most bytes of header fields in a request.
    package var headerBytes: Int
    /// The most bytes of a request's body.
    package var bodyBytes: Int
    /// The longest time from the first byte of a request to the last.
    package var requestTimeout: Duration
    /// The longest time that a connection may be idle between requests.
    package var idleTimeout: Duration

    /// Creates limits of their members.
    ///
    /// - Parameter connectionsPerPeer: Without it half of `connections`, rounded up: one peer at its quota leaves half for all
    ///   others, and two such peers get half each.
    package init(
        connections: Int = 4096,
        connectionsPerPeer: Int? = nil,
        headerBytes: Int = 32 * 1024,
        bodyBytes: Int = 2 * 1024 * 1024,
        requestTimeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(60)
    ) {
        self.connections = connections
        self.connectionsPerPeer = connectionsPerPeer ?? max(1, (connections + 1) / 2)
        self.headerBytes = headerBytes
        self.bodyBytes = bodyBytes
        self.requestTimeout = requestTimeout
        self.idleTimeout = idleTimeout
    }
}
