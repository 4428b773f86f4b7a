// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Platform
import SharedGrants
import Testing

@Suite struct `A log` {
    private static let id = "00000000000000010000000000000001"

    /// A line of a log: its text, and the time of its segment, or the kind of line.
    private static let lines: [(line: String, meaning: String)] = [
        (#"{"time":"1700000000.250","playback":"ID","path":"/v/7.ts"}"#, "1700000000250"),
        (#"{"time":1700000000,"playback":"ID","path":"/v/7.ts","status":200,"method":"GET"}"#, "1700000000000"),
        (#"{"time":"2023-11-14T22:13:20.5Z","playback":"ID","path":"/v/7.ts","status":"206"}"#, "1700000000500 part"),
        (#"{"time":"2023-11-14T23:13:20+01:00","playback":"ID","path":"/v/7.ts","code":null}"#, "1700000000000"),
        (#"{"time":"1700000000","playback":"ID","path":"/v/7.ts","status":"206","range":"bytes=0-"}"#, "1700000000000"),
        (#"{"time":"1700000000","playback":"ID","path":"/v/7.ts","status":"200","range":""}"#, "1700000000000"),
        (
            #"{"time":"1700000000","playback":"ID","path":"/v/7.ts","status":"206","range":"bytes=9-"}"#,
            "1700000000000 part"
        ),
        // What fetched nothing, or is no segment.
        (#"{"time":"1700000000","playback":"ID","path":"/v/7.ts","status":"304"}"#, "other"),
        (#"{"time":"1700000000","playback":"ID","path":"/v/7.ts","status":404}"#, "other"),
        (#"{"time":"1700000000","playback":"ID","path":"/v/7.ts","method":"HEAD"}"#, "other"),
        (#"{"time":"1700000000","playback":"ID","media":"tnt"}"#, "other"),
        (#"{"time":"1700000000","playback":"ID","path":"/v/index.m3u8"}"#, "other"),
        (#"{"time":"1700000000","playback":"","path":"/v/7.ts"}"#, "other"),
        (#"{"time":"1700000000","playback":"-","path":"/v/7.ts"}"#, "other"),
        (#"{"time":"1700000000","playback":null,"path":"/v/7.ts"}"#, "other"),
        (#"{"message":"listening"}"#, "other"), ("{}", "other"),
        // What no log has.
        (#"{"time":"1700000000","playback":"ID","path":7}"#, "malformed"),
        (#"{"playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":1700000000.250,"playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":"1700000000","playback":"../etc","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":"-1","playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":"1.2.3","playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":"99999999999999999999","playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":true,"playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        (#"{"time":"1700000000","time":"1","playback":"ID","path":"/v/7.ts"}"#, "malformed"),
        ("", "malformed"), ("[]", "malformed"), ("{", "malformed"), ("\u{0}", "malformed"),
        (#"192.0.2.1 [..] "GET /v/7.ts HTTP/1.1" 200"#, "malformed"),
        ("{\"path\":\"" + String(repeating: "x", count: 20_000) + "\"}", "malformed"),
        (String(repeating: "[", count: 10_000), "malformed"),
    ]

    @Test(arguments: lines) func `has segments in its lines`(line: String, meaning: String) {
        let text = Array(line.replacing("ID", with: Self.id).utf8)
        switch LoggedSegment.read(text.span, renditions: []) {
        case .segment(let segment):
            let part = segment.isPartial ? " part" : ""
            #expect("\(segment.time.millisecondsSince1970)\(part)" == meaning)
        case .other: #expect(meaning == "other")
        case .malformed: #expect(meaning == "malformed")
        }
    }

    /// Counts the requests of players, each with its first segment and the id of its playback.
    private static func replay(_ players: [(first: Int, playback: Int)], renditions: [String] = ["a", "a"]) -> String {
        var replay = LogReplay()
        let patterns = [RenditionPattern("/v*/")].compactMap(\.self)
        for round in 0..<20 {
            for (number, player) in players.enumerated() {
                let path = "/v\(renditions[number])/\(player.first + round).ts"
                let id = String(repeating: "0", count: 31) + "\(player.playback)"
                let line = #"{"time":\#(1_700_000_000 + 2 * round),"playback":"\#(id)","path":"\#(path)"}"#
                guard case .segment(let found) = LoggedSegment.read(Array(line.utf8).span, renditions: patterns) else {
                    return "no segment"
                }
                replay.count(found)
            }
        }
        return replay.text(malformed: 0)
    }

    @Test func `has a playback of two players who take turns`() {
        let both = Self.replay([(100, 1), (97, 1)])
        #expect(both.hasPrefix("1 of 1 playbacks would be challenged (40 segments)\n"), "\(both)")
        #expect(both.contains("00000000000000000000000000000001  first 2023-11-14T22:13:"), "\(both)")
        let renditions = Self.replay([(100, 1), (97, 1)], renditions: ["1080", "480"])
        #expect(renditions.hasPrefix("1 of 1 playbacks"), "\(renditions)")
    }

    @Test func `has nobody to challenge, if each player has a playback`() {
        #expect(Self.replay([(100, 1), (97, 2)]) == "0 of 2 playbacks would be challenged (40 segments)\n")
    }

    @Test func `without segments says what it needs`() {
        let text = LogReplay().text(malformed: 3)
        #expect(text.contains("shared-grants.md") && text.contains("3 lines are no JSON objects of a log"))
    }
}
