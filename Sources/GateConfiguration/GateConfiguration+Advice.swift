// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPServer

extension GateConfiguration {
    /// Settings that work but are unwanted in production: for `playgate check`.
    package var advice: [String] { [openMemory].compactMap(\.self) + closedSockets }

    /// An API without keys in front of a store that forgets.
    private var openMemory: String? {
        guard api.callers == nil, case .memory = use.store else { return nil }
        return
            "api.anonymous with replayStore.store memory: every process of this machine can consume tokens and fill the store, and a "
            + "restart forgets what was consumed; in production, set api.keys (playgate keys api NAME) and replayStore.store"
    }

    /// Sockets for edges that only the gate's user can open: a connection needs the right to write.
    private var closedSockets: [String] {
        guard let edge else { return [] }
        return (edge.listeners + edge.offloads + edge.grpc).compactMap { listener in
            guard case .unix = listener.address, let mode = listener.socketMode, mode & 0o022 == 0 else { return nil }
            return
                "edge.socketMode \"0\(String(mode, radix: 8))\": only the gate's own user can open \(listener.address); "
                + "for an edge of another user, set socketMode to \"0660\" and socketGroup to a group of both"
        }
    }
}
