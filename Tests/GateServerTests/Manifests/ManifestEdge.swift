// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

extension EdgeProxy {
    /// Runs `body` with a gate with a manifest listener and this edge in front of it, as the page on players without cookies
    /// prints it. A media token lives for 20 s, a grant for 10 s, and a session for 120 s.
    ///
    /// - Parameter use: What starts need: `once`, or `ttl` for players that ask for the first URL twice.
    func withManifests(
        mode: String = "segment",
        use: String = "once",
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await withGate(
            catalogue: Self.manifestEntries.replacing("admits: once", with: "admits: \(use)"),
            more: Self.manifestSections(mode),
            isOnPort: true
        ) {
            (gate, proxy) throws in
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            try body(gate, proxy)
        }
    }

    private static let manifestSecret = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()

    private static let manifestEntries = """
            - { path: /film/tnt/master.m3u8, resource: TNT, admits: once, grant: tv }
            - { path: /film/tnt/manifest.mpd, resource: TNT, admits: once, grant: tv }
            - { path: /film/tnt/live.m3u8, resource: TNT, admits: once, grant: tv }
            - { path: /film/tnt/, resource: TNT, admits: grant, grant: tv }
            - { path: /page/, protected: false }

        """

    private static func manifestSections(_ mode: String) -> String {
        """
        keys: { grant-1: { secret: "\(manifestSecret)" } }
        grants:
          subjectKey: "\(manifestSecret)"
          profiles:
            tv:
              issuer: playgate
              key: grant-1
              life: 10s
              session: 120s
              scheme: http
              renew: { type: none }
              deliver: [segment]
              cookie: { sameSite: Lax }
        manifest: { listen: "127.0.0.1:0", origin: "http://ORIGIN", mode: \(mode) }
        """
    }
}
