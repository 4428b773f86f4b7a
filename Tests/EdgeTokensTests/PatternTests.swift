// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Platform
import Testing

@testable import EdgeTokens

/// Patterns: their syntax, their limits, and their answers against those of the C library.
@Suite struct Patterns {
    static func pattern(_ text: String) throws(Pattern.Fault) -> Pattern { try Pattern(text.utf8.span) }

    @Test(arguments: [
        ("^/live/(a|b)/[0-9]+\\.ts$", "/live/a/12.ts", true), ("^/live/(a|b)/[0-9]+\\.ts$", "/live/c/12.ts", false),
        ("^/live/(a|b)/[0-9]+\\.ts$", "/live/a/12.ts\n", false), ("b", "abc", true), ("^b", "a\nb", false),
        ("a.c", "a\nc", true),
        ("a\\:b", "a:b", true), ("[]a]", "]", true), ("[^]a]", "]", false), ("[a\\]", "\\", true), ("[.]", "x", false),
        ("[[:digit:]]{2,3}", "x12", true), ("[[:digit:]]{4}", "123", false), ("a{2,}", "aa", true), ("x}", "x}", true),
        ("é", "é", true), ("[é]", "\u{C3}", true), ("[a-]", "-", true), ("[--/]", ".", true),
        ("(a|b)*c$", "abababc", true),
        ("[[:upper:][:digit:]]", "a1", true), ("[^[:print:]]", "é", true), ("^(.)", "", false), ("[a-c-]", "-", true),
    ])
    func `are found as POSIX says`(pattern: String, text: String, isFound: Bool) throws {
        let found = try Self.pattern(pattern).isFound(in: text.utf8.span)
        #expect(found == isFound)
    }

    @Test(arguments: [
        "", "(", ")", "a)", "(a", "()", "(|a)", "a||b", "|a", "a|", "*a", "a|*", "(*a)", "a**", "a+?", "a{2}{3}", "^*",
        "$+",
        "a{,3}", "a{x}", "a{3,2}", "{1}", "a{", "a{1", "[a", "[", "[]", "[b-a]", "[[:alpha:]-z]", "[a-[:digit:]]",
        "[[:nope:]]", "[[.a.]]", "[[=a=]]", "[a-c-e]", "\\", "\\d", "\\1", "(a)\\1", "\\pN", "\\Aa", "\\w", "(?:a)",
        "(?i)a",
        "a\u{0}", "[\u{0}]", "\\é", "a{1001}",
    ])
    func `beyond POSIX are not supported`(pattern: String) {
        #expect(throws: Pattern.Fault.unsupported) { try Self.pattern(pattern) }
    }

    @Test(arguments: [
        String(repeating: "a", count: 513), "a{256}", "((a{100}){100}){100}", "(.{0,255}a){9}",
    ])
    func `beyond the limits are too large`(pattern: String) {
        #expect(throws: Pattern.Fault.tooLarge) { try Self.pattern(pattern) }
    }

    @Test func `are the same as those of the C library`() throws {
        var random = SplitMix64(seed: 7)
        var (compiled, found) = (0, 0)
        for _ in 0..<2000 {
            let text = ExtendedPatternGenerator.pattern(&random, depth: 3)
            guard let own = try? Self.pattern(text) else { continue }
            let other = try #require(PosixPattern(text), "\(text)")
            compiled += 1
            for _ in 0..<10 {
                let input = ExtendedPatternGenerator.text(&random)
                let isFound = own.isFound(in: input.utf8.span)
                found += isFound ? 1 : 0
                #expect(isFound == other.isFound(in: input), "\(text) in \(input)")
            }
        }
        #expect(compiled > 1800)
        #expect(2000..<18_000 ~= found)
    }

    /// Patterns that need a time that grows exponentially in engines with backtracking.
    static var catastrophic: [String] {
        let atoms = ["a", "[ab]", "(a|a)", "(a|ab)", "a?", "(aa?)", "(a|b|ab)", ".", "[[:alpha:]]", "(a*)"]
        let shapes: [(String) -> String] = [
            { "^(\($0)+)+$" }, { "^((\($0))*)*c$" }, { "^(\($0))*(\($0))*(\($0))*c$" }, { "(x+x+)+y|(\($0)+)+!$" },
            { "^(\($0)){0,30}a{30}c$" },
        ]
        return shapes.flatMap { shape in atoms.map { shape($0 == "a?" || $0 == "(a*)" ? "(\($0)b)" : $0) } }
    }

    @Test(arguments: catastrophic)
    func `come to an end on the longest text, which no engine that tries all ways does`(text: String) throws {
        let pattern = try Self.pattern(text)
        _ = pattern.isFound(in: String(repeating: "a", count: Pattern.maximumInputSize).utf8.span)
        let isFoundBeyond = pattern.isFound(in: String(repeating: "a", count: Pattern.maximumInputSize + 1).utf8.span)
        #expect(!isFoundBeyond)
    }
}

/// A pattern compiled by the C library.
@safe
private final class PosixPattern {
    private var pattern = unsafe regex_t()

    init?(_ text: String) {
        guard unsafe regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB) == 0 else { return nil }
    }

    deinit { unsafe regfree(&pattern) }

    func isFound(in text: String) -> Bool { unsafe regexec(&pattern, text, 0, nil, 0) == 0 }
}

/// A generator of patterns that POSIX defines, and of texts that they are likely found in.
private enum ExtendedPatternGenerator {
    static func pattern(_ random: inout SplitMix64, depth: Int) -> String {
        (0..<Int.random(in: 1...(random.once(in: 3) ? 2 : 1), using: &random)).map { _ in branch(&random, depth: depth)
        }
        .joined(separator: "|")
    }

    private static func branch(_ random: inout SplitMix64, depth: Int) -> String {
        var text = depth == 3 && random.once(in: 4) ? "^" : ""
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            text += atom(&random, depth: depth)
            guard random.once(in: 3) else { continue }
            text += random.pick(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{2,3}"])
        }
        return text + (depth == 3 && random.once(in: 4) ? "$" : "")
    }

    private static func atom(_ random: inout SplitMix64, depth: Int) -> String {
        switch Int.random(in: 0..<10, using: &random) {
        case 0 where depth > 0: "(" + pattern(&random, depth: depth - 1) + ")"
        case 1: "."
        case 2:
            random.pick([
                "[ab]", "[^a]", "[a-c]", "[]/]", "[^]b]", "[.-]", "[[:alpha:]]", "[^[:digit:]/]", "[\\.]", "[b-]",
            ])
        case 3: random.pick(["\\.", "\\/", "\\*", "\\-", "\\[", "\\(", "\\\\", "\\:"])
        default: random.pick(["a", "b", "c", "/", "1", "-", "}"])
        }
    }

    static func text(_ random: inout SplitMix64) -> String {
        let letters = ["a", "b", "c", "/", "1", "-", ".", "}", "\\", "*", "]", "\n"]
        return (0..<Int.random(in: 0...12, using: &random)).map { _ in random.pick(letters) }.joined()
    }
}
