// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Manifests
import Testing

@Suite("Properties of rewritten playlists") struct HLSPropertyTests {
    /// Pieces of references, of which most are valid.
    static let pieces = [
        "a", "seg", "1", ".ts", "/", "/", "//", "..", ".", "../", "%20", "%2e", "?", "x=1", "&",
        "cat=\(ReferenceTests.old)", "cat=5", "#f",
        "~cat=OLD",
        "https://cdn.example", "https://ads.example", "http:", "//cdn.example", ":443", ":", "@", "\\", " ", "\u{E9}",
        "{$v}",
        "~", ";", "%", "skd:", "HTTPS://CDN.EXAMPLE",
    ]

    static func reference(_ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 1...6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    @Test(
        "The short way for plain references gives what the writer gives",
        arguments: [ManifestRules.Mode.segment(), .query()]
    )
    func shortWay(mode: ManifestRules.Mode) throws {
        var random = SplitMix64(seed: 17)
        let rules = try rules(mode, query: "?q=1")
        var written = 0
        // One rewriter for all, which learns from each.
        for _ in 0..<4_000 {
            let references = (0..<4).map { _ in Self.reference(&random) }.filter { !$0.isEmpty && !$0.contains("{$") }
            for reference in references where reference.first != "#" {
                let playlist = "#EXTM3U\nhttps://cdn.example/x\n\(reference)"
                let output = try? HLSRewriter.rewrite(playlist.utf8.span, rules: rules)
                var writer = ReferenceWriter(rules)
                var expected: [UInt8] = []
                let isBlank = reference.allSatisfy { $0 == " " }
                // With a blank before it, it may be a comment.
                if reference.drop(while: { $0 == " " }).first == "#" { continue }
                let outcome =
                    isBlank ? .unchanged : try? writer.write(reference.utf8.span, against: rules.base, to: &expected)
                if outcome == .unchanged { expected = [UInt8](reference.utf8) }
                if outcome == .written { written += 1 }
                #expect((output == nil) == (outcome == nil), "\(reference)")
                guard let output, outcome != nil else { continue }
                let line = output.split(separator: 0x0A, omittingEmptySubsequences: false).last ?? []
                #expect(line.elementsEqual(expected), "\(reference)")
            }
        }
        #expect(written > 1_000)
    }

    @Test("Pieces of any size give the same output, which rewriting does not change")
    func pieces() throws {
        for (name, playlist) in try PlaylistSample.all() {
            for mode in [ManifestRules.Mode.segment(), .query()] {
                let rules = try rules(mode, query: "?region=eu&cat=OLD")
                let whole = try rewritten(playlist, inPiecesOf: playlist.count, rules: rules)
                for size in [1, 2, 3, 7, 64] {
                    #expect(try rewritten(playlist, inPiecesOf: size, rules: rules) == whole, "\(name)")
                }
                #expect(try rewritten(whole, inPiecesOf: whole.count, rules: rules) == whole, "\(name)")
            }
        }
    }

    @Test("A cut or damaged playlist gives the same output or the same code in all pieces") func damage() throws {
        var random = SplitMix64(seed: 18)
        let rules = try rules(query: "?region=eu")
        let samples = try PlaylistSample.all()
        for _ in 0..<1_000 {
            guard var (_, playlist) = samples.randomElement(using: &random) else { return }
            for _ in 0..<Int.random(in: 1...3, using: &random) where !playlist.isEmpty {
                let index = Int.random(in: 0..<playlist.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: playlist.remove(at: index)
                case 1: playlist.insert(UInt8.random(in: 0...255, using: &random), at: index)
                case 2: playlist[index] = [0x0A, 0x0D, 0x22, 0x5C, 0x2F, 0x7B].randomElement(using: &random) ?? 0
                default: playlist.removeSubrange(index...)
                }
            }
            let whole = Result { try rewritten(playlist, inPiecesOf: max(1, playlist.count), rules: rules) }
            let byByte = Result { try rewritten(playlist, inPiecesOf: 1, rules: rules) }
            switch (whole, byByte) {
            case (.success(let left), .success(let right)): #expect(left == right)
            case (.failure(let left as ManifestFault), .failure(let right as ManifestFault)): #expect(left == right)
            default: Issue.record("one is refused, the other is not")
            }
        }
    }

    @Test("A rewriter of one long line keeps no more than the limit") func longLine() throws {
        var rewriter = HLSRewriter(rules: try rules())
        var output: [UInt8] = []
        try rewriter.append("#EXTM3U\n#".utf8.span, to: &output)
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1024)
        for _ in 0..<63 { try rewriter.append(piece.span, to: &output) }
        #expect(throws: ManifestFault.self) { for _ in 0..<2 { try rewriter.append(piece.span, to: &output) } }
    }
}
