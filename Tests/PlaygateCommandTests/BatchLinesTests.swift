// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommandLineSupport
import GateTestSupport
import Testing

@testable import playgate

@Suite struct `Lines of a batch` {
    private static let (tokenSize, resourceSize) = (16, 8)

    /// The lines are the same for pieces of any size. Fields that are too long may differ, but stay too long.
    @Test func `have both fields, however the file is cut`() {
        var random = SplitMix64(seed: 13)
        for _ in 0..<3000 {
            let text = Self.file(&random)
            var lines = BatchLines(tokenSize: Self.tokenSize, resourceSize: Self.resourceSize)
            var found: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...30, using: &random))
                rest = rest.dropFirst(piece.count)
                found += Self.lines(lines.add(Array(piece)))
            }
            found += Self.lines(lines.end())
            let whole = Self.lines(text.isEmpty || text.last == 0xA ? text : text + [0xA])
            #expect(found.map(Self.fields) == whole.map(Self.fields), "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test func `are in constant memory`() {
        var lines = BatchLines(tokenSize: Self.tokenSize, resourceSize: Self.resourceSize)
        for byte in "A\tB".utf8 {
            for _ in 0..<1000 { #expect(lines.add([UInt8](repeating: byte, count: 1000)) == []) }
        }
        #expect(lines.end().count <= Self.tokenSize + Self.resourceSize + 6)
        #expect(lines.end().isEmpty)
    }

    /// Returns lines with fields near the size limits, with tabs and carriage returns in unusual positions.
    private static func file(_ random: inout SplitMix64) -> [UInt8] {
        var text: [UInt8] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let lengths = [0, 3, tokenSize - 1, tokenSize, tokenSize + 1, tokenSize + 2, 60]
            for _ in 0..<(lengths.randomElement(using: &random) ?? 0) {
                text.append(Bool.random(using: &random) ? 0x41 : 0xD)
            }
            if Bool.random(using: &random) {
                text.append(0x9)
                for _ in 0..<Int.random(in: 0...20, using: &random) {
                    text.append([0x42, 0x43, 0x9, 0xD].randomElement(using: &random) ?? 0)
                }
            }
            text.append(0xA)
        }
        return Bool.random(using: &random) ? text : text.dropLast()
    }

    private static func lines(_ block: [UInt8]) -> [[UInt8]] {
        block.split(separator: 0xA, omittingEmptySubsequences: false).dropLast().map(Array.init)
    }

    /// Returns the fields of a line as a verification sees them; `nil` for a field that is too long.
    private static func fields(_ line: [UInt8]) -> [[UInt8]?] {
        let line = line.last == 0xD ? line.dropLast() : line
        let tab = line.firstIndex(of: 0x9)
        let token = line[..<(tab ?? line.endIndex)]
        let resource = tab.map { Array(line[($0 + 1)...]) }
        return [token.count > tokenSize ? nil : Array(token)]
            + (resource.map { [$0.count > resourceSize ? nil : $0] } ?? [])
    }
}
