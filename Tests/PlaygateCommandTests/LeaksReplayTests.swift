// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

@Suite struct `playgate leaks replay` {
    /// The log of an edge with the even or the odd rounds of two players with one grant.
    private static func log(_ rounds: [Int]) -> String {
        rounds.map { round in
            [100, 97].map { first in
                let id = String(repeating: "0", count: 31) + "7"
                return #"{"time":"\#(1_700_000_000 + 2 * round)","playback":"\#(id)","path":"/a/\#(first + round).ts"}"#
                    + "\n"
            }
            .joined()
        }
        .joined()
    }

    @Test func `puts the lines of several logs into the order of their times`() throws {
        let folder = try TemporaryFolder()
        let even = try folder.write("even.json", contents: Self.log(Array(stride(from: 0, to: 20, by: 2))))
        let odd = try folder.write(
            "odd.json",
            contents: Self.log(Array(stride(from: 1, to: 20, by: 2))) + "no JSON\n\n"
        )
        // The last line may have no end.
        let whole = try folder.write("whole.json", contents: String(Self.log(Array(0..<20)).dropLast()))
        let parts = try CommandRun(["leaks", "replay", even, odd, "--json"])
        let one = try CommandRun(["leaks", "replay", "-", "--json"], input: Self.log(Array(0..<20)))
        #expect(one.output == (try CommandRun(["leaks", "replay", whole, "--json"]).output))
        #expect(parts.output == one.output.replacing(#""malformedLines":0"#, with: #""malformedLines":1"#))
        #expect(one.output.hasPrefix(#"{"playbacks":1,"segments":40,"malformedLines":0,"suspects":[{"playback":"0"#))
        #expect(try CommandRun(["leaks", "replay", even, odd]).output.contains("1 lines are no JSON objects of a log"))
    }

    @Test func `says what is wrong with a file, a pattern and no file`() throws {
        let missing = try CommandRun(["leaks", "replay", "/nowhere/segments.json"])
        #expect(missing.status != 0 && missing.error.contains("/nowhere/segments.json: cannot be opened"))
        let folder = try CommandRun(["leaks", "replay", "/"])
        #expect(folder.status != 0 && folder.error.contains("/: cannot be read"))
        #expect(try CommandRun(["leaks", "replay", "-", "--rendition", "v"]).status == 64)
        #expect(try CommandRun(["leaks", "replay"]).status == 64)
        let empty = try CommandRun(["leaks", "replay", "-"])
        #expect(empty.status == 0 && empty.output.hasPrefix("0 of 0 playbacks"))
    }
}
