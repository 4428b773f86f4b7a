// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateServer
import GateTestSupport
import MediaTokens
import SystemPackage
import Testing

/// The end of a gate that cannot listen.
@Suite struct `A gate that cannot listen` {
    /// Starts a gate whose edges are to come to `address`, and returns the error that ended it.
    private static func failure(_ address: String) async throws -> String {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let text = RunningGate.configuration("edge: { listen: \"\(address)\", tokens: [{ query: token }] }")
        let server = try GateServer(
            configurationFile: try folder.write("gate.yaml", contents: text),
            at: GateSample.time
        )
        let log = try FileDescriptor.open(
            FilePath(folder.file("log")),
            .writeOnly,
            options: [.create],
            permissions: .ownerReadWrite
        )
        defer { try? log.close() }
        do {
            try await server.run(GateServer.ServiceEnvironment(log: log, clock: { GateSample.time }))
            return "listens"
        } catch { return "\(error)" }
    }

    @Test func `says where, why, and what to do`() async throws {
        let origin = try RecordingOrigin()
        let folder = try TemporaryFolder()
        let rows = [
            ("127.0.0.1:\(origin.port)", "the address is in use; stop the process that listens there"),
            ("192.0.2.1:8081", "the address is not one of this machine; ip address shows"),
            ("unix:\(folder.file("none/edge.sock"))", "there is no such folder; the user of this process"),
        ]
        for (address, reason) in rows {
            let failure = try await Self.failure(address)
            #expect(failure.hasPrefix("cannot listen at \(address): \(reason)"), "\(failure)")
        }
        withExtendedLifetime(origin) {}
    }
}
