// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Where a listener listens.
package enum ListenerAddress: Hashable, Sendable {
    /// An address or name, and a port; 0 is any free one.
    case tcp(host: String, port: Int)
    /// The path of a socket.
    case unix(path: String)
    /// The number of a socket that this process was started with.
    case descriptor(Int32)

    /// Whether only this machine can reach it.
    package var isLocal: Bool {
        switch self {
        case .unix: true
        // What it is bound to is for who made it to know.
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
