// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `The keys command` {
    @Test func `makes three files, the key only for its owner, and overwrites nothing`() throws {
        let folder = try TemporaryFolder()
        let target = folder.file("deep/er")
        let run = try CommandRun(["keys", "new", "--out", target])
        #expect(run.status == 0)
        #expect(run.output == "\(target)/ca.pem\n\(target)/signer.pem\n\(target)/signer.key\n")
        let mode = try FileManager.default.attributesOfItem(atPath: target + "/signer.key")[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let key = try Data(contentsOf: URL(fileURLWithPath: target + "/signer.key"))
        let again = try CommandRun(["keys", "new", "--out", target])
        #expect(again.status == 2)
        #expect(again.error.contains("never overwritten"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: target + "/signer.key")) == key)
    }

    @Test(arguments: [["--bits", "512"], ["--bits", "x"], ["--bits", "9000"], []])
    func `calls wrong usage by its name`(options: [String]) throws {
        let out = options.isEmpty ? [] : ["--out", "/tmp/unused"]
        #expect(try CommandRun(["keys", "new"] + out + options).status == 64)
    }

    /// The openssl script is an alternative to the command: its keys work in the same way.
    @Test func `has a twin in plain openssl`() throws {
        let program = repository + "/certs/new-keys"
        let folder = try TemporaryFolder()
        let script = try CommandRun(program, arguments: [folder.path])
        try #require(script.status == 0, "\(script.error)")
        let token = try CommandRun(["mint", "--key", folder.file("signer.key"), "--requestor", "R", "--resource", "T"])
        let verified = try CommandRun(
            [
                "verify", "--trust", folder.file("signer.pem"), "--anchor", folder.file("ca.pem"), "--requestor", "R",
                "--resource", "T",
            ],
            input: token.output
        )
        #expect(verified.status == 0, "\(verified.output) \(verified.error)")
        #expect(try CommandRun(program, arguments: [folder.path]).status == 2)
    }
}

@Suite struct `The inspect command` {
    @Test(arguments: [[], ["--json"]])
    func `marks every output as not verified`(options: [String]) throws {
        let token = try Keys.shared.get().token()
        for (input, status) in [(token, 0), ("garbage", 1), ("", 1), ("<signatureInfo>", 1)] as [(String, Int32)] {
            let run = try CommandRun(["inspect"] + options, input: input)
            #expect(run.status == status)
            #expect(run.output.contains("NOT VERIFIED"))
        }
    }

    @Test func `shows header and claims of an access token`() throws {
        let token =
            "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOlsiYSJdLCJzdWIiOiJcdTAwMWJbMzFtIn0.AAAA"
        let text = try CommandRun(["inspect"], input: token)
        #expect(text.status == 0 && text.output.contains("NOT VERIFIED"))
        for line in [
            "typ                 at+jwt", "iss                 https://id.example", "aud                 [\"a\"]",
        ] {
            #expect(text.output.contains("  \(line)\n"), "\(text.output)")
        }
        #expect(!text.output.utf8.contains(0x1B))
        let json = try CommandRun(["inspect", "--json"], input: token)
        #expect(json.output.hasPrefix("{\"notice\":\"NOT VERIFIED\",\"header\":{\"alg\":\"ES256\""))
    }

    @Test func `shows nothing that a terminal would obey`() throws {
        let token = try Keys.shared.get().token(resource: "A\u{202E}\u{9B}31mB")
        let run = try CommandRun(["inspect"], input: token)
        #expect(run.output.contains("resource       A  31mB"))
    }
}

@Suite struct `The mint command` {
    @Test(
        arguments: [
            (["--requestor", ""], "requestorID is empty"), (["--resource", " "], "resourceID is empty"),
            (["--mvpd", ""], "mvpdId is empty"), (["--session-guid", "a\u{1}"], "sessionGUID has a character"),
            (["--resource", String(repeating: "A", count: 16_000)], "larger"),
        ])
    func `refuses what no verifier could read`(options: [String], message: String) throws {
        let keys = try Keys.shared.get()
        let run = try CommandRun(
            ["mint", "--key", keys.key, "--requestor", "R", "--resource", "T", "--mvpd", "M"] + options
        )
        #expect(run.status == 2)
        #expect(run.error.contains(message), "\(run.error)")
    }

    @Test func `writes a raw token in one line`() throws {
        let token = try Keys.shared.get().token(["--raw"])
        #expect(token.hasPrefix("<signatureInfo>"))
        #expect(
            token.contains(
                "<signatureInfo><authToken><sessionGUID>guid-1</sessionGUID><requestorID>REF30</requestorID>"
            )
        )
        #expect(token.hasSuffix("<mvpdId>SandboxMVPD</mvpdId></authToken>"))
        #expect(!token.contains("\n"))
    }
}

