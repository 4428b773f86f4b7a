// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The limits of a listener for its connections and requests.
package struct HTTPLimits: Hashable, Sendable {
    /// How many connections may be open.
    package var connections: Int
    /// How many connections one address may have.
    package var connectionsPerPeer: Int
    /// How many bytes of headers a request may have.
    package var headerBytes: Int
    /// How many bytes of body a request may have.
    package var bodyBytes: Int
    /// How long a client may take from the first byte of a request to the last.
    package var requestTimeout: Duration
    /// How long a connection may be idle between requests.
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
