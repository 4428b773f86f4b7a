// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Foundation
import GateConfiguration
import GateServer
import GateTestSupport
import MediaTokens
import Testing

/// The section `streams`, and the keys that the first start makes.
@Suite struct `A stream of the configuration` {
    private static func text(_ streams: String, state: String) -> String {
        """
        requestor: REF30
        trust: { keys: [{ file: signer.pem }] }
        streams: \(streams)
        stateFolder: \(state)
        api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate, g] }
        admin: { listen: "127.0.0.1:0" }
        """
    }

    private static func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test(arguments: [
        ("[{ folder: /live/tnt/, resource: TNT }]", "/live/tnt/any.m3u8", "verified"),
        ("[{ folder: /live/tnt/, resource: TNT }]", "/live/tnt/any.mpd", "verified"),
        ("[{ folder: /live/tnt/, resource: TNT }]", "/live/tnt/seg.ts", "grant_missing"),
        ("[{ folder: /live/tnt/, resource: TNT }]", "/live/tnt/low/any.m3u8", "grant_missing"),
        ("[{ folder: /live/tnt/, resource: TNT, manifest: [a.m3u8, b.mpd] }]", "/live/tnt/b.mpd", "verified"),
        ("[{ folder: /live/tnt/, resource: TNT, manifest: a.m3u8 }]", "/live/tnt/b.m3u8", "grant_missing"),
        ("[{ folder: /live/tnt/, resource: TNT, manifest: a.m3u8 }]", "/live/tbs/a.m3u8", "unknown_media"),
        ("[{ folder: /live/tnt/, resource: TBS, manifest: a.m3u8 }]", "/live/tnt/a.m3u8", "resource_mismatch"),
        ("[{ folder: /live/tnt/, resource: TBS, shadow: true, manifest: a.m3u8 }]", "/live/tnt/a.m3u8", "shadow"),
        ("[{ folder: /live/türk/, resource: TNT, manifest: a b.m3u8 }]", "/live/t%C3%BCrk/a%20b.m3u8", "verified"),
    ])
    func `is started only at its manifests`(streams: String, path: String, code: String) async throws {
        let state = try TemporaryFolder()
        try await RunningGate.with(Self.text(streams, state: state.path)) { (gate) throws in
            let answer = try gate.play(path: path, token: try gate.token())
            #expect(answer.json["code"] as? String == code, "\(answer)")
            // A token that is consumed hands over a grant.
            #expect((answer.json["grant"] is [String: Any]) == (code == "verified"), "\(answer)")
        }
    }

    @Test func `makes its keys at the first start, for its owner only, and retains them`() async throws {
        let folder = try TemporaryFolder()
        let state = folder.file("state")
        let text = Self.text("[{ folder: /live/tnt/, resource: TNT, media: tnt }]", state: state)
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let file = try folder.write("gate.yaml", contents: text)
        // A check makes nothing, and says what is to come. An export would be for a key that nobody has.
        let server = try GateServer(configurationFile: file, at: GateSample.time)
        let coming = "the first start makes \(state)/grant.key and \(state)/subject.key; keep them with the store"
        #expect(server.summary.advice.contains(coming), "\(server.summary.advice)")
        #expect(throws: ConfigurationError.self) { try server.policy(goodFor: .seconds(60), at: GateSample.time) }
        #expect(!FileManager.default.fileExists(atPath: state))

        let grants = Exchange()
        try await RunningGate.with(text) { (gate) throws in
            let started = try gate.play("tnt", token: try gate.token())
            let grant = try #require(started.json["grant"] as? [String: Any], "\(started)")
            grants.token = grant["token"] as? String ?? ""
        }
        for name in ["grant.key", "subject.key"] { #expect(try Self.mode(of: "\(state)/\(name)") == 0o600) }
        #expect(try Self.mode(of: state) == 0o700)
        let made = try String(contentsOfFile: "\(state)/grant.key", encoding: .utf8)
        try await RunningGate.with(text) { (gate) throws in
            let body = "{\"grant\":\"\(grants.token)\",\"url\":\"https://cdn.example/live/tnt/seg.ts\"}"
            let verified = try gate.post("/v1/grants/verify", body: body)
            #expect(verified.status == 200 && verified.json["valid"] as? Bool == true, "\(verified)")
        }
        #expect(try String(contentsOfFile: "\(state)/grant.key", encoding: .utf8) == made)
    }

    /// What one gate hands to the next.
    private final class Exchange: @unchecked Sendable {
        var token = ""
    }

    @Test(arguments: [
        ("grant.key", "c2hvcnQ=", "must be at least 32 bytes in Base64"),
        ("subject.key", "?", "must be at least 32 bytes"),
        ("grant.key", "", "must be at least 32 bytes"),
    ])
    func `is refused with a key that is none`(name: String, content: String, reason: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        try folder.write("state/\(name)", contents: content)
        let text = Self.text("[{ folder: /live/tnt/, resource: TNT }]", state: "state")
        let file = try folder.write("gate.yaml", contents: text)
        let error = #expect(throws: ConfigurationError.self) {
            try GateServer(configurationFile: file, at: GateSample.time)
        }
        let problem = try #require(error?.problems.first)
        #expect(problem.message.contains("state/\(name): \(reason)"), "\(problem)")
        #expect(!"\(problem)".contains("c2hvcnQ"))
    }

    @Test func `stops the start if its keys cannot be written`() async throws {
        let folder = try TemporaryFolder()
        let state = folder.file("none/state")
        let text = Self.text("[{ folder: /live/tnt/, resource: TNT }]", state: state)
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let server = try GateServer(
            configurationFile: try folder.write("gate.yaml", contents: text),
            at: GateSample.time
        )
        let error = await #expect(throws: ConfigurationError.self) { try await server.run() }
        #expect(error.map { "\($0)".contains("\(state): stateFolder: cannot be made") } == true, "\(error as Any)")
    }

