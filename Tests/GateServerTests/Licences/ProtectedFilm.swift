// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Synchronization
import Testing

/// A film that Shaka Packager has encrypted (ISO/IEC 23001-7, `cenc`), in DASH: two periods with a key each. With it, the licence
/// server of its keys, which speaks Clear Key (W3C Encrypted Media Extensions, section 9.1).
final class ProtectedFilm: Sendable {
    static let folder = "/film/tnt/"
    static let start = folder + "manifest.mpd"
    /// The MPD of the film while it is live: the second key comes in its course.
    static let live = folder + "live.mpd"
    static let licence = folder + "licence"
    /// The duration of a period in seconds, each with as many segments.
    static let secondsOfPeriod = 7

    private struct Period {
        let id: String
        let key: String
        /// The `AdaptationSet` of its MPD.
        let content: String
    }

    private let periods: [Period]
    private let segments: [String: [UInt8]]
    /// The ids of keys for which a licence was issued, in this order.
    private let issued = Mutex<[String]>([])
    /// The time at which a live film began, before its first request; `nil` before it.
    private let liveSince = Mutex<Date?>(nil)

    var licences: [String] { issued.withLock { $0 } }

    init() throws {
        let folder = try TemporaryFolder()
        let ffmpeg = try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
        let packager = try #require(
            ManifestStream.packagerProgram,
            "Shaka Packager is not installed: run scripts/setup test"
        )
        var (periods, segments): ([Period], [String: [UInt8]]) = ([], [:])
        for number in 1...2 {
            let source = folder.file("source\(number).mp4")
            let picture = ["-f", "lavfi", "-i", "testsrc=size=64x36:rate=25", "-t", "\(Self.secondsOfPeriod)"]
            let coding = [
                "-c:v", "libx264", "-profile:v", "baseline", "-level", "3.0", "-pix_fmt", "yuv420p", "-g", "25",
            ]
            let made = try CommandRun(
                ffmpeg,
                arguments: ["-nostdin", "-v", "error"] + picture + ["-threads", "1"] + coding + [source]
            )
            try #require(made.status == 0, "\(made.error)")
            let random = { (0..<16).map { _ in UInt8.random(in: 0...255) } }
            let (id, key) = (random(), random())
            let manifest = folder.file("\(number).mpd")
            let names =
                "init_segment=\(folder.file("init\(number).mp4")),segment_template=\(folder.file("seg\(number)-$Number$.m4s"))"
            let run = try CommandRun(
                packager,
                arguments: [
                    "in=\(source),stream=video,\(names)", "--enable_raw_key_encryption", "--keys",
                    "label=:key_id=\(id.hexadecimal):key=\(key.hexadecimal)", "--protection_scheme", "cenc",
                    "--protection_systems", "CommonSystem", "--clear_lead", "0", "--segment_duration", "1",
                    "--generate_static_live_mpd", "--mpd_output", manifest,
                ]
            )
            try #require(run.status == 0, "\(run.error)")
            let text = try String(contentsOfFile: manifest, encoding: .utf8)
            let begin = try #require(text.range(of: "<AdaptationSet")).lowerBound
            let end = try #require(text.range(of: "</AdaptationSet>")).upperBound
            periods.append(
                Period(
                    id: Base64.encodeURLSafe(id),
                    key: Base64.encodeURLSafe(key),
                    content: String(text[begin..<end])
                )
            )
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasSuffix(".mpd") {
            if !name.hasPrefix("source") { segments[Self.folder + name] = try folder.bytes(name) }
        }
        (self.periods, self.segments) = (periods, segments)
    }

    /// Returns the answer of a licence server; `nil` to a request that it does not understand.
    private func licence(for body: String) -> [UInt8]? {
        struct Request: Decodable { let kids: [String] }
        guard let request = try? JSONDecoder().decode(Request.self, from: Data(body.utf8)) else { return nil }
        let known = periods.filter { request.kids.contains($0.id) }
        issued.withLock { $0 += known.map(\.id) }
        let keys = known.map { #"{"kty":"oct","kid":"\#($0.id)","k":"\#($0.key)"}"# }.joined(separator: ",")
        return [UInt8](#"{"keys":[\#(keys)],"type":"temporary"}"#.utf8)
    }

    /// The MPD with the address of the licence server: the whole film, or as much of it as was live until now.
    private func manifest(at edge: String, isLive: Bool) -> [UInt8] {
        let whole = 2 * Self.secondsOfPeriod
        // A live film has its first seconds when the first player comes.
        let start = liveSince.withLock { start in
            if start == nil { start = Date(timeIntervalSinceNow: -4) }
            return start ?? Date()
        }
        let last = isLive ? min(Int(Date().timeIntervalSince(start)), whole) : whole
        let laurl = """
            <ContentProtection schemeIdUri="urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e" value="ClearKey1.0">\
            <dashif:Laurl>http://\(edge)\(Self.licence)</dashif:Laurl></ContentProtection>
            """
        let parts = periods.enumerated().compactMap { index, period -> String? in
            let start = index * Self.secondsOfPeriod
            let count = min(last - start, Self.secondsOfPeriod)
            guard count > 0 else { return nil }
            let content = period.content.replacing("<Representation", with: laurl + "<Representation")
                .replacing("r=\"\(Self.secondsOfPeriod - 1)\"", with: "r=\"\(count - 1)\"")
            return "<Period id=\"\(index)\" start=\"PT\(start)S\">\(content)</Period>"
        }
        let kind =
            isLive
            ? "type=\"dynamic\" availabilityStartTime=\"\(start.ISO8601Format())\" minimumUpdatePeriod=\"PT1S\" "
                + "suggestedPresentationDelay=\"PT3S\" publishTime=\"\(Date().ISO8601Format())\""
            : "type=\"static\" mediaPresentationDuration=\"PT\(whole)S\""
        let names =
            "xmlns=\"urn:mpeg:dash:schema:mpd:2011\" xmlns:cenc=\"urn:mpeg:cenc:2013\" xmlns:dashif=\"https://dashif.org/\""
        let text =
            "<MPD \(names) profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" minBufferTime=\"PT1S\" \(kind)>"
            + parts.joined() + "</MPD>"
        return [UInt8](text.utf8)
    }

    /// Serves the film, its licences, and the pages of a browser at the origin of an edge.
    ///
    /// - Parameters:
    ///   - onRequest: Called with each path, before the answer.
    func serve(
        by proxy: RunningEdge,
        to browser: FilmBrowser,
        onRequest: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let (files, edge) = (browser.files(with: segments), proxy.address)
        proxy.origin.serve(onRequest: onRequest) { [self] path in
            let isLive = path.hasPrefix(Self.live)
            return isLive || path.hasPrefix(Self.start) ? manifest(at: edge, isLive: isLive) : files[path]
        }
        proxy.origin.servePosts { [self] path, body in
            onRequest(path)
            return path == Self.licence ? licence(for: body) : nil
        }
    }
}
