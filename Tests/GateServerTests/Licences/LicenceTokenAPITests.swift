// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Encodings
import Foundation
import GateServer
import GateTestSupport
import Licences
import MediaTokens
import Testing

/// Tokens for licence servers that a start hands out.
@Suite struct `Licence tokens at the API` {
    private static let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    private static let key = "00112233-4455-6677-8899-aabbccddeeff"

    private static let cpix = """
        <CPIX xmlns="urn:dashif:org:cpix"><ContentKeyList><ContentKey kid="\(key)"/></ContentKeyList>
        <ContentKeyUsageRuleList><ContentKeyUsageRule kid="\(key)" intendedTrackType="4K"/></ContentKeyUsageRuleList></CPIX>
        """

    private static func configuration(
        _ content: String = "asset: film-1, cpix: film.cpix",
        tracks: String = "4K: UHD1"
    ) -> String {
        """
        requestor: REF30
        trust: { keys: [{ file: signer.pem }] }
        stateFolder: .
        replayStore: { advanced: { capacity: 1000 } }
        licenceTokens:
          dt: { form: castlabs, key: 6f1c1e0a, secret: "\(secret)", settings: { merchant: acme }, tracks: { \(tracks) } }
          ax: { form: axinom, key: 6f1c1e0a, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=, tracks: { \(tracks) } }
          dr: { form: doverunner, secret: "\(secret)", siteKey: 0123456789abcdefghijklmnopqrstuv, settings: { site: DEMO, drm: PlayReady }, tracks: { \(tracks) } }
          own: { claims: claims.json, algorithm: HS256, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=, header: X-Own, tracks: { \(tracks) } }
        streams:
          - { folder: /vod/film/, resource: TNT, manifest: film.mpd, media: film, licences: [licence], licenceTokens: [dt, ax, own, dr], \(content) }
          - { folder: /vod/other/, resource: TNT, media: other }
        api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate] }
        admin: { listen: "127.0.0.1:0" }
        edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
        watch: false
        """
    }

    private static let files = [
        "film.cpix": cpix,
        "claims.json": #"{"sub":"{asset}","viewer":"{viewer}","session":"{session}","exp":"{expires}"}"#,
    ]

    private static func tokens(_ answer: HTTPConnection.Response) throws -> [[String: Any]] {
        try #require(answer.json["licenceTokens"] as? [[String: Any]], "\(answer)")
    }

