// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// A gate with a manifest listener, and what players see of it. A media token lives for 20 s, a grant for 40 s, which is
/// renewed in steps of 10 s, and a session for 600 s.
enum ManifestGate {
    static let life: Int64 = 40
    static let session: Int64 = 600

    static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    static let catalogue = """
            - { path: /film/tnt/, resource: TNT, admits: once, grant: live }
            - { path: /few/tnt/, resource: TNT, admits: once, grant: few }
            - { path: /free/, protected: false }
            - { path: /shadow/, resource: TNT, admits: once, grant: live, shadow: true }
            - { path: /plain/, resource: TNT, admits: once }
        """

    /// Returns a configuration.
    ///
    /// - Parameters:
    ///   - manifest: Lines of the section, at its depth.
    ///   - sources: The sources of media tokens and grants.
    static func configuration(
        origin: String,
        _ manifest: [String] = [],
        sources: String = "tokens: [{ query: token }, { header: X-Media-Token }]",
        advanced: String = ""
    ) -> String {
        let lines = ["listen: \"127.0.0.1:0\"", "origin: \"\(origin)\"", sources] + manifest
        return RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(secret) } }
            grants:
              subjectKey: \(secret)
              profiles:
                live: { issuer: playgate, key: k1, life: \(life)s, session: \(session)s, renew: { deadline: 10s } }
                few: { issuer: playgate, key: k1, life: \(life)s, session: \(session)s, renew: { deadline: 10s }, maxConcurrentStreams: 1 }
            advanced: { \(advanced) }
            manifest:
            \(lines.map { "  \($0)" }.joined(separator: "\n"))
            """,
            catalogue: catalogue
        )
    }

    /// Runs `body` with a gate in front of an origin.
    static func with(
        _ origin: ScriptedOrigin,
        manifest: [String] = [],
        advanced: String = "",
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        try await RunningGate.with(configuration(origin: origin.url, manifest, advanced: advanced)) { (gate) throws in
            // The mirror of revocations is read first.
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            try body(gate)
        }
    }
}

extension RunningGate {
    /// Requests a target of the manifest listener.
    func manifest(
        at target: String,
        method: String = "GET",
        headers: [String: String] = [:],
        host: String = "cdn.example"
    ) throws -> HTTPConnection.Response {
        try HTTPConnection(manifests).request(method, path: target, headers: headers, host: host)
    }

    /// The time that a grant is good for from now on, in seconds.
    func life(of grant: String) throws -> Int64 {
        let body = "{\"grant\":\"\(grant)\",\"url\":\"https://cdn.example/film/tnt/x\"}"
        let claims = try #require(try post("/v1/grants/verify", body: body).json["claims"] as? [[String: Any]])
        let value = try #require(claims.first { $0["claim"] as? String == "exp" }?["value"] as? String)
        return try #require(Int64(value.prefix { $0.isNumber }), "\(value)") - now.millisecondsSince1970 / 1000
    }

    /// Requests a manifest with a media token of a viewer, or with `token`.
    func start(_ path: String, viewer: String = "one", token: String? = nil) throws -> HTTPConnection.Response {
        let token = try token ?? self.token(GateSample.claims(session: viewer, ttl: 20_000))
        return try manifest(at: "\(path)?token=\(token.percentEncoded)")
    }
}

extension HTTPConnection.Response {
    /// The lines of a playlist that are references.
    var references: [String] { body.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init) }

    /// The grants in the body, in path segments or queries.
    var grants: [String] {
        body.matches(of: /[~?&]cat=([A-Za-z0-9_\-]+)/).map { String($0.output.1) }
    }
}
