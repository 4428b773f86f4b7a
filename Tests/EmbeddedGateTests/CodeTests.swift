// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import PlaybackGate
import Testing

@testable import EmbeddedGate

@Suite("Numbers of codes")
struct CodeTests {
    @Test("Every refusal has a number of its own, and its name")
    func refusals() {
        var seen: Set<Int32> = []
        for code in DenyCode.allCases {
            let number = Codes.number(code)
            #expect(Codes.name(number).map { "\($0)" } == code.rawValue)
            #expect(seen.insert(number).inserted)
        }
    }
}
