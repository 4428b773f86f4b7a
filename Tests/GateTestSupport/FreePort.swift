// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
private import Synchronization

/// Returns a port that nothing else uses until this process ends, below the range of ephemeral ports.
///
/// The port stays bound, without a listener, so neither another call nor another run of tests gets it. A server that sets
/// `SO_REUSEADDR`, as all here do, may listen on it all the same, and again after a restart.
package func freePort() throws -> Int {
    for _ in 0..<1000 {
        let port = reservation.withLock { next -> Int in
            next = next == ports.upperBound ? ports.lowerBound : next + 1
            return next
        }
        if reserve(port) { return port }
    }
    throw NoPortIsFree()
}

private struct NoPortIsFree: Error {}

private let ports = 20_000...31_999
/// The last port that was tried. Several processes start in different parts of the range.
private let reservation = Mutex(Int.random(in: ports))

/// Binds a socket to a port of all addresses, and leaves it open. Returns false if the port is in use.
private func reserve(_ port: Int) -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = UInt16(port).bigEndian
    let isBound =
        unsafe withUnsafePointer(to: name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    var one: Int32 = 1
    // Not before it is bound: then it would share the port of another.
    guard isBound, unsafe setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, 4) == 0 else {
        close(socket)
        return false
    }
    return true
}
