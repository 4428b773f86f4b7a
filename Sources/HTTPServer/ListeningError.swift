// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The system's refusal to listen at an address.
package struct ListeningError: Error, CustomStringConvertible {
    package let address: ListenerAddress
    /// The error number of the system.
    package let number: Int32

    /// The address, the reason, and a remedy.
    package var description: String { "cannot listen at \(address): \(reason)\(remedy.map { "; \($0)" } ?? "")" }

    private var reason: String {
        switch number {
        case EADDRINUSE: "the address is in use"
        case EADDRNOTAVAIL: "the address is not one of this machine"
        case EACCES: "permission denied"
        case ENOENT: "there is no such folder"
        case ENAMETOOLONG: "the path is too long"
        default: "error \(number) of the system"
        }
    }

    private var remedy: String? {
        switch (number, address) {
        case (EADDRINUSE, .unix): "stop the process that listens there (ss -xlp shows it), or choose another path"
        case (EADDRINUSE, .tcp): "stop the process that listens there (ss -tlnp shows it), or choose another port"
        case (EACCES, .unix), (ENOENT, .unix): "the user of this process must be able to write in the socket's folder"
        case (EACCES, .tcp): "ports below 1024 need the capability CAP_NET_BIND_SERVICE"
        case (EADDRNOTAVAIL, .tcp): "ip address shows those that it has"
        default: nil
        }
    }
}
