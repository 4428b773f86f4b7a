// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Foundation
import GateConfiguration
import GateTestSupport
import PlaybackGate
import Testing

/// A request as players send it to a licence server.
struct LicenceRequestShape: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let headers: [String: String]
    let body: String

    init(_ name: String, type: String, headers: [String: String] = [:], body: String) {
        testDescription = name
        self.headers = headers.merging(["Content-Type": type]) { $1 }
        self.body = body
    }

    static let all = [
        LicenceRequestShape("Widevine's certificate", type: "application/octet-stream", body: "\u{8}\u{4}"),
        LicenceRequestShape(
            "Widevine's licence",
            type: "application/octet-stream",
            body: "\u{8}\u{1}\u{12}\u{7f}\0\r\n\u{1}\(String(repeating: "\u{10}x\0", count: 700))"
        ),
        LicenceRequestShape(
            "PlayReady",
            type: "text/xml; charset=utf-8",
            headers: ["SOAPAction": "\"http://schemas.microsoft.com/DRM/2007/03/protocols/AcquireLicense\""],
            body: "<soap:Envelope><soap:Body><AcquireLicense><challenge/></AcquireLicense></soap:Body></soap:Envelope>"
        ),
        LicenceRequestShape("FairPlay's SPC", type: "application/octet-stream", body: "\0\0\0\u{1}\0\0\0\0spc"),
        LicenceRequestShape(
            "FairPlay as a form",
            type: "application/x-www-form-urlencoded",
            body: "spc=AAAAAQ%2BaZ%2F%3D&assetId=x"
        ),
        LicenceRequestShape("FairPlay in JSON", type: "application/json", body: #"{"spc":"AAAAAQ+aZ/=","id":"x"}"#),
        LicenceRequestShape(
            "Clear Key",
            type: "application/json",
            body: #"{"kids":["ABEiM0RVZneImaq7zN3u_w"],"type":"temporary"}"#
        ),
    ]
}

/// Paths of licence servers, behind a gate that edges and backends ask.
@Suite struct Licences {
    private static let rules = LicenceUse.allCases.map(\.rawValue)

    static let catalogue = """
            - { path: /film/film.mpd, resource: TNT, grant: live }
            - { path: /film/, resource: TNT, admits: grant, grant: live }
            - { path: /other/film.mpd, resource: TBS, grant: live }
            - { media: film, resource: TNT, grant: live, scope: /film/ }
            - { path: /film/session, resource: TNT, grant: live, licenceUse: session }
            - { path: /film/token, resource: TNT, grant: live, admits: ttl, licenceUse: session }
            - { path: /film/once, resource: TNT, grant: live, licenceUse: once }
            - { path: /film/once-per-key, resource: TNT, grant: live, licenceUse: once-per-key }
        """

    static let grants = """
        keys: { pg-1: { secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=, algorithm: HS256 } }
        grants:
          subjectKey: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
          profiles: { live: { issuer: playgate, key: pg-1, methods: [GET, HEAD, POST], scheme: http, cookie: { sameSite: Lax } } }
        """

    private static func with(
        _ store: GateStore = .memory,
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        let edge = "edge: { listen: \"127.0.0.1:0\", tokens: [{ header: X-Media-Token }, { query: token }] }"
        try await store.withGate("\(edge)\n\(grants)", catalogue: catalogue, body: body)
    }

    /// Asks an edge for a path. Returns the code of the decision.
    private static func code(
        _ target: String,
        method: String = "POST",
        headers: [String: String] = [:],
        by gate: RunningGate
    ) throws -> String? {
        try answer(target, method: method, headers: headers, by: gate).headers["x-playgate-code"]
    }

    private static func answer(
        _ target: String,
        method: String = "POST",
        headers: [String: String] = [:],
        by gate: RunningGate
    ) throws -> HTTPConnection.Response {
        let own = [
            "X-Forwarded-Uri": target, "X-Forwarded-Method": method, "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "cdn.example",
        ]
        return try HTTPConnection(gate.edge).request(
            "GET",
            path: "/v1/check/forward",
            headers: own.merging(headers) { $1 }
        )
    }

