// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateService
import GateTestSupport
import Testing

/// The parts of `docs/edges` that apply to nginx only.
@Suite struct `Behind nginx` {
    @Test func `answers questions about origins itself, and shows its check to nobody`() async throws {
        try await EdgeProxy.nginx.withGate { (_, nginx) throws in
            #expect(try nginx.get("/_gate", ["X-Original-URI": "/live/seg/a"]).status == 404)
            #expect(try nginx.connect().request("OPTIONS", "/live/tnt/a.m3u8").status == 204)
            #expect(nginx.origin.requests == 0)
        }
    }

    @Test func `13: keeps a check for one token and one path only`() async throws {
        try await EdgeProxy.nginx.withGate { (gate, nginx) throws in
            let checks = { try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") }
            let token = try gate.token()
            for _ in 0..<5 { #expect(try nginx.get("/live/seg/1?token=\(token)").status == 200) }
            #expect(try checks() == 1)
            let cookie = ["Cookie": "media-token=\(token)"]
            for _ in 0..<2 { #expect(try nginx.get("/live/seg/1", cookie).status == 200) }
            #expect(try checks() == 2)
            #expect(try nginx.get("/live/seg/1").status == 401)
            #expect(try nginx.get("/live/seg/1?token=x").status == 403)
            #expect(try nginx.get("/live/seg/2", cookie).status == 200)
            #expect(try checks() == 3)
        }
    }
}
