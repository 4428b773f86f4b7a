// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import Logging
package import NIOCore
internal import Synchronization

/// Logs refused connections: a line for the first of a listener and reason, then at most one a minute, with their number.
/// With a line for every connection, an untrusted peer could fill the disk.
package final class PeerReporter: Sendable {
    private let logger: Logger
    private let seen = Mutex<[String: (reported: ContinuousClock.Instant, count: Int)]>([:])

    package init(logger: Logger) { self.logger = logger }

    package func report(_ reason: PeerRefusal, of peer: SocketAddress?, listener: String) {
        let now = ContinuousClock.now
        let count = seen.withLock { seen -> Int? in
            let key = "\(listener) \(reason.rawValue)"
            guard let last = seen[key] else {
                seen[key] = (now, 0)
                return 1
            }
            guard last.reported.duration(to: now) >= .seconds(60) else {
                seen[key] = (last.reported, last.count + 1)
                return nil
            }
            seen[key] = (now, 0)
            return last.count + 1
        }
        guard let count else { return }
        let hint =
            switch reason {
            case .untrusted: "untrusted peer; if it is an edge, add its network to edge.peers"
            case .quota: "advanced.limits.connectionsPerPeer is reached"
            }
        logger.warning(
            "connection closed: \(hint)",
            metadata: [
                "listener": "\(listener)", "reason": "\(reason.rawValue)", "count": "\(count)",
                "peer": "\(peer?.ipAddress ?? "unknown")",
            ]
        )
    }
}
