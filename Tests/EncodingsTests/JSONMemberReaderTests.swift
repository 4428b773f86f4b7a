// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@Suite struct `A reader of JSON members without copies` {
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
            " ", "\"", "\\", "\n", "\t", "\u{1}", "\"\\n\"", "\"x\\\"\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"é\"",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
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
        #expect(accepted > 200)
    }

    @Test(arguments: [
        (#"{"a":"x","b":"\"","c":"\\","d":"e"}"#, ["x", "\"", "\\", "e"]), (#"{"a":"","b":"\u00e9é"}"#, ["", "éé"]),
        ("{\n\"a\":\"x\",\t\"b\":\"\\n\"}", ["x", "\n"]), (#"{"a":"\ud83d\ude00","b":1}"#, ["😀", nil]),
    ])
    func `reads texts behind and before escapes and white space`(text: String, wanted: [String?]) throws {
        let bytes = [UInt8](text.utf8)
        var reader = JSONMemberReader(bytes.span, limits: Self.limits)
        var found: [String?] = []
        while let member = try reader.next() {
            let text = try reader.withText(of: member) { String(copying: $0) }
            if text != nil { #expect(try JSONMemberReader.text(in: bytes.span, at: member.value) == text) }
            found.append(text)
        }
        #expect(found == wanted)
    }

    @Test func `finds names by all of their bytes`() throws {
        let names = JSONNames(["iss", "requestorID", "", "12345678", "a2345678"])
        let members = #"{"requestorID":0,"Requestorid":0,"xequestorID":0,"equestorID":0,"i\u0073s":0,"is":0}"#
        let others = #"{"":0,"12345678":0,"012345678":0,"\u0000iss":0,"a2345678":0}"#
        #expect(try Self.indices(of: members, in: names) == [1, nil, nil, nil, 0, nil])
        #expect(try Self.indices(of: others, in: names) == [2, 3, nil, nil, 4])
    }

    /// The indices of the members' names in a list.
    private static func indices(of text: String, in names: JSONNames) throws -> [Int?] {
        let bytes = [UInt8](text.utf8)
        var reader = JSONMemberReader(bytes.span, limits: limits)
        var indices: [Int?] = []
        while let member = try reader.next() { indices.append(try reader.index(of: member, in: names)) }
        return indices
    }

    @Test func `finds two members of one name whatever names have the same bits`() {
        let limits = JSONLimits(depth: 4, members: 64, elements: 4)
        let names = (0..<63).map { "n\($0)" }
        for name in names {
            let text = "{" + (names + [name]).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
            let bytes = [UInt8](text.utf8)
            var reader = JSONMemberReader(bytes.span, limits: limits)
            var count = 0
            do throws(JSONFault) {
                while try reader.next() != nil { count += 1 }
                Issue.record("\(name) twice")
            } catch {
                #expect(error == .repeatedMember(name) && count == 63)
            }
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("123456789012345678", 123_456_789_012_345_678), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("99999999999999999999", nil), ("1.0", nil), ("", nil), ("-", nil), ("1e3", nil),
        ] as [(String, Int64?)]
    )
    func `reads numbers of 64 bits`(spelling: String, number: Int64?) {
        #expect(Int64(jsonInteger: spelling.utf8.span) == number)
    }
}
