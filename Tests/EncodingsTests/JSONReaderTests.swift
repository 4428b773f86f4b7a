// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import Testing

@Suite struct `The JSON reader` {
    private static let limits = JSONLimits(depth: 4, members: 3, elements: 5)

    private static func read(_ text: String) throws -> JSON {
        try JSONReader.read([UInt8](text.utf8).span, limits: limits)
    }

    @Test(arguments: [
        ("null", JSON.null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .number(0)),
        ("-0", .number(0)),
        ("9223372036854775807", .number(.max)), ("-9223372036854775808", .number(.min)),
        ("9223372036854775808", .otherNumber), ("1.5", .otherNumber), ("1e2", .otherNumber), ("1E+2", .otherNumber),
        ("\"\"", .string("")), ("\"é\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\"", .string("éé😀\n\"\\/")), ("[]", .array([])),
        ("[1,\"a\"]", .array([.number(1), .string("a")])), ("{}", .object([])),
        ("{\"a\":[{}]}", .object([(name: "a", value: .array([.object([])]))])),
    ])
    func `reads what is JSON`(text: String, value: JSON) throws {
        #expect(try Self.read(text) == value)
    }

    @Test(arguments: [
        ("", JSONFault.notJSON), ("{", .notJSON), ("[1,]", .notJSON), ("{\"a\":1,}", .notJSON), ("01", .notJSON),
        ("\"\u{1}\"", .notJSON), ("\"\\ud800\"", .notJSON), ("1 2", .notJSON), ("[[[[[]]]]]", .tooDeep),
        ("[1,2,3,4,5,6]", .tooLong(5)), ("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", .tooManyMembers(3)),
        ("{\"a\":1,\"a\":2}", .repeatedMember("a")),
    ])
    func `says what is wrong`(text: String, fault: JSONFault) {
        #expect(throws: fault) { try Self.read(text) }
    }

    /// Foundation is the reference for randomly broken texts, except for depth and repeated names.
    @Test func `accepts no text that Foundation refuses`() throws {
        let samples = [
            "{\"media\":\"tnt\",\"token\":\"PHNp\",\"n\":[1,-2.5e3,true,null]}",
            "[\"\\u00e9\\n\",{\"a\":{\"b\":\"c\"}}]",
            "{\"a\":\"\\ud83d\\ude00\",\"b\":-1,\"c\":false}",
        ].map { Array($0.utf8) }
        var random = SystemRandomNumberGenerator()
        let letters = Array("{}[]\",:\\u0123456789eE+-.truefalsn \n\u{1}é".utf8)
        var agreed = 0
        for _ in 0..<10_000 {
            var bytes = samples.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.remove(at: index)
                case 1: bytes.insert(letters.randomElement(using: &random) ?? 0, at: index)
                default: bytes[index] = letters.randomElement(using: &random) ?? 0
                }
            }
            let mine = (try? JSONReader.read(bytes.span, limits: Self.limits)) != nil
            let its = Self.isJSON(bytes)
            if mine { #expect(its, "\(String(decoding: bytes, as: UTF8.self))") }
            if mine == its { agreed += 1 }
        }
        // The reader also refuses texts with a repeated name.
        #expect(agreed > 9_500)
    }

    /// True if Foundation finds the text well-formed. Foundation refuses numbers that a Double cannot hold, which JSON
    /// allows, so it reads the text without exponents.
    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        func accepts(_ data: Data) -> Bool {
            (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
        }
        if accepts(Data(bytes)) { return true }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return accepts(Data(text.replacing(/(\d)[eE][+-]?\d+/) { $0.1 }.utf8))
    }
}
