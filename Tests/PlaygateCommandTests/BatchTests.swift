// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `Verification of a file of tokens` {
    private let keys: Keys
    private let token: String

    init() throws {
        keys = try Keys.shared.get()
        token = try keys.token()
    }

    private func run(on text: String, options: [String] = ["--resource", "TNT"]) throws -> CommandRun {
        try CommandRun(keys.verify(["--batch", "-"] + options), input: text)
    }

    @Test func `answers each line in the order of the file`() throws {
        let long = String(repeating: "A", count: 100_000)
        let lines: [(String, String)] = [
            (token, "VALID_TOKEN null"), ("garbage", "INVALID_TOKEN_FORMAT invalid_base64"),
            ("\(token)\tTBS", "INVALID_RESOURCE_ID resource_mismatch"),
            ("\(token)\t<rss><channel><title>TNT</title></channel></rss>", "VALID_TOKEN null"),
            ("\(token)\t<rss><channel>", "INVALID_RESOURCE_ID resource_malformed_xml"),
            ("\(token)\t", "INVALID_RESOURCE_ID resource_empty"), ("\tTNT", "INVALID_TOKEN_FORMAT token_empty"),
            (token + "\r", "VALID_TOKEN null"), (long, "INVALID_TOKEN_FORMAT token_too_large"),
            (token + "\t" + long, "INVALID_RESOURCE_ID resource_too_large"), (token, "VALID_TOKEN null"),
        ]
        for ending in ["", "\n"] {
            let run = try run(on: lines.map(\.0).joined(separator: "\n") + ending)
            #expect(run.status == 1)
            #expect(run.verdicts == lines.map(\.1))
            #expect(run.error.contains("11 tokens") && run.error.contains("VALID_TOKEN           4"), "\(run.error)")
        }
    }

    @Test func `skips blank lines, and tells the number of each other line`() throws {
        let run = try run(on: "\n\(token)\n\r\n \t \ngarbage\n\n\(token)")
        #expect(run.numbers == [2, 5, 7])
        #expect(run.error.contains("3 tokens"), "\(run.error)")
        // Over several blocks of the file.
        let lines = (0..<5000).map { $0 % 5 == 0 ? "" : token }.joined(separator: "\n")
        #expect(try self.run(on: lines).numbers == (1...5000).filter { $0 % 5 != 1 })
    }

    /// Lines longer than the pieces in which a file is read, after a line that shifts them relative to the pieces.
    @Test(arguments: [16_385, 40_000, 65_536, 300_000], [0, 65_000])
    func `reports the resource of a line whose token is too long`(length: Int, before: Int) throws {
        let long = String(repeating: "A", count: length)
        let lines = [
            (String(repeating: "B", count: before) + "\tTNT", before > 0 ? "token_too_large" : "token_empty"),
            ("\(long)\tTNT", "token_too_large"), ("\(long)\tTNT\r", "token_too_large"),
            ("\(long)\t<rss>", "resource_malformed_xml"), ("\(long)\t\(long)", "resource_too_large"),
            ("\(long)\t", "resource_empty"), ("\(token)\tTBS\t\(long)", "resource_too_large"),
            ("\(token)\tTNT", "null"), (long, "resource_missing"),
        ]
        for ending in ["", "\n"] {
            let text = lines.map(\.0).joined(separator: "\n") + ending
            #expect(try run(on: text, options: []).reasons == lines.map(\.1))
            #expect(try run(on: text).reasons == lines.map(\.1).dropLast() + ["token_too_large"])
        }
    }

    /// Resources at the size limit, cut at any position, with either line end.
    @Test(arguments: [8191, 8192, 8193], ["", "\r", "\rx"])
    func `accepts a resource up to its limit`(length: Int, end: String) throws {
        let resource = String(repeating: "R", count: length) + end
        let size = end == "\r" ? length : resource.utf8.count
        let reason =
            size > 8192 ? "resource_too_large" : end == "\rx" ? "resource_invalid_character" : "resource_mismatch"
        for filler in [0, 40_000, 57_000, 65_000] {
            let text = String(repeating: "B", count: filler) + "\tTNT\n\(token)\t\(resource)\n\(token)\n"
            #expect(try Array(run(on: text).reasons.dropFirst()) == [reason, "null"])
        }
    }

    @Test func `tells in JSON what prevents it from running`() throws {
        let missing = try CommandRun(keys.verify(["--batch", "/nowhere/tokens", "--resource", "TNT"]))
        #expect(missing.output.hasPrefix(#"{"error":"input_unreadable","message":"/nowhere/tokens: "#))
    }

    @Test func `needs a resource from the line or the command`() throws {
        #expect(try run(on: token + "\n", options: []).verdicts == ["INVALID_RESOURCE_ID resource_missing"])
        #expect(try run(on: "\(token)\tTNT\n", options: []).verdicts == ["VALID_TOKEN null"])
        #expect(try run(on: token + "\n", options: ["--authenticity-only"]).verdicts == ["VALID_TOKEN null"])
        #expect(
            try run(on: "\(token)\tTBS\n", options: ["--authenticity-only"]).verdicts == [
                "INVALID_RESOURCE_ID resource_mismatch"
            ],
            "a resource that is named is checked"
        )
    }

    @Test(arguments: ["1", "2", "7"])
    func `gives the same answers with any number of jobs`(jobs: String) throws {
        let line = [token, "x", "\(token)\tTBS"]
        let text = (0..<5000).map { line[$0 % 3] }.joined(separator: "\n")
        let run = try run(on: text, options: ["--resource", "TNT", "--jobs", jobs])
        let wanted = [
            "VALID_TOKEN null", "INVALID_TOKEN_FORMAT invalid_base64", "INVALID_RESOURCE_ID resource_mismatch",
        ]
        #expect(run.verdicts == (0..<5000).map { wanted[$0 % 3] })
    }

    @Test func `exits with 0 where all are valid, and with 2 where the file is missing`() throws {
        #expect(try run(on: "\(token)\n\(token)\n").status == 0)
        #expect(try run(on: "").status == 0)
        let missing = try CommandRun(keys.verify(["--batch", "/nowhere/tokens", "--resource", "TNT"]))
        #expect(missing.status == 2)
        #expect(missing.error.contains("/nowhere/tokens"))
    }
}

extension CommandRun {
    /// The number of each line of output.
    fileprivate var numbers: [Int?] {
        output.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["line"] as? Int
        }
    }

    /// The status and reason of each line of output.
    fileprivate var verdicts: [String] {
        output.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return "\(object?["verifierStatus"] ?? "?") \(object?["code"] as? String ?? "null")"
        }
    }

    /// The reason of each line of output.
    fileprivate var reasons: [String] { verdicts.map { String($0.split(separator: " ")[1]) } }
}
