// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Synchronization

private let ports = Mutex<Set<Int>>([])

/// Returns a port without a listener, below the range of ephemeral ports, and another one each time: some servers share the port of
/// one that starts at the same moment.
package func freePort() throws -> Int {
    for _ in 0..<100 {
        let port = Int.random(in: 20_000..<32_000)
        let isFree = (try? HTTPConnection("127.0.0.1:\(port)")) == nil
        if isFree, ports.withLock({ $0.insert(port).inserted }) { return port }
    }
    throw NoPortIsFree()
}

private struct NoPortIsFree: Error {}
