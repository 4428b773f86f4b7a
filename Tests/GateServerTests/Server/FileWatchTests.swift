// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateServer
import Testing

@Suite struct `A watch on files` {
    /// Each letter is a state of the files; `a` is the active one.
    @Test(arguments: [
        ("it never changes", "aaaa", "...."), ("it changes once", "aabbb", "...rr"),
        ("it is being written", "abcdee", ".....r"), ("it is being written slowly", "abbcc", "..r.r"),
        ("it comes back", "aba", "..."), ("it changes in the first look", "bb", ".r"),
        ("it changes and comes back", "abaab", "....."),
    ])
    func `reads what two looks in a row found the same`(name: String, contents: String, reads: String) {
        var watch = FileWatch<Character>()
        let now = ContinuousClock.now
        let found = contents.map { watch.look($0, active: "a", inForce: 1, at: now) ? "r" : "." }.joined()
        #expect(found == reads, "\(name)")
    }

    @Test func `reads again what was refused when it changes, when another is active, and after a while`() {
        var watch = FileWatch<Character>()
        let start = ContinuousClock.now
        let later = start + .seconds(60)
        let look = { (watch: inout FileWatch<Character>, seen: Character, number: UInt64, time) in
            watch.look(seen, active: "a", inForce: number, at: time)
        }
        #expect(!look(&watch, "b", 1, start))
        #expect(look(&watch, "b", 1, start))
        watch.refuse("b", inForce: 1, until: later)
        #expect(!look(&watch, "b", 1, start))
        #expect(look(&watch, "b", 2, start))
        #expect(look(&watch, "b", 1, later))
        #expect(!look(&watch, "c", 1, start))
        #expect(look(&watch, "c", 1, start))
    }
}
