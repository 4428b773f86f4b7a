// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import GateConfiguration
package import HTTPServer
package import NIOCore
package import Platform
package import PlaybackGate
internal import ReplayStores
internal import Synchronization

/// The active gate, until a reload replaces it.
///
/// A request reads the current snapshot once, at its start, and uses it to its end.
package final class CurrentGate: Sendable {
    /// A gate and the configuration that it was made from.
    package final class Snapshot: Sendable {
        package let gate: Gate
        package let configuration: GateConfiguration
        package let edge: EdgeRules?
        /// The public keys of the gate; `nil` for a gate without grants.
        package let publishedKeys: PublishedKeys?
        /// The entries whose playbacks get tokens for licence servers.
        package let licensed: LicensedEntries
        /// The answers to checks that may be repeated; `nil` if neither grants nor tokens are cached.
        package let answers: EdgeAnswerCache?
        /// The state of the files before the gate was made from them.
        package let files: FileStamps
        package let loaded: Timestamp
        /// A number that is unique among the snapshots of this process.
        package let number = Snapshot.count.add(1, ordering: .relaxed).newValue

        private static let count = Atomic<UInt64>(0)

        /// Creates a snapshot.
        ///
        /// - Parameters:
        ///   - gate: The gate.
        ///   - configuration: The configuration that it was made from.
        ///   - publishedKeys: Its public keys; ignored for a gate without grants.
        ///   - licensed: The entries whose playbacks get tokens for licence servers.
        ///   - files: The state of the files before the gate was made from them.
        ///   - loaded: The time of the load.
        package init(
            gate: Gate,
            configuration: GateConfiguration,
            publishedKeys: PublishedKeys?,
            licensed: LicensedEntries,
            files: FileStamps,
            loaded: Timestamp
        ) {
            self.gate = gate
            self.configuration = configuration
            self.publishedKeys = gate.grants == nil ? nil : publishedKeys
            self.licensed = licensed
            edge = configuration.edge.map(EdgeRules.init)
            let capacity =
                configuration.grants == nil ? configuration.cacheCapacity.tokens : configuration.cacheCapacity.grants
            answers = configuration.edge != nil && capacity > 0 ? EdgeAnswerCache(capacity: capacity) : nil
            self.files = files
            self.loaded = loaded
        }

        /// Makes the store end its waits in time for this gate. The store outlives its gates.
        fileprivate func limitWaits() { gate.store.limitWaits(to: gate.rules.storeDeadline) }

        /// Returns a snapshot of the same configuration with another gate.
        package func with(_ gate: Gate) -> Snapshot {
            Snapshot(
                gate: gate,
                configuration: configuration,
                publishedKeys: publishedKeys,
                licensed: licensed,
                files: files,
                loaded: loaded
            )
        }
    }

    private let snapshot: Mutex<Snapshot>

    package init(_ snapshot: Snapshot) {
        self.snapshot = Mutex(snapshot)
        snapshot.limitWaits()
    }

    /// The active snapshot.
    package var current: Snapshot { snapshot.withLock { $0 } }

    /// Returns the standing of a peer of the edge listener, by its address.
    package func standing(of peer: SocketAddress?) -> PeerStanding {
        current.edge?.peers.standing(of: peer) ?? .untrusted
    }

    /// Makes `next` the active snapshot.
    package func replace(with next: Snapshot) {
        snapshot.withLock { $0 = next }
        next.limitWaits()
    }
}