    private static func claims(_ token: Any?) throws -> [String: Any] {
        let parts = try #require(token as? String).split(separator: ".")
        let bytes = try #require(Base64.decode(Array(parts[1].utf8)))
        return try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    @Test func `come with the grant of a start, and again with each licence request`() async throws {
        try await RunningGate.with(Self.configuration(), files: Self.files) { (gate) throws in
            let answer = try gate.play("film", token: try gate.token())
            let tokens = try Self.tokens(answer)
            #expect(tokens.map { $0["name"] as? String } == ["dt", "ax", "own", "dr"])
            #expect(
                tokens.map { $0["header"] as? String } == [
                    "x-dt-auth-token", "X-AxDRM-Message", "X-Own", "pallycon-customdata-v2",
                ]
            )
            let grant = try #require(answer.json["grant"] as? [String: Any])
            let own = try Self.claims(tokens[2]["token"])
            #expect(own["session"] as? String == grant["session"] as? String && own["sub"] as? String == "film-1")
            #expect((own["viewer"] as? String)?.count == 32)
            let read = try #require(UnverifiedLicenceToken(tokens[0]["token"] as? String ?? ""))
            #expect(read.form == .castLabs && read.claims.contains { $0 == ("crt.assetId", "\"film-1\"") })
            let message = try #require(Self.claims(tokens[1]["token"])["message"] as? [String: Any])
            let source = try #require(message["content_keys_source"] as? [String: Any])
            #expect((source["inline"] as? [[String: String]]) == [["id": Self.key]])
            // A vendor takes a token once: a backend gets another one for each request of the player.
            let text = try #require(grant["token"] as? String)
            let body = "{\"url\":\"https://cdn.example/vod/film/licence\",\"grant\":\"\(text)\"}"
            let next = try Self.tokens(gate.post("/v1/licence", body: body))
            #expect(next.count == 4 && next[0]["token"] as? String != tokens[0]["token"] as? String)
            // A player cannot fill the store with keys of its own invention.
            let other = body.replacing("}", with: ",\"keys\":[\"\(String(repeating: "0", count: 32))\"]}")
            #expect(try gate.post("/v1/licence", body: other).json["code"] as? String == "invalid_request")
            #expect(
                try gate.post("/v1/licence", body: body.replacing("}", with: ",\"keys\":[\"\(Self.key)\"]}")).status
                    == 200
            )
            // Another stream, a refusal, and a batch.
            #expect(try gate.play("other", token: try gate.token()).json["licenceTokens"] == nil)
            #expect(try gate.play("film", token: "x").json["licenceTokens"] == nil)
            let batch = try gate.post(
                "/v1/playback/batch",
                body:
                    "{\"playbacks\":[{\"media\":\"film\",\"token\":\"\(try gate.token(GateSample.claims(session: "b")))\"}]}"
            )
            let results = try #require(batch.json["results"] as? [[String: Any]])
            #expect((results[0]["licenceTokens"] as? [Any])?.count == 4)
            #expect(try !gate.admin("GET", path: "/config").body.contains(Self.secret))
        }
    }

    @Test(
        arguments: [
            ("asset: film-1, cpix: film.cpix", "4K: UHD", nil),
            ("asset: film-1, cpix: film.cpix", "", "dt: the track type 4K of the key \(key) has no meaning here"),
            ("asset: film-1, cpix: film.cpix", "4K: large", "4K: large is none of AUDIO, SD"),
            ("asset: film-1", "", "ax: axinom needs the ids of content keys"),
            ("asset: film-1, contentKeys: { SD: [\(key)] }", "", nil),
            ("asset: film-1, contentKeys: { SD: [x] }", "", "SD: x is no UUID, nor 32 hexadecimal digits"),
            ("cpix: film.cpix", "", "requires asset"),
            ("asset: film-1, cpix: claims.json", "", "claims.json: line 1: is not well-formed"),
            ("asset: film-1, cpix: none.cpix", "", "cannot be opened"),
        ] as [(String, String, String?)]
    )
    func `are refused at the start of the gate if one could not be issued`(
        content: String,
        tracks: String,
        fault: String?
    ) throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        for (name, contents) in Self.files { try folder.write(name, contents: contents) }
        let file = try folder.write("gate.yaml", contents: Self.configuration(content, tracks: tracks))
        var problems: [String] = []
        do throws(ConfigurationError) { _ = try GateServer(configurationFile: file, at: GateSample.time) } catch {
            problems = error.problems.map { "\($0.location.line) \($0.location.key): \($0.message)" }
        }
        guard let fault else { return #expect(problems.isEmpty, "\(problems)") }
        #expect(problems.contains { $0.contains(fault) }, "\(problems)")
    }

    @Test func `come by the configuration and the claims of their page`() async throws {
        let page = try String(contentsOfFile: "\(repository)/docs/how-to/licence-tokens.md", encoding: .utf8)
        func block(_ kind: String, with text: String) throws -> String {
            let blocks = page.components(separatedBy: "```\(kind)\n").dropFirst().map {
                $0.components(separatedBy: "```")[0]
            }
            return try #require(blocks.first { $0.contains(text) })
        }
        let printed = try block("yaml", with: "licenceTokens:").components(separatedBy: "api:")[0]
        let listeners = """
            stateFolder: .
            replayStore: { advanced: { capacity: 1000 } }
            api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate] }
            admin: { listen: "127.0.0.1:0" }
            watch: false
            """
        let configuration = printed.replacing("keys/", with: "") + listeners
        let own = configuration.replacing("form: axinom,", with: "claims: claims.json,").replacing(
            ", duration: 6h",
            with: ""
        )
        let files = [
            "axinom.key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "film.cpix": Self.cpix.replacing("4K", with: "HD"),
            "claims.json": try block("json", with: "$text"),
        ]
        for (text, name) in [(configuration, "message"), (own, "rights")] {
            try await RunningGate.with(text, files: files) { (gate) throws in
                let tokens = try Self.tokens(gate.play("film", token: try gate.token()))
                #expect(try Self.claims(tokens[0]["token"])[name] != nil)
                let answer = try gate.play("film", token: try gate.token(GateSample.claims(session: "b")))
                let grant = try #require(answer.json["grant"] as? [String: Any])
                let text = grant["token"] as? String ?? ""
                let body = "{\"url\":\"https://cdn.example/vod/film/licence\",\"grant\":\"\(text)\"}"
                #expect(try Self.tokens(gate.post("/v1/licence", body: body)).count == 1)
            }
        }
    }
}
