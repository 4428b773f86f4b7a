// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The address of a listener.
package enum ListenerAddress: Hashable, Sendable {
    /// A host and a port; port 0 selects any free one.
    case tcp(host: String, port: Int)
    /// The path of a unix socket.
    case unix(path: String)
    /// The file descriptor of a socket that this process was started with.
    case descriptor(Int32)

    /// True if only this machine can reach the listener.
    package var isLocal: Bool {
        switch self {
        case .unix: true
        // The address of a passed socket is not known here.
        case .descriptor: false
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}

extension ListenerAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .descriptor(let number): "fd:\(number)"
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
