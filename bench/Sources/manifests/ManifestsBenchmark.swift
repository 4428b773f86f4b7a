// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Manifests

/// Measures the rewriting of manifests against what any rewriter has to do: to look for the ends of the lines, and to copy
/// the bytes of the output. Both rows are measured in turn, so that a slow moment of the machine affects both.
///
/// An MPD is measured against libxml2's push parser with its default handlers.
///
/// Usage: `manifests [ROUNDS] [NAME...]`: 41 rounds by default, of rows with one of the names. `manifests --gate` measures no
/// times, and fails if a playlist of 100 MB takes memory. `manifests --work COUNT NAME tree|bare|rewrite` does one row of a playlist
/// or an MPD, for a counter of instructions.
@main
struct ManifestsBenchmark {
    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "--work" { return try work(Array(words.dropFirst())) }
        let rounds = words.first.flatMap { Int($0) } ?? 41
        let isWanted = { (name: String) in
            let names = words.filter { Int($0) == nil && !$0.hasPrefix("--") }
            return names.isEmpty || names.contains { name.contains($0) }
        }
        let isGate = words.contains("--gate")
        if isGate || isWanted("memory") {
            let growth = try memory()
            if isGate { exit(growth <= maximumGrowth ? 0 : 1) }
        }
        for playlist in Playlist.all where isWanted(playlist.name) { try measure(playlist, rounds: rounds) }
        for mpd in MPDSample.all where isWanted(mpd.name) { try mpd.measure(rounds) }
    }

    private static func work(_ words: [String]) throws {
        guard words.count == 3, let count = Int(words[0]) else {
            fatalError("--work requires a count, the name of a playlist or an MPD, and a row")
        }
        if let playlist = Playlist.all.first(where: { $0.name == words[1] }) {
            let rules = try playlist.rules()
            var output: [UInt8] = []
            for _ in 0..<count { try rewrite(playlist, rules: rules, to: &output) }
        } else if let mpd = MPDSample.all.first(where: { $0.name == words[1] }) {
            try mpd.work(count, row: words[2])
        } else {
            fatalError("no playlist and no MPD has the name \(words[1])")
        }
    }

    /// The largest piece in which a manifest arrives, in bytes.
    static let piece = 64 * 1024
    /// The most bytes by which the peak memory may grow.
    static let maximumGrowth = 4 << 20

    static func measure(_ playlist: Playlist, rounds: Int) throws {
        let rules = try playlist.rules()
        let expected = try HLSRewriter.rewrite(playlist.bytes.span, rules: rules)
        var output: [UInt8] = []
        output.reserveCapacity(expected.count)
        var (rewriting, copying): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            copying.append(time { copy(playlist, expected: expected, to: &output) })
            guard output.count == expected.count else { fatalError("the copy is not of the same size") }
            try rewriting.append(time { try rewrite(playlist, rules: rules, to: &output) })
            guard output == expected else { fatalError("the output depends on the pieces") }
        }
        let ratio = zip(rewriting, copying).map { $0 / $1 }.median
        // Of the fastest round: the other load of the machine is no property of the code.
        let fastest = rewriting.min() ?? rewriting.median
        let rate = Double(playlist.bytes.count) / fastest / 1e6
        print(
            """
            \(playlist.name): \(playlist.bytes.count) bytes to \(expected.count); \(rounds) rounds
              memchr and memcpy  \(Int(copying.median * 1e6)) µs
              HLSRewriter        \(Int(rewriting.median * 1e6)) µs, \(Int(rate)) MB/s in, \
            \(Int(Double(expected.count) / fastest / 1e6)) MB/s out, ratio \(ratio.text)
            """
        )
    }

    /// Rewrites a playlist in pieces, as it arrives from an origin.
    static func rewrite(_ playlist: Playlist, rules: ManifestRules, to output: inout [UInt8]) throws {
        output.removeAll(keepingCapacity: true)
        var rewriter = HLSRewriter(rules: rules)
        let bytes = playlist.bytes.span
        for start in stride(from: 0, to: bytes.count, by: piece) {
            try rewriter.append(bytes.extracting(start..<min(start + piece, bytes.count)), to: &output)
        }
        try rewriter.finish(to: &output)
    }

    /// Looks for the end of each line, and copies as many bytes as the output has, in as many pieces.
    static func copy(_ playlist: Playlist, expected: [UInt8], to output: inout [UInt8]) {
        output.removeAll(keepingCapacity: true)
        playlist.bytes.withUnsafeBytes { input in
            expected.withUnsafeBytes { expected in
                guard let base = input.baseAddress else { return }
                var (start, copied) = (0, 0)
                // The output of a line is as long as the line, or longer by the grant.
                while start < input.count, let end = memchr(base + start, 10, input.count - start) {
                    let next = UnsafeRawPointer(end) - base + 1
                    var count = next - start
                    if input[start] != UInt8(ascii: "#") { count += playlist.growth }
                    output.append(contentsOf: UnsafeRawBufferPointer(rebasing: expected[copied..<copied + count]))
                    copied += count
                    start = next
                }
            }
        }
    }

    /// Rewrites a playlist of 100 MB. Returns the bytes by which the peak memory grew.
    static func memory() throws -> Int {
        let playlist = Playlist(name: "media playlist", segments: 10_000)
        var limits = ManifestLimits()
        (limits.size, limits.lines, limits.references) = (.max, .max, .max)
        var rewriter = HLSRewriter(rules: try playlist.rules(limits))
        let bytes = playlist.bytes.span
        var output: [UInt8] = []
        var (read, written, before) = (0, 0, 0)
        var start = 0
        while read < 100_000_000 {
            let end = min(start + piece, bytes.count)
            try rewriter.append(bytes.extracting(start..<end), to: &output)
            read += end - start
            written += output.count
            output.removeAll(keepingCapacity: true)
            // The playlist again, without its first line.
            start = end == bytes.count ? playlist.firstLine : end
            if before == 0, read > 1_000_000 { before = peakMemory() }
        }
        try rewriter.finish(to: &output)
        let growth = peakMemory() - before
        print(
            "\(read) bytes to \(written): peak memory grew by \(growth) bytes to \(peakMemory()) after the first megabyte"
        )
        return growth
    }

    /// The largest amount of memory that this process had, in bytes.
    static func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
    }

    static func time(_ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let taken = try clock.measure(body).components
        return Double(taken.seconds) + Double(taken.attoseconds) / 1e18
    }
}