@Suite struct `The resource command` {
    @Test func `shows a fragment`() throws {
        let fragment = "<rss><channel><title>TNT</title><item><guid>1</guid></item></channel></rss>"
        let run = try CommandRun(["resource", "show", fragment, "--json"])
        #expect(run.status == 0)
        #expect(
            run.output == """
                {"kind":"fragment","canonical":"<rss version=\\"2.0\\" \
                xmlns:media=\\"http://search.yahoo.com/mrss/\\"><channel><title>TNT</title><item><guid>1</guid></item>\
                </channel></rss>","channel":"TNT","title":null,"guid":"1","ratings":[]}

                """
        )
        #expect(try CommandRun(["resource", "show", "-"], input: "TNT\n").output.hasPrefix("kind       identifier\n"))
    }

    @Test(
        arguments: [
            ("TNT", "TNT", [], "yes"), ("TNT", "tnt", [], "no: channel_differs"),
            ("TNT", "tnt", ["--ignore-case"], "yes"),
            ("TNT", "<rss><channel><title>TNT</title></channel></rss>", [], "yes"),
            ("TNT", "<rss><channel><title>TNT</title></channel></rss>", ["--exact-only"], "no: not_exact"),
            ("<rss>", "<rss>", [], "yes"), ("<rss>", "TNT", [], "no: granted_malformed"),
            ("TNT", "<rss>", [], "no: wanted_malformed"), ("", "", [], "no: wanted_malformed"),
        ] as [(String, String, [String], String)]
    )
    func `matches`(granted: String, wanted: String, options: [String], answer: String) throws {
        let run = try CommandRun(["resource", "match", granted, wanted] + options)
        #expect(run.output == answer + "\n")
        #expect(run.status == (answer == "yes" ? 0 : 1))
    }

    @Test func `builds what it shows`() throws {
        let built = try CommandRun([
            "resource", "build", "--channel", "A & B", "--title", "<1>", "--guid", "g", "--rating", "urn:v-chip=TV-PG",
            "--rating", "urn:mpaa=PG",
        ])
        #expect(built.status == 0)
        let folder = try TemporaryFolder()
        let file = try folder.write("fragment", contents: built.output)
        let output = try CommandRun(["resource", "show", "@" + file])
        #expect(output.output.contains("channel    A & B\n"))
        #expect(output.output.contains("title      <1>\n"))
        #expect(output.output.contains("rating     TV-PG (urn:v-chip)\n"))
        #expect(try CommandRun(["resource", "match", "@" + file, String(built.output.dropLast())]).status == 0)
        #expect(try CommandRun(["resource", "build", "--channel", ""]).status == 2)
        #expect(try CommandRun(["resource", "build", "--channel", "A", "--rating", "nonsense"]).status == 64)
    }

    @Test func `says where a fragment is at fault`() throws {
        let run = try CommandRun(["resource", "show", "<rss>\n<channel></rss>"])
        #expect(run.status == 1)
        #expect(run.error.contains("line 2") && run.error.contains("resource_malformed_xml"), "\(run.error)")
    }
}

@Suite struct `The command line` {
    @Test(arguments: [[], ["verify"], ["mint"], ["inspect"], ["keys", "new"], ["resource", "match"]])
    func `has help for every command`(command: [String]) throws {
        let run = try CommandRun(command + ["--help"])
        #expect(run.status == 0)
        #expect(run.output.contains("OVERVIEW"))
        #expect(run.output.contains("USAGE: playgate"))
    }

    @Test func `calls an unknown command wrong usage`() throws { #expect(try CommandRun(["vreify"]).status == 64) }
}

/// The beginning of a configuration, which `playgate check` accepts as it is.
@Suite struct `A new configuration` {
    static let choices = ["nginx", "none"].flatMap { edge in ["memory", "sqlite", "redis"].map { (edge, $0) } }

    @Test(arguments: choices) func `is accepted, for each edge and store`(edge: String, store: String) throws {
        let folder = try TemporaryFolder()
        #expect(try CommandRun(["keys", "new", "--out", folder.file("keys")]).status == 0)
        let file = folder.file("gate.yaml")
        let run = try CommandRun(["config", "init", "--edge", edge, "--store", store, file])
        #expect(run.status == 0 && run.output.isEmpty, "\(run.error)")
        #expect(
            try CommandRun(["config", "init", "--edge", edge, "--store", store]).output == folder.text("gate.yaml")
        )
        let check = try CommandRun(["check", file, "--json"])
        #expect(check.status == 0 && check.output.contains("\"entries\":3"), "\(check.output) \(check.error)")
        let again = try CommandRun(["config", "init", file])
        #expect(again.status == 2 && again.error.contains("is there already"), "\(again.error)")
    }
}