    private struct Playback {
        let token: String
        let cookie: String
        let session: String
        var grant: String { String(cookie.drop { $0 != "=" }.dropFirst()) }
        var headers: [String: String] { ["Cookie": cookie] }

        init(at gate: RunningGate, viewer: String = "s1") throws {
            token = try gate.token(GateSample.claims(session: viewer))
            let started = try answer("/film/film.mpd", method: "GET", headers: ["X-Media-Token": token], by: gate)
            cookie = String(try #require(started.headers["set-cookie"]).prefix { $0 != ";" })
            session = try #require(started.headers["x-playgate-session"])
        }
    }

    private static func ask(
        _ members: String,
        path: String,
        by gate: RunningGate
    ) throws -> (status: Int, code: String?) {
        let body = "{\"url\":\"https://cdn.example\(path)\",\(members)}"
        let answer = try gate.post("/v1/licence", body: body)
        return (answer.status, answer.json["code"] as? String)
    }

    @Test(arguments: GateStore.installed) func `have the number that their rule says, at edges and backends`(
        store: GateStore
    ) async throws {
        try await Self.with(store) { (gate) throws in
            let (one, other) = (try Playback(at: gate), try Playback(at: gate, viewer: "s2"))
            // Any number by the grant; by the token, which is consumed already, only where the entry admits it.
            for _ in 0..<3 {
                #expect(try Self.code("/film/session", headers: one.headers, by: gate) == "granted")
                #expect(try Self.code("/film/token?token=\(one.token.percentEncoded)", by: gate) == "within_ttl")
                #expect(try Self.code("/film/session?token=\(one.token.percentEncoded)", by: gate) == "grant_missing")
                #expect(try Self.ask("\"grant\":\"\(one.grant)\"", path: "/film/session", by: gate) == (200, "granted"))
            }
            // One of each playback, whatever asks for it.
            #expect(try Self.code("/film/once", headers: one.headers, by: gate) == "granted")
            let used = "licence_already_issued"
            #expect(try Self.code("/film/once", headers: one.headers, by: gate) == used)
            #expect(try Self.code("/film/once", headers: ["X-Media-Token": one.token], by: gate) == "grant_missing")
            #expect(try Self.ask("\"grant\":\"\(one.grant)\"", path: "/film/once", by: gate) == (403, used))
            #expect(
                try Self.ask("\"token\":\"\(other.token)\",\"playbackID\":\"a\"", path: "/film/once", by: gate) == (
                    401, "grant_missing"
                )
            )
            #expect(try Self.code("/film/once", headers: other.headers, by: gate) == "granted")
            // One of each key: an edge does not know it.
            let path = "/film/once-per-key"
            #expect(try Self.code(path, headers: one.headers, by: gate) == "licence_key_missing")
            let (first, second) = ("00112233-4455-6677-8899-aabbccddeeff", "FFEEDDCCBBAA99887766554433221100")
            func keys(_ keys: [String], of playback: Playback) throws -> String? {
                let list = keys.map { "\"\($0)\"" }.joined(separator: ",")
                return try Self.ask("\"grant\":\"\(playback.grant)\",\"keys\":[\(list)]", path: path, by: gate).code
            }
            #expect(try Self.ask("\"grant\":\"\(one.grant)\"", path: path, by: gate).code == "licence_key_missing")
            #expect(try keys([first], of: one) == "granted")
            #expect(try keys([first.uppercased().replacing("-", with: "")], of: one) == used)
            #expect(try keys([second, second.lowercased()], of: one) == "granted")
            #expect(try keys([second], of: one) == used)
            #expect(try keys([first, second], of: other) == "granted")
        }
    }

