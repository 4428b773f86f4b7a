// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

// The tests that all edges with the check inside have in common.

extension EdgeProxy {
    /// Runs `body` with a gate that has grants, and so the key by which an edge tells which tokens are revoked.
    func withGrants(
        replacing: [String: String] = [:],
        isManaged: Bool = false,
        folder: TemporaryFolder? = nil,
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await withGate(
            catalogue: "\(EdgeProxy.catalogue)\n\(Film.catalogue)",
            more: Film.grants,
            isOnPort: true,
            replacing: replacing,
            isManaged: isManaged,
            folder: folder,
            body
        )
    }

    /// Expects that an edge follows a file which keys of the command line sign, and accepts no other file.
    ///
    /// - Parameters:
    ///   - replacing: What makes the configuration name `FOLDER/policy.jws`, and `FOLDER/signer.jwk` as the keys to trust.
    ///   - hasLog: True if faults of the policy are in a file of the edge.
    func expectSignedPolicies(replacing: [String: String], hasLog: Bool = true) async throws {
        let folder = try TemporaryFolder()
        let new = ["keys", "new", "--algorithm", "ES256", "--out", folder.file("signer")]
        let keys = try CommandRun(Program.built("playgate"), arguments: new)
        try #require(keys.status == 0, "\(keys.error)")
        let published = try CommandRun(Program.built("playgate"), arguments: ["keys", "export", folder.file("signer")])
        try folder.write("signer.jwk", contents: published.output)
        let named = replacing.mapValues { $0.replacing("FOLDER", with: folder.path) }
        try await withGrants(replacing: named, folder: folder) { (gate, edge) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token(GateSample.claims(session: "s1")))"]
            #expect(try edge.get("/live/seg/1", headers: cookie).gateCode == "within_ttl")
            let signed = try folder.bytes("policy.jws")
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            let plain = [UInt8](try gate.get("/v1/policy").body.utf8)
            for (bytes, message) in [
                (plain, "is not signed"), (signed.dropLast(4) + [UInt8]("AAAA".utf8), "the signature is wrong"),
                ([UInt8](signed + [0x0A]), "is no signed policy"),
            ] as [([UInt8], String)] where hasLog {
                try Data(bytes).write(to: URL(fileURLWithPath: folder.file("policy.jws")), options: .atomic)
                #expect(eventually { (try? edge.logs().contains(message)) ?? false }, "\(message)")
                let seen = try edge.get("/live/seg/1", headers: cookie)
                #expect(seen.gateCode == "within_ttl", "\(seen)")
            }
            try NginxModule.write(policyOf: gate, to: folder)
            #expect(try eventually { try edge.get("/live/seg/1", headers: cookie).gateCode == "session_revoked" })
        }
    }
}

extension RunningEdge {
    /// Expects that of fifty parallel requests with a token that starts one playback, one does, three times.
    func expectOneUse(at gate: RunningGate) throws {
        for round in 0..<3 {
            let token = try gate.token(GateSample.claims(session: "viewer-\(round)"))
            // All requests are on their way before the first answer is read.
            let connections = try (0..<50).map { _ in try connect() }
            for connection in connections { try connection.sendRequest("GET", path: "/live/tnt/a?token=\(token)") }
            let seen = try connections.map { try $0.response() }
            #expect(seen.filter { $0.status == 200 }.count == 1)
            let others = seen.filter { $0.gateCode != "token_already_used" }
            #expect(seen.filter { $0.gateCode == "token_already_used" }.count == 49, "\(others)")
        }
    }

    /// Expects the codes and statuses of the gate's own endpoint, for requests that consume nothing.
    ///
    /// - Parameters:
    ///   - folder: The folder with the socket of the gate's edge listener.
    ///   - more: Further targets, for a token that is good for segments.
    func expectAnswers(
        of gate: RunningGate,
        in folder: TemporaryFolder,
        more: (String) -> [String] = { _ in [] }
    ) throws {
        let (good, other) = (try gate.token(), try gate.token(GateSample.claims(resource: "TBS")))
        let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
        let targets = [
            "/live/seg/1", "/live/free/a", "/live/none", "/live/tnt/a", "/live//seg/1", "/live/./seg/1",
            "/live/free/../seg/1", "/live/free/%2e%2e/seg/1", "/live/seg/a%2fb", "/live/seg/a%5cb", "/live/seg/a;b",
            "/live/seg/%00", "/live/seg/%c0%af", "/live/seg/%252e%252e", "/live/seg/1?token=\(good)&token=\(other)",
            "/live/seg/1?token=\(good)", "/live/seg/1?token=\(foreign)", "/live/seg/1?token=%3Cx",
            "/live/seg/1?token=\(other)", "/live/seg/1?%74oken=\(good)", "/live/seg/1?token=",
            "/live/seg/1?a&&=&token",
        ]
        let fields: [[String: String]] = [
            [:], ["Cookie": "media-token=\(good)"], ["X-Media-Token": other],
            ["Cookie": "media-token=\"\(good)\"; a"],
            ["Cookie": "CTA-Common-Access-Token=x"], ["Range": "bytes=1-", "Cookie": "media-token=\(good)"],
        ]
        for target in targets + more(good) {
            for headers in fields where !target.hasPrefix("/live/tnt") || headers["Range"] != nil || headers.isEmpty {
                let facts = [
                    "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Host": "gate",
                    "X-Forwarded-Proto": "http",
                ]
                let service = try HTTPConnection("unix:\(folder.file("edge.sock"))")
                    .request("GET", path: "/v1/check/forward", headers: facts.merging(headers) { $1 })
                let inside = try get(target, headers: headers)
                // Of a range of what starts a playback, players hear 403.
                let reported = service.headers["x-playgate-status"]
                let status = service.status == 200 ? "200" : reported == "416" ? "403" : reported
                let isPart = headers["Range"] != nil && inside.status == 206
                #expect(inside.gateCode == service.gateCode, "\(target) \(headers)")
                #expect("\(isPart ? 200 : inside.status)" == status, "\(target) \(headers) \(service.fields)")
            }
        }
    }
}