/// A playlist for the measurements.
struct Playlist {
    let name: String
    let bytes: [UInt8]
    /// The size of the first line with its end.
    let firstLine = 8
    /// The bytes by which each reference grows.
    let growth: Int
    private let mode: ManifestRules.Mode

    /// A grant of the size that the gate issues.
    static let grant = String(repeating: "2D3RhE_-", count: 44)
    static let url = "https://cdn.example/live/tnt/1080p/index.m3u8"

    static let all = [
        Playlist(name: "media playlist", segments: 10_000),
        Playlist(name: "media playlist with dates", segments: 10_000, dates: true),
        Playlist(
            name: "media playlist of absolute references",
            segments: 10_000,
            host: "https://cdn.example/live/tnt/1080p/"
        ),
        Playlist(name: "media playlist, grants in queries", segments: 10_000, mode: .query()),
    ]

    init(name: String, segments: Int, dates: Bool = false, host: String = "", mode: ManifestRules.Mode = .segment()) {
        var text = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n"
        for number in 0..<segments {
            let digits = String(number + 1_000_000).dropFirst()
            if dates { text += "#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:\(number % 60 + 10):\(digits.suffix(2)).006Z\n" }
            text += "#EXTINF:6.006,\n\(host)segment-\(digits).m4s\n"
        }
        self.name = name
        bytes = [UInt8](text.utf8)
        self.mode = mode
        switch mode {
        case .query: growth = "?cat=".utf8.count + Self.grant.utf8.count
        case .segment:
            growth = "/~cat=".utf8.count + Self.grant.utf8.count + (host.isEmpty ? "/live/tnt/1080p/".utf8.count : 0)
        }
    }

    func rules(_ limits: ManifestLimits = ManifestLimits()) throws -> ManifestRules {
        try ManifestRules(url: Self.url, grant: Self.grant, mode: mode, limits: limits)
    }
}

extension Double {
    /// The number with two decimal places.
    var text: String { String(format: "%.2f", self) }
}

extension [Double] {
    var median: Double { sorted()[count / 2] }
}