    @Test(arguments: rules) func `end with the playback, and are for nobody else`(rule: String) async throws {
        try await Self.with { (gate) throws in
            let playback = try Playback(at: gate)
            let path = "/film/\(rule)"
            let keys = "\"keys\":[\"00112233445566778899aabbccddeeff\"]"
            // Nothing, another method, another path, and a grant for another resource.
            #expect(try Self.code(path, by: gate) == "grant_missing")
            #expect(try Self.code(path, method: "GET", headers: playback.headers, by: gate) == "method_not_permitted")
            #expect(try Self.code("/film/1.m4s", headers: playback.headers, by: gate) == "method_not_permitted")
            #expect(
                try Self.code("\(path)/other", method: "GET", headers: playback.headers, by: gate) == "granted",
                "a file of the film"
            )
            let forged = playback.cookie.dropLast(4) + "AAAA"
            #expect(try Self.code(path, headers: ["Cookie": String(forged)], by: gate) == "grant_signature_invalid")
            let stranger = try gate.token(GateSample.claims(resource: "TBS"))
            #expect(try Self.code("/film/token", headers: ["X-Media-Token": stranger], by: gate) == "resource_mismatch")
            // The end of the playback.
            let body = "{\"playback\":\"\(playback.session)\"}"
            #expect(try gate.post("/v1/revocations", body: body).status == 201)
            for (credential, value, path) in [
                ("grant", playback.grant, path), ("token", playback.token, "/film/token"),
            ] {
                let answer = try Self.ask("\"\(credential)\":\"\(value)\",\(keys)", path: path, by: gate)
                #expect(answer == (403, "grant_revoked"), "\(credential)")
            }
            #expect(try Self.code(path, headers: playback.headers, by: gate) == "grant_revoked")
        }
    }

    @Test func `hand over no grant, so that a used token opens no film`() async throws {
        try await Self.with { (gate) throws in
            let playback = try Playback(at: gate)
            let answer = try Self.answer("/film/token", headers: ["X-Media-Token": playback.token], by: gate)
            #expect(answer.status == 200 && answer.headers["set-cookie"] == nil)
            #expect(
                try Self.code("/film/film.mpd?token=\(playback.token.percentEncoded)", method: "GET", by: gate)
                    == "token_already_used"
            )
        }
    }

    @Test func `refuse bodies that say too little`() async throws {
        try await Self.with { (gate) throws in
            let playback = try Playback(at: gate)
            let grant = "\"grant\":\"\(playback.grant)\""
            for (members, path) in [
                ("\"keys\":[]", "/film/session"), (grant + ",\"keys\":[]", "/film/session"),
                (grant + ",\"keys\":[\"x\"]", "/film/session"), (grant + ",\"keys\":[1]", "/film/session"),
                (grant + ",\"keys\":[\"00112233-4455-6677-8899-aabbccddeefg\"]", "/film/session"),
                (grant + ",\"token\":\"x\"", "/film/session"), (grant + ",\"x\":1", "/film/session"),
                (grant, "/film/1.m4s"),
                (
                    grant + ",\"keys\":["
                        + Array(repeating: "\"00112233445566778899aabbccddeeff\"", count: 65)
                        .joined(separator: ",") + "]", "/film/session"
                ),
            ] {
                #expect(
                    try Self.ask(members, path: path, by: gate) == (400, "invalid_request"),
                    "\(members.prefix(80))"
                )
            }
            #expect(try gate.post("/v1/licence", body: "{\(grant),\"url\":\"/film/session\"}").status == 400)
            #expect(try Self.ask(grant, path: "/unknown", by: gate) == (404, "unknown_media"))
        }
    }

    /// The configurations that docs/how-to/protect-licences.md prints, and what they protect.
    @Test func `are protected by the configurations of their page`() throws {
        let page = try String(contentsOfFile: "\(repository)/docs/how-to/protect-licences.md", encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        try #require(blocks.count == 2)
        let folder = try TemporaryFolder()
        let file = ConfigurationFile(path: folder.file("gate.yaml"))
        let first = try GateConfiguration(blocks[0] + "stateFolder: .\n", file: file)
        let licences = first.catalogue.entries.map(\.value).filter { $0.licence != nil }
        #expect(licences.map(\.key.text) == ["/vod/film/licence"] && licences.first?.licence == .session)
        #expect(licences.first?.methods == [.post])
        #expect(licences.first?.grants?.profiles.first?.rules.methods == ["GET", "HEAD", "POST"])
        let head = try #require(blocks[0].components(separatedBy: "streams:").first)
        let second = try GateConfiguration(
            "\(head)\n\(Self.grants)\n\(blocks[1])api: { anonymous: true }\n",
            file: file
        )
        #expect(second.catalogue.entries.map(\.value).filter { $0.licence == .session }.count == 1)
    }
}