    @Test(arguments: [
        ("stateFolder: /a/b", "/a/b"), ("stateFolder: keys", "/etc/playgate/keys"),
        ("replayStore: { sqlite: /var/lib/playgate/uses.sqlite }", "/var/lib/playgate"),
        ("replayStore: { sqlite: uses.sqlite }", "/etc/playgate"),
        ("replayStore: { sqlite: /uses.sqlite }", "/"), ("", "/etc/playgate/state"),
    ])
    func `has its keys beside the store, or beside the file`(more: String, folder: String) throws {
        let text = "requestor: REF30\ntrust: { keys: [{ file: signer.pem }] }\napi: { anonymous: true }\n\(more)\n"
        let streams = "streams: [{ folder: /live/tnt/, resource: TNT }]\n"
        let file = ConfigurationFile(path: "/etc/playgate/gate.yaml")
        #expect(try GateConfiguration(text + streams, file: file).state.path == folder)
    }

    // MARK: Reload

    /// Reloads a gate with another configuration, and returns what it says.
    private static func reload(_ gate: RunningGate, text: String) throws -> HTTPConnection.Response {
        try gate.folder.write("gate.yaml", contents: text)
        return try gate.admin("POST", path: "/reload")
    }

    @Test func `retains its key at a reload that finds none`() async throws {
        let folder = try TemporaryFolder()
        let state = folder.file("state")
        let text = Self.text("[{ folder: /live/tnt/, resource: TNT, media: tnt }]", state: state)
        try await RunningGate.with(text) { (gate) throws in
            #expect(try Self.reload(gate, text: text).status == 200)
            for name in ["grant.key", "subject.key"] {
                let key = try String(contentsOfFile: "\(state)/\(name)", encoding: .utf8)
                try FileManager.default.removeItem(atPath: "\(state)/\(name)")
                let refused = try Self.reload(gate, text: text)
                #expect(refused.status != 200 && refused.body.contains("\(state)/\(name) is gone"), "\(refused)")
                #expect(!FileManager.default.fileExists(atPath: "\(state)/\(name)"))
                try key.write(toFile: "\(state)/\(name)", atomically: true, encoding: .utf8)
            }
            #expect(try Self.reload(gate, text: text).status == 200)
            #expect(try gate.play("tnt", token: try gate.token()).json["grant"] != nil)
        }
    }

    @Test func `needs a restart at a gate without grants, and so does a socket for everybody`() async throws {
        let folder = try TemporaryFolder()
        let before = RunningGate.configuration()
        try await RunningGate.with(before) { (gate) throws in
            let streams = "streams: [{ folder: /live/new/, resource: TNT }]\nstateFolder: \(folder.file("state"))\n"
            let refused = try Self.reload(gate, text: before + "\n" + streams)
            #expect(refused.status != 200 && refused.body.contains("gets them with a restart"), "\(refused)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("state")))
            // The API would listen on its port for everybody.
            let socket = before.replacing("listen: 127.0.0.1:0\n  anonymous: true\n", with: "listen: unix:api.sock\n")
            #expect(socket != before)
            let open = try Self.reload(gate, text: socket)
            #expect(open.status != 200 && open.body.contains("everybody could call the API"), "\(open)")
        }
    }

    // MARK: Advice

    @Test(arguments: [
        ("{ path: /live/tnt/, resource: TNT }", "/live/tnt/ admits a token once, so that one of its files plays"),
        (
            "{ path: /live/tnt, resource: TNT, admits: ttl }",
            "/live/tnt is one file; a folder with all its files is /live/tnt/"
        ),
        ("{ media: a, resource: TNT, requestor: ' REF30' }", "the requestor \" REF30\" has blanks around it"),
    ])
    func `is advised instead of entries that play no stream`(entry: String, advice: String) throws {
        let text =
            "requestor: REF30\ntrust: { keys: [] }\napi: { listen: \"unix:/a/api.sock\" }\ncatalogue: { entries: [\(entry)] }\n"
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let file = try folder.write(
            "gate.yaml",
            contents: text.replacing("keys: []", with: "keys: [{ file: signer.pem }]")
        )
        let given = try GateServer(configurationFile: file, at: GateSample.time).summary.advice
        #expect(given.contains { $0.hasPrefix("line 4: \(advice)") }, "\(given)")
    }

    @Test func `leaves no advice with the file of the package`() throws {
        let text = try String(contentsOfFile: repository + "/packaging/gate.yaml", encoding: .utf8)
        let configuration = try GateConfiguration(text, file: ConfigurationFile(path: "/etc/playgate/gate.yaml"))
        #expect(
            configuration.advice == [
                "the first start makes /var/lib/playgate/grant.key and /var/lib/playgate/subject.key; keep them with the store"
            ]
        )
    }

    @Test func `needs an address that nobody has`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        try await RunningGate.with { (gate) throws in
            let text = Self.text("[{ folder: /live/tnt/, resource: TNT }]", state: "state")
                .replacing("127.0.0.1:0\", anonymous", with: "\(gate.api)\", anonymous")
                .replacing(
                    "admin: { listen: \"127.0.0.1:0\" }",
                    with: "admin: { listen: \"unix:/nowhere/admin.sock\" }"
                )
            try folder.write("gate.yaml", contents: text)
            let run = try CommandRun(Program.built("playgate"), arguments: ["check", folder.file("gate.yaml")])
            #expect(run.status == 0 && run.output.contains("\(gate.api) is in use"), "\(run.output) \(run.error)")
            #expect(run.output.contains("the folder /nowhere is missing"), "\(run.output)")
        }
    }
}
