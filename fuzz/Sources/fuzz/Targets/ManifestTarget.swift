// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Manifests

extension Target {
    /// Manifests of all formats for players whose URL is another one, and with options: no grant goes to another host by a browser's
    /// reading of URLs, and a second rewriting for the URL that is written changes nothing.
    ///
    /// First byte: the format, the place of the grant, the source, and the options.
    static let manifest = Target(name: "manifest") { input in
        var input = input
        let choice = input.choice()
        let manifest = input.bytes
        let format = ManifestFormat.allCases[Int(choice & 3)]
        guard manifest.firstRange(of: Array(longGrant.utf8)) == nil, let rules = rulesOfManifest(choice, isMoved: true),
            let output = try? format.rewrite(manifest.span, rules: rules)
        else { return }
        let written = String(decoding: output, as: UTF8.self)
        // Other formats have no variables.
        let text = format == .hls ? written.replacing("{$playgate}", with: longGrant) : written
        for reference in references(of: text, format) where reference.contains(longGrant) {
            demand(
                BrowserURL(String(reference)).isProtected("cdn.example"),
                or: "the grant goes elsewhere: \(reference)"
            )
        }
        // What is written is for the player's URL, and so is the next rewriting.
        guard choice & 128 == 0, let direct = rulesOfManifest(choice, isMoved: false),
            format == .hls || format == .thumbnails
        else {
            return
        }
        do throws(ManifestFault) {
            let again = try format.rewrite(output.span, rules: direct)
            demand(again == output, or: "another output when rewritten again: \(output.debugText)")
        } catch {
            // The grants make it longer.
            demand(error.code == .tooLarge, or: "refused when rewritten again: \(error)")
        }
    }

    /// Returns what may be references: whole lines of a playlist, values of its tags, and what stands between delimiters elsewhere.
    private static func references(of text: String, _ format: ManifestFormat) -> [Substring] {
        let lines = text.split(whereSeparator: \.isNewline)
        return switch format {
        case .hls: lines.flatMap { $0.hasPrefix("#") ? $0.split(separator: "\"") : [$0] }
        case .thumbnails: lines
        case .steering: text.split(separator: "\"")
        case .dash: text.split { "\"'<>\n\r \t".unicodeScalars.contains($0.unicodeScalars.first ?? " ") }
        }
    }

    /// As long as the shortest grant.
    private static let longGrant = String(repeating: "FUZZGRANT", count: 8)

    private static func rulesOfManifest(_ choice: UInt8, isMoved: Bool) -> ManifestRules? {
        let sources = [
            nil, "https://cdn.example/watch/s/42/x?sid=9", "https://ads.example/s/42/x", "http://cdn.example/s/x",
        ]
        var options: ManifestRules.Options = []
        if choice & 32 != 0 { options.insert(.definingGrant) }
        if choice & 64 != 0 { options.insert(.sparingKeys) }
        var limits = ManifestLimits()
        (limits.size, limits.lines, limits.references, limits.lineLength) = (20_000, 200, 100, 1000)
        return try? ManifestRules(
            url: "https://cdn.example/watch/live/tnt/index",
            source: isMoved ? sources[Int(choice >> 3 & 3)] : nil,
            publicPath: isMoved && choice & 128 != 0 ? "/watch" : "/",
            grant: longGrant,
            options: options,
            mode: choice & 4 == 0 ? .segment() : .query(),
            limits: limits
        )
    }
}