/// Licence requests through every installed edge, as its page configures it.
@Suite struct `Licences behind an edge` {
    @Test(arguments: EdgeProxy.deciding) func `get requests as players send them, of living playbacks only`(
        edge: EdgeProxy
    ) async throws {
        try await edge.withGate(catalogue: Licences.catalogue, more: Licences.grants, isOnPort: true) {
            (gate, proxy) throws in
            let token = try gate.token()
            let started = try proxy.get("/film/film.mpd?token=\(token.percentEncoded)")
            #expect(started.status == 200, "\(edge)")
            var headers: [String: String] = [:]
            if edge.deliversGrants {
                headers["Cookie"] = String(try #require(started.headers["set-cookie"]).prefix { $0 != ";" })
            } else {
                // A player that sees no header of the answer gets its grant from a backend.
                let media = try gate.play("film", token: try gate.token(GateSample.claims(session: "backend")))
                let grant = try #require(media.json["grant"] as? [String: Any])
                headers["CTA-Common-Access-Token"] = grant["token"] as? String
            }
            for shape in LicenceRequestShape.all {
                let own = headers.merging(shape.headers) { $1 }
                let answer = try proxy.connect().request("POST", path: "/film/session", headers: own, body: shape.body)
                #expect(answer.status == 200, "\(edge), \(shape.testDescription)")
                let text = answer.body
                #expect(text.hasPrefix("POST /film/session\n"), "\(edge), \(shape.testDescription)")
                #expect(text.hasSuffix("\n\n\(shape.body)"), "\(edge), \(shape.testDescription)")
                for (name, value) in shape.headers {
                    #expect(text.contains("\n\(name.lowercased()): \(value)\n"), "\(edge), \(shape.testDescription)")
                }
                #expect(!text.contains(token), "\(edge)")
                // A licence is for one player: no cache may have it.
                let kept = answer.headers["cache-control"] ?? ""
                #expect(!kept.contains("public") && !kept.contains("s-maxage"), "\(edge): \(kept)")
            }
            let before = proxy.origin.requests
            for credentials in [[:], ["X-Media-Token": try gate.token(GateSample.claims(resource: "TBS"))]] {
                let answer = try proxy.connect().request(
                    "POST",
                    path: "/film/session",
                    headers: credentials,
                    body: "ab"
                )
                #expect([401, 403].contains(answer.status), "\(edge)")
            }
            #expect(
                try proxy.connect().request("POST", path: "/film/1.m4s", headers: headers, body: "ab").status == 403
            )
            #expect(proxy.origin.requests == before, "\(edge)")
            // One licence of a playback, also where the edge decides by itself.
            let first = try proxy.connect().request("POST", path: "/film/once", headers: headers, body: "ab")
            let second = try proxy.connect().request("POST", path: "/film/once", headers: headers, body: "ab")
            #expect(first.status == 200 && second.status == 403, "\(edge)")
            #expect(second.gateCode == "licence_already_issued", "\(edge)")
        }
    }
}
