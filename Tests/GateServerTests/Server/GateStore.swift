// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The replay store of a gate under test.
enum GateStore: String, CaseIterable {
    case memory, sqlite, redis

    /// The stores that this machine has.
    static var installed: [GateStore] { RedisServer.isInstalled ? allCases : [.memory, .sqlite] }

    /// Runs `body` with a gate that has this store.
    ///
    /// - Parameters:
    ///   - more: Sections besides `replayStore`.
    ///   - catalogue: Entries besides those of every gate under test.
    func withGate(
        _ more: String,
        catalogue: String,
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        let redis = self == .redis ? try RedisServer() : nil
        let server = try redis?.start()
        let use =
            switch self {
            case .memory: "{ advanced: { capacity: 1000 } }"
            case .sqlite: "{ deadline: 10s, sqlite: uses.sqlite }"
            case .redis: "{ deadline: 10s, redis: \"unix:\(redis?.socket ?? "")\" }"
            }
        let configuration = RunningGate.configuration("replayStore: \(use)\n\(more)", catalogue: catalogue)
        try await RunningGate.with(configuration) { gate in
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            try body(gate)
        }
        server?.signal(SIGTERM)
    }
}
