// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@Suite struct `Texts` {
    @Test(arguments: [
        ("", "", true), ("a", "", true), ("", "a", false), ("abc", "abc", true), ("abc", "abcd", false),
        ("aab", "ab", true),
        ("x&A=1", "A=", true), ("x&B=1", "A=", false),
        // One character, of which the first byte is the letter, for a reader of bytes.
        ("A=\u{301}1", "A=", true), ("é", "e", false),
    ])
    func `are searched by their bytes`(text: String, part: String, isFound: Bool) {
        #expect(text.hasBytes(of: part) == isFound)
        #expect("..\(text)..".dropFirst(2).dropLast(2).hasBytes(of: part) == isFound)
    }
}
