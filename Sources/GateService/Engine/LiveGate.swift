// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import Synchronization

/// The active gate, until a reload replaces it.
///
/// A request takes the current snapshot once, at its start, and uses it to its end.
final class LiveGate: Sendable {
    /// A gate and the configuration that it was made from.
    final class Snapshot: Sendable {
        let gate: Gate
        let configuration: GateConfiguration
        let edge: EdgeRules?
        /// The objects that the gate was made of, which another with other keys is made of.
        let builder: GateBuilder
        let manifest: ManifestSettings?
        /// The answers to checks that may be repeated; `nil` if neither grants nor tokens are cached.
        let answers: EdgeAnswerCache?
        /// The state of the files before this was made from them.
        let files: FileStamps
        let loaded: Timestamp
        /// A number that is unique among the snapshots of this process.
        let number = Snapshot.count.add(1, ordering: .relaxed).newValue

        private static let count = Atomic<UInt64>(0)

        init(gate: Gate, configuration: GateConfiguration, builder: GateBuilder, loaded: Timestamp) {
            self.gate = gate
            self.configuration = configuration
            edge = configuration.edge.map(EdgeRules.init)
            self.builder = builder
            manifest = configuration.manifest.map(ManifestSettings.init)
            let capacity = configuration.grants?.cacheCapacity ?? configuration.verification.cacheCapacity
            answers = configuration.edge != nil && capacity > 0 ? EdgeAnswerCache(capacity: capacity) : nil
            files = builder.files
            self.loaded = loaded
        }

        /// The public keys of the gate; `nil` for a gate without grants.
        var publishedKeys: PublishedKeys? { gate.grants == nil ? nil : builder.grants?.published }

        /// Makes the store end its waits in time for this gate. The store outlives its gates.
        fileprivate func limitWaits() { gate.store.limitWaits(to: gate.rules.storeDeadline) }

        /// Returns a snapshot of the same configuration with another gate.
        func with(_ gate: Gate) -> Snapshot {
            Snapshot(gate: gate, configuration: configuration, builder: builder, loaded: loaded)
        }
    }

    private let snapshot: Mutex<Snapshot>

    init(_ snapshot: Snapshot) {
        self.snapshot = Mutex(snapshot)
        snapshot.limitWaits()
    }

    /// The active snapshot.
    var current: Snapshot { snapshot.withLock { $0 } }

    /// Returns the standing of a peer of the edge listener, by its address.
    func standing(of peer: SocketAddress?) -> PeerStanding { current.edge?.peers.standing(of: peer) ?? .untrusted }

    /// Makes `next` the active snapshot.
    func replace(with next: Snapshot) {
        snapshot.withLock { $0 = next }
        next.limitWaits()
    }
}
