// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `What prevents a command from running` {
    /// An input that exceeds the size limit of every command.
    private static let large = String(repeating: "A", count: (1 << 20) + 1)

    /// The arguments of a command, its input, and the expected error code.
    private static let rows: [(arguments: [String], input: String, code: String)] = [
        (["inspect", "-"], large, "input_too_large"), (["inspect"], large, "input_too_large"),
        (["inspect", "--token-file", "/nowhere"], "", "input_unreadable"),
        (["resource", "show", "-"], large, "input_too_large"),
        (["resource", "show", "@/nowhere"], "", "input_unreadable"),
        (["resource", "match", "-", "TNT"], large, "input_too_large"),
        (["resource", "match", "TNT", "-"], large, "input_too_large"),
        (["catalogue", "read", "/nowhere"], "", "input_unreadable"),
        (["catalogue", "read", "-"], "<rss>", "feed_malformed_xml"),
        (["view", "--user", "a", "--password", "@/nowhere"], "", "input_unreadable"),
    ]

    @Test(arguments: rows.indices) func `is reported in JSON if the answer is`(index: Int) throws {
        let row = Self.rows[index]
        let program = row.arguments[0] == "view" ? "playgate-sandbox" : "playgate"
        let run = try CommandRun(row.arguments + ["--json"], of: program, input: row.input)
        #expect(run.status == 2)
        #expect(try run.failure == row.code, "\(run.output)")
        #expect(run.error.contains("\(program): "), "and in words on standard error")
        let plain = try CommandRun(row.arguments, of: program, input: row.input)
        #expect(plain.status == 2 && !plain.output.contains("error"), "\(plain.output)")
    }

    @Test(
        arguments: [
            (["-"], large, "input_too_large"), (["--token-file", "/nowhere"], "", "input_unreadable"),
            (["--resource", "<rss>"], "x", "resource_malformed_xml"),
            (["--resource", "@/nowhere"], "x", "input_unreadable"),
            (["--trust", "/nowhere"], "x", "trust_file_unreadable"),
        ]
    )
    func `is reported by verify too`(options: [String], input: String, code: String) throws {
        let resource = options.first == "--resource" ? [] : ["--resource", "TNT"]
        let run = try CommandRun(Keys.shared.get().verify(resource + options + ["--json"]), input: input)
        #expect(run.status == 2)
        #expect(try run.failure == code, "\(run.output)")
    }

    @Test(arguments: [
        (["verfy"], "Did you mean 'playgate verify'?"), (["keys", "ap"], "Did you mean 'playgate keys api'?"),
        (["grant", "isue"], "Did you mean 'playgate grant issue'?"),
        (
            ["mint", "--key", "k", "--requestor", "R", "--resource", "T", "--ttl", "5"],
            "A duration has a unit: ms, s, m, h or d, such as 5m."
        ), (["keys", "api", "bob", "--scope", "reed"], "--scope: reed is no scope; known: playback, verify, "),
    ])
    func `is answered with what was meant`(arguments: [String], hint: String) throws {
        let run = try CommandRun(arguments)
        #expect(run.status == 64 && run.error.contains(hint), "\(run.error)")
    }

    @Test(arguments: [["nonsense"], ["--nonsense"], ["keys", "nonsense"], ["mint", "nonsense"]])
    func `is answered without a guess if nobody can tell`(arguments: [String]) throws {
        let run = try CommandRun(arguments)
        #expect(run.status == 64 && !run.error.contains("Did you mean"), "\(run.error)")
    }

    @Test(arguments: ["inspect", "verify"]) func `is a token that is the name of a file`(command: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("token", contents: "x")
        let options =
            command == "verify" ? ["--trust", try Keys.shared.get().signer, "--requestor", "R", "--resource", "T"] : []
        let run = try CommandRun([command, file] + options)
        #expect(run.status == 2 && run.error.contains("\(file) is a file: use --token-file \(file)"), "\(run.error)")
    }

    @Test func `is reported once by check, in its own form`() throws {
        let run = try CommandRun(["check", "/nowhere.yaml", "--json"])
        #expect(run.status == 2)
        #expect(run.output.hasPrefix(#"{"valid":false,"problems":["#) && run.output.split(separator: "\n").count == 1)
    }

    @Test func `is behind the items of a feed that is broken`() throws {
        let feed = "<rss><channel><title>T</title>\n<item\n a='1'\n><guid>1</guid></item></channel>"
        let run = try CommandRun(["catalogue", "read", "-", "--json"], input: feed)
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 2 && lines.count == 2)
        #expect(lines.first?.hasPrefix(#"{"line":2,"mediaID":"1","#) == true, "the line on which the tag begins")
        #expect(try run.failure == "feed_malformed_xml")
    }
}

extension CommandRun {
    /// The error code in the last line of output; `nil` if the line has no message.
    fileprivate var failure: String? {
        get throws {
            let line = try #require(output.split(separator: "\n").last)
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
            return object?["message"]?.isEmpty == false ? object?["error"] : nil
        }
    }
}
