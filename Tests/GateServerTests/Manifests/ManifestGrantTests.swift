// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

/// The grants that decide at the manifest listener if a request shows several, and manifests that get none.
@Suite struct `A grant at the manifest listener` {
    private static let path = "/film/tnt/low/index.m3u8"
    private static let live = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nseg1.ts\n"

    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin([path: live, "/signed/index.m3u8": live, "/shadow/index.m3u8": live])
    }

    /// A grant for the life of its profile, as a player without manifests of the listener has it in a cookie.
    private static func short(_ gate: RunningGate, viewer: String = "one") throws -> String {
        let token = try gate.token(GateSample.claims(session: viewer, ttl: 20_000))
        let answer = try gate.play(path: path, token: token)
        return try #require((answer.json["grant"] as? [String: Any])?["token"] as? String, "\(answer)")
    }

    @Test(arguments: ["segment", "query"], ["Cookie", "CTA-Common-Access-Token"])
    func `of a short life beside the URL moves its player once`(mode: String, field: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
            let grant = try Self.short(gate)
            let fields = [field: field == "Cookie" ? "CTA-Common-Access-Token=\(grant)" : grant]
            let first = try gate.manifest(at: Self.path, headers: fields)
            let reference = try #require(first.references.first, "\(first)")
            #expect(first.body.hasPrefix("#EXTM3U\n#EXT-X-STREAM-INF:"), "\(first)")
            let answer = try gate.manifest(at: reference, headers: fields)
            #expect(answer.status == 200 && answer.references.count == 1, "\(answer)")
        }
    }

    @Test(arguments: ["segment", "query"])
    func `in the URL decides before others, in whatever order they are configured`(mode: String) async throws {
        let origin = try Self.origin()
        let sources = "grants: [{ cookie: CTA-Common-Access-Token }, { query: cat }, { segment: \"~cat=\" }]"
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)", sources]) { (gate) throws in
            let moved = try gate.start(Self.path, viewer: "two")
            let reference = try #require(moved.references.first, "\(moved)")
            let answer = try gate.manifest(
                at: reference,
                headers: ["Cookie": "CTA-Common-Access-Token=\(try Self.short(gate))"]
            )
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.values("X-Playgate-Session") == moved.values("X-Playgate-Session"))
        }
    }

    @Test func `for the session in the URL is not given again, also if another one decides`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["mode: query"]) { (gate) throws in
            let short = try Self.short(gate)
            let reference = try #require(try gate.manifest(at: "\(Self.path)?cat=\(short)").references.first)
            let long = try #require(reference.split(separator: "=").last)
            let stayed = try gate.manifest(at: "\(Self.path)?cat=\(short)&cat=\(long)")
            #expect(stayed.status == 200 && !stayed.body.contains("#EXT-X-STREAM-INF"), "\(stayed)")
            // A forged one is no reason to stay.
            let forged = try gate.manifest(at: "\(Self.path)?cat=\(short)&cat=\(long.dropLast(4))AAAA")
            #expect(forged.status == 200 && forged.body.contains("#EXT-X-STREAM-INF"), "\(forged)")
        }
    }

    @Test(arguments: [
        ("uri-signing, issuer: signer", ""), ("edgeauth, host: cdn.example", ", encoding: hex"),
    ])
    func `is missing if no profile of the entry is of format cat, and the manifest too`(
        format: String,
        encoding: String
    ) async throws {
        let origin = try Self.origin()
        let secret = String(repeating: "0f", count: 32)
        let text = ManifestGate.configuration(origin: origin.url)
            .replacing("keys: { k1:", with: "keys: { k2: { secret: \"\(secret)\"\(encoding) }, k1:")
            .replacing("  profiles:\n", with: "  profiles:\n    signed: { format: \(format), key: k2 }\n")
            .replacing(
                "/shadow/, resource: TNT, admits: once, grant: live",
                with: "/shadow/, resource: TNT, grant: signed"
            )
            .replacing(
                "{ path: /free/,",
                with: "{ path: /signed/, resource: TNT, grant: signed }\n    - { path: /free/,"
            )
        try await RunningGate.with(text) { (gate) throws in
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            let answer = try gate.start("/signed/index.m3u8")
            #expect(answer.status == 503 && answer.code == "manifest_without_grant", "\(answer)")
            #expect(!answer.body.contains("seg1.ts") && origin.heads.isEmpty)
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"manifest_without_grant\"}") == 1)
            // Shadow mode refuses nothing.
            let shadow = try gate.start("/shadow/index.m3u8", viewer: "two")
            #expect(shadow.status == 200 && shadow.body == Self.live, "\(shadow)")
        }
    }
}
