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

    package init(
        connections: Int,
        connectionsPerPeer: Int,
        headerBytes: Int,
        bodyBytes: Int,
        requestTimeout: Duration,
        idleTimeout: Duration
    ) {
        self.connections = connections
        self.connectionsPerPeer = connectionsPerPeer
        self.headerBytes = headerBytes
        self.bodyBytes = bodyBytes
        self.requestTimeout = requestTimeout
        self.idleTimeout = idleTimeout
    }
}
