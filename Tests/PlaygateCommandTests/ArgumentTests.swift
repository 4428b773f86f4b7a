// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import Encodings
import MediaTokens
import Platform
import Testing

@testable import playgate

@Suite struct `Arguments` {
    @Test(
        arguments: [
            ("90s", 90_000), ("7m", 420_000), ("1h", 3_600_000), ("250ms", 250), ("0s", 0), ("", nil), ("7", nil),
            ("s", nil), ("-1s", nil), ("1.5h", nil), ("7 m", nil), ("9223372036854775807h", nil), ("7min", nil),
        ] as [(String, Int64?)]
    )
    func `durations are a whole number and a unit`(text: String, milliseconds: Int64?) {
        #expect(DurationArgument(argument: text)?.milliseconds == milliseconds)
    }

    @Test(
        arguments: [
            ("2031-01-02T10:04:05Z", 1_925_114_645_000), ("2031-01-02T03:04:05-07:00", 1_925_114_645_000),
            ("1925114645", 1_925_114_645_000), ("-1", -1000), ("2031-01-02", nil), ("2031-01-02T10:04:05", nil),
            ("now", nil), ("", nil), ("2031-13-02T10:04:05Z", nil),
        ] as [(String, Int64?)]
    )
    func `times are ISO 8601 or Unix seconds`(text: String, milliseconds: Int64?) {
        #expect(TimeArgument(argument: text)?.time.millisecondsSince1970 == milliseconds)
    }

    @Test func `JSON strings are escaped`() {
        let text = JSON.object([("a\"\\\n\u{1}\u{7F}\u{2028}é", .array([.null, .bool(true), .number(-1)]))])
        #expect(text.line == #"{"a\"\\\n\u0001\u007f\u2028é":[null,true,-1]}"#)
    }
}
