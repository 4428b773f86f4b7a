// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import Synchronization

/// The gate that is in force, until a reload puts another one in its place.
///
/// A request takes it once, at its start, and goes by it to its end.
final class LiveGate: Sendable {
    /// A gate, and what it was made from.
    final class Snapshot: Sendable {
        let gate: Gate
        let configuration: GateConfiguration
        let edge: EdgeRules?
        /// What the files looked like that this was made from.
        let files: FileStamps
        let loaded: Timestamp
        /// A number that no other snapshot of this process has.
        let number = Snapshot.count.add(1, ordering: .relaxed).newValue

        private static let count = Atomic<UInt64>(0)

        init(gate: Gate, configuration: GateConfiguration, files: FileStamps, loaded: Timestamp) {
            self.gate = gate
            self.configuration = configuration
            edge = configuration.edge.map(EdgeRules.init)
            self.files = files
            self.loaded = loaded
        }
    }

    private let snapshot: Mutex<Snapshot>

    init(_ snapshot: Snapshot) { self.snapshot = Mutex(snapshot) }

    /// What is in force.
    var current: Snapshot { snapshot.withLock { $0 } }

    /// The standing of a peer of the edge listener, by its address.
    func standing(of peer: SocketAddress?) -> PeerStanding { current.edge?.peers.standing(of: peer) ?? .untrusted }

    /// Puts `next` in force.
    func replace(with next: Snapshot) { snapshot.withLock { $0 = next } }
}
