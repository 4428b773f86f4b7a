// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@Suite struct `A reader of JSON members in place` {
    private static let limits = JSONLimits(depth: 4, members: 6, elements: 4)

    /// The names and spellings of the members; `nil` if the text is refused.
    private static func members(_ text: String) -> [String]? {
        let bytes = [UInt8](text.utf8)
        var reader = JSONMemberReader(bytes.span, limits: limits)
        var members: [String] = []
        do throws(JSONFault) {
            while let member = try reader.next() {
                let name = try reader.name(member)
                members.append("\(name)=\(String(copying: bytes.span.extracting(member.value)))")
            }
        } catch {
            return nil
        }
        return members
    }

    @Test func `finds members as they are written`() {
        #expect(
            Self.members(#" { "a" : 1.50 , "b":"x\u0041" , "\u0063":[1,{"d":null}] } "#) == [
                "a=1.50", #"b="x\u0041""#, #"c=[1,{"d":null}]"#,
            ]
        )
        #expect(Self.members("{}") == [])
    }

    @Test(arguments: [
        "", "{", "[]", "1", "{}x", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1 "b":2}"#, #"{a:1}"#,
        #"{"a":01}"#,
        #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":+1}"#, #"{"a":-}"#, #"{"a":"\x"}"#, #"{"a":"\ud800"}"#,
        "{\"a\":\"\n\"}",
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"a":{"b":1,"b":2}}"#, #"{"a":[[[[1]]]]}"#, #"{"a":[1,2,3,4,5]}"#,
        #"{"a":tru}"#, #"{"a":nul}"#, #"{"a":[}"#, #"{"a":[1}]}"#, #"{"a":"b}"#,
        #"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#,
    ])
    func `refuses what the reader of values refuses`(text: String) {
        let bytes = [UInt8](text.utf8)
        #expect(Self.members(text) == nil)
        let isObject: Bool
        if case .object? = try? JSONReader.read(bytes.span, limits: Self.limits) {
            isObject = true
        } else {
            isObject = false
        }
        #expect(!isObject)
    }

    @Test func `agrees with the reader of values on random texts`() {
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\u0061\"", "1", "-0", "1.5", "1e3", "0", "null", "true",
            " ", "\"", "\\",
        ]
        var accepted = 0
        for _ in 0..<100_000 {
            let inner = (0..<Int.random(in: 0...10)).compactMap { _ in pieces.randomElement() }.joined()
            let text = "{\"k\":\(inner)}"
            let bytes = [UInt8](text.utf8)
            var names: [String]?
            if case .object(let members)? = try? JSONReader.read(bytes.span, limits: Self.limits) {
                names = members.map(\.name)
            }
            let found = Self.members(text)
            #expect((found == nil) == (names == nil) && found?.count == names?.count, "\(text)")
            accepted += found == nil ? 0 : 1
        }
        #expect(accepted > 1000)
    }
}
