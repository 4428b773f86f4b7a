// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Manifests

/// An MPD for the measurements.
struct MPDSample {
    let name: String
    let bytes: [UInt8]
    let mode: ManifestRules.Mode

    static var all: [MPDSample] {
        [
            MPDSample(name: "MPD with lists, grants in queries", bytes: lists, mode: .query()),
            MPDSample(name: "MPD with lists, grants in segments", bytes: lists, mode: .segment()),
            MPDSample(name: "MPD with timelines", bytes: timelines, mode: .query()),
            MPDSample(name: "MPD with templates, small", bytes: templates, mode: .query()),
        ]
    }

    private static func mpd(_ adaptationSets: String) -> [UInt8] {
        let start =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" "
        let head =
            start + "profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" minBufferTime=\"PT2S\">\n  <Period id=\"1\">\n"
        return [UInt8]((head + adaptationSets + "  </Period>\n</MPD>\n").utf8)
    }

    private static func representation(id: Int, content: String = "") -> String {
        "      <Representation id=\"v\(id)\" mimeType=\"video/mp4\" codecs=\"avc1.64001f\" width=\"1280\" height=\"720\" "
            + "bandwidth=\"\(id)00000\">\n\(content)      </Representation>\n"
    }

    /// 10,000 segments, each with an element.
    private static let lists: [UInt8] = {
        let sets = (1...5).map { id in
            let urls = (0..<2000).map { number in
                "          <SegmentURL media=\"video/1080p/segment-\(1_000_000 + number).m4s\" mediaRange=\"0-\(number)99\"/>\n"
            }
            let list = "        <SegmentList duration=\"4\">\n" + urls.joined() + "        </SegmentList>\n"
            return representation(id: id, content: list)
        }
        return mpd("    <AdaptationSet>\n\(sets.joined())    </AdaptationSet>\n")
    }()

    /// 10,000 entries of timelines.
    private static let timelines: [UInt8] = {
        let sets = (1...5).map { id in
            let entries = (0..<2000).map { "            <S t=\"\($0 * 360_360)\" d=\"360360\" r=\"0\"/>\n" }.joined()
            let template =
                "      <SegmentTemplate timescale=\"90000\" media=\"$RepresentationID$/$Time$.m4s\" "
                + "initialization=\"$RepresentationID$/i.mp4\">\n        <SegmentTimeline>\n\(entries)        </SegmentTimeline>\n"
                + "      </SegmentTemplate>\n"
            return "    <AdaptationSet>\n" + template + representation(id: id) + "    </AdaptationSet>\n"
        }
        return mpd(sets.joined())
    }()

    /// An MPD as it is for video on demand.
    private static let templates: [UInt8] = {
        let representations = (1...8).map { representation(id: $0) }.joined()
        let template =
            "      <SegmentTemplate duration=\"4\" media=\"$RepresentationID$/$Number%05d$.m4s\" initialization=\"$RepresentationID$/i.mp4\"/>\n"
        return mpd("    <AdaptationSet>\n" + template + representations + "    </AdaptationSet>\n")
    }()

    /// A way to parse, to compare with.
    private typealias Parse = (UnsafePointer<CChar>?, Int, Int) -> Int32

    func measure(_ rounds: Int) throws {
        let rules = try rules()
        let expected = try MPDRewriter.rewrite(bytes.span, rules: rules)
        var (rewriting, trees, bare): ([Double], [Double], [Double]) = ([], [], [])
        var output: [UInt8] = []
        for _ in 0..<rounds {
            trees.append(time { parse(limits_xml_push) })
            try rewriting.append(time { try rewrite(rules, to: &output) })
            guard output == expected else { fatalError("the output depends on the pieces") }
            bare.append(time { parse(limits_xml_push_bare) })
        }
        let ratio = Self.ratio(of: rewriting, to: trees)
        print(
            """
            \(name): \(bytes.count) bytes to \(expected.count); \(rounds) rounds
              libxml2's push parser, default handlers (a tree)  \(Self.microseconds(trees)) µs
              libxml2's push parser, no handlers                \(Self.microseconds(bare)) µs
              MPDRewriter                                       \(Self.microseconds(rewriting)) µs, \
            ratio \(ratio.text) to the tree, \(Self.ratio(of: rewriting, to: bare).text) to no handlers
            """
        )
    }

    /// Does one of the measured rows `count` times, for a counter of instructions.
    func work(_ count: Int, row: String) throws {
        let rules = try rules()
        var output: [UInt8] = []
        for _ in 0..<count {
            switch row {
            case "tree": parse(limits_xml_push)
            case "bare": parse(limits_xml_push_bare)
            default: try rewrite(rules, to: &output)
            }
        }
    }

    /// The seconds of one of as many repetitions as the clock requires.
    private func time(_ body: () throws -> Void) rethrows -> Double {
        let repeats = max(1, 500_000 / bytes.count)
        return try ManifestsBenchmark.time { for _ in 0..<repeats { try body() } } / Double(repeats)
    }

    /// The median of the ratios of each round, whose parts are measured one after the other.
    private static func ratio(of times: [Double], to others: [Double]) -> Double {
        zip(times, others).map { $0 / $1 }.median
    }

    private static func microseconds(_ times: [Double]) -> Int { Int(times.median * 1e6) }

    private func rules() throws -> ManifestRules {
        try ManifestRules(url: "https://cdn.example/live/tnt/main.mpd", grant: Playlist.grant, mode: mode)
    }

    private func parse(_ parse: Parse) {
        let isWellFormed = bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            return parse(start, bytes.count, ManifestsBenchmark.piece) == 1
        }
        guard isWellFormed else { fatalError("the MPD is not well-formed") }
    }

    private func rewrite(_ rules: ManifestRules, to output: inout [UInt8]) throws {
        output.removeAll(keepingCapacity: true)
        var rewriter = MPDRewriter(rules: rules)
        let bytes = bytes.span
        for start in stride(from: 0, to: bytes.count, by: ManifestsBenchmark.piece) {
            let piece = bytes.extracting(start..<min(start + ManifestsBenchmark.piece, bytes.count))
            try rewriter.append(piece, to: &output)
        }
        try rewriter.finish(to: &output)
    }
}
