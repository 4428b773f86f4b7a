// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import NIOHTTP1
import Testing

/// The remarks of Envoy's page.
@Suite(.needs(.envoy), .serialized) struct `Envoy as its page configures it` {
    /// Targets that Envoy normalises, or that servers read in several ways.
    private static let targets = [
        "/live/seg/1", "/live//seg///1", "/live/x/../seg/1", "/live/./seg/1", "/live/x/%2e%2E/seg/1", "/live\\seg\\1",
        "/live/%73eg/1", "/live/seg/1;a=b", "/live/x%2f..%2fseg/1", "/live/seg/1%3ftoken=x", "/live/seg/%c3%a9",
        "//live/seg/1",
        "/live/seg/1?a=/../b", "/live/seg/1/", "/live/seg/1/..", "/live/%252e%252e/seg/1", "/live/seg/1?",
    ]

    @Test func `asks the gate about the path that the origin gets`() async throws {
        let folder = try TemporaryFolder()
        let gate = try GrantingGate(folder.file("edge.sock"), isOffload: false)
        let envoy = try RunningEdge(.envoy, in: folder, gate: folder.file("edge.sock"))
        for target in Self.targets {
            let answer = try envoy.get(target)
            #expect(answer.status == 200, "\(target) \(answer)")
            let checked = try #require(gate.checks.last).uri.dropFirst("/v1/check/envoy".count).prefix { $0 != "?" }
            #expect(answer.body.hasPrefix("GET \(checked)\n"), "\(target): \(checked), \(answer.body)")
        }
        #expect(gate.checks.count == Self.targets.count && envoy.origin.requests == Self.targets.count)
    }

    @Test func `passes the named headers only`() async throws {
        let folder = try TemporaryFolder()
        let gate = try GrantingGate(folder.file("edge.sock"), isOffload: false)
        let envoy = try RunningEdge(.envoy, in: folder, gate: folder.file("edge.sock"))
        let headers = [
            "X-Media-Token": "a", "CTA-Common-Access-Token": "b", "Cookie": "c=d", "Range": "bytes=0-1",
            "Accept": "text/html",
            "X-Original-ASN": "7", "X_Original_ASN": "7", "X.Original.ASN": "7", "X-Other": "e", "X_Media_Token": "f",
        ]
        #expect(try envoy.get("/live/seg/1", headers: headers).status == 200)
        let checked = try #require(gate.checks.first).headers
        let named = ["x-media-token", "cta-common-access-token", "cookie", "range"]
        for name in named { #expect(checked[name].count == 1, "\(name) \(checked)") }
        let others = checked.map { $0.name.lowercased() }.filter {
            $0.contains("original") || $0.contains("_") || $0 == "x-other"
        }
        #expect(others.isEmpty && checked["accept"].isEmpty, "\(checked)")
    }

    /// The answer to a player if the page's warning is not heeded.
    @Test func `would open while the gate is away if it allowed failures`() async throws {
        for (allows, status) in [("false", 503), ("true", 200)] {
            let folder = try TemporaryFolder()
            let replacing = ["failure_mode_allow: false": "failure_mode_allow: \(allows)"]
            let options = RunningEdge.Options(replacing: replacing)
            let envoy = try RunningEdge(.envoy, in: folder, gate: folder.file("none.sock"), options: options)
            #expect(try envoy.get("/live/seg/1").status == status)
        }
    }
}
