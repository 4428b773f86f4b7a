// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A rewriter of an HLS playlist, multivariant or media.
///
/// Rewrites the lines that are references, and those attributes of tags: `URI` of all tags, `X-ASSET-URI` and `X-ASSET-LIST`
/// of `EXT-X-DATERANGE`, and `SERVER-URI` of `EXT-X-CONTENT-STEERING`. Variables in a reference that is rewritten are replaced
/// by their values. All other bytes stay as they are.
///
/// Source: RFC 8216 and its second edition (draft-pantos-hls-rfc8216bis).
public struct HLSRewriter: ManifestRewriting {
    let rules: ManifestRules
    var writer: ReferenceWriter
    /// The writer of references that players retain over reloads.
    var lastingWriter: ReferenceWriter
    var plain: PlainReferences
    var variables: PlaylistVariables
    /// True once the playlist has the variable with the grant.
    var isGrantDefined = false
    /// True if that variable must be defined before the first segment. Only then the playlist is known not to be a
    /// multivariant one. Every playlist that a multivariant one names may import its variables.
    var isDefinitionDue = false
    /// True if the playlist has a variable of its own by that name.
    var isNameTaken = false
    /// The number of complete lines, and of references.
    var (lines, references) = (0, 0)
    /// The ranges of the references in the attributes of a tag.
    var found: [Range<Int>] = []
    /// The beginning of a line whose end has not arrived.
    private var kept: [UInt8] = []
    private var size = 0
    private var text = PlaylistText()

    /// Creates a rewriter of one playlist.
    public init(rules: ManifestRules) {
        self.rules = rules
        writer = ReferenceWriter(rules)
        lastingWriter = ReferenceWriter(rules, writing: .lasting)
        plain = PlainReferences(rules, writing: rules.grant)
        variables = PlaylistVariables(rules)
    }

    /// Rewrites the next bytes of the playlist; lines are written once they are complete.
    public mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) {
        let allowed = min(bytes.count, rules.limits.size - size)
        size += allowed
        // The lines before a fault come first, so that the pieces do not change the answer.
        var checked = allowed
        var fault: ManifestFault?
        do throws(PlaylistText.Fault) {
            try text.check(bytes.extracting(..<allowed))
        } catch {
            checked = error.position
            fault = ManifestFault(error.code, line: 0, reason: error.reason)
        }
        try rewriteLines(bytes.extracting(..<checked), to: &output)
        if let fault { throw ManifestFault(fault.code, line: lines + 1, reason: fault.reason) }
        guard allowed == bytes.count else {
            throw ManifestFault(.tooLarge, line: lines + 1, reason: "more than \(rules.limits.size) bytes")
        }
    }

    /// Rewrites the last line if it has no end, and refuses an empty playlist.
    public mutating func finish(to output: inout [UInt8]) throws(ManifestFault) {
        guard text.isComplete else {
            throw ManifestFault(
                .malformed,
                line: lines + 1,
                reason: "the playlist ends within a character or the end of a line"
            )
        }
        if !kept.isEmpty { try rewriteKept(to: &output, isEnded: false) }
        guard lines > 0 else { throw ManifestFault(.malformed, line: 1, reason: "the playlist is empty") }
    }

    private mutating func rewriteLines(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) {
        var start = 0
        if !kept.isEmpty {
            guard let end = bytes.firstIndex(of: 0x0A, from: 0) else { return try hold(bytes) }
            try hold(bytes.extracting(...end))
            try rewriteKept(to: &output, isEnded: true)
            start = end + 1
        }
        let rest = bytes.extracting(start...)
        let end = try rewrite(rest, to: &output)
        try hold(rest.extracting(end...))
    }

    private mutating func hold(_ bytes: Span<UInt8>) throws(ManifestFault) {
        kept.append(copying: bytes)
        // The end of a line has up to two bytes.
        guard kept.count <= rules.limits.lineLength + 2 else { throw tooLong }
    }

    private mutating func rewriteKept(to output: inout [UInt8], isEnded: Bool) throws(ManifestFault) {
        var line: [UInt8] = []
        swap(&line, &kept)
        if isEnded {
            _ = try rewrite(line.span, to: &output)
        } else {
            var copied = 0
            try rewriteLine(in: line.span, at: 0..<line.count, copied: &copied, to: &output)
            output.append(copying: line.span.extracting(copied...))
        }
        line.removeAll(keepingCapacity: true)
        swap(&line, &kept)
    }

    /// Rewrites the lines that have an end, and returns the position behind them.
    private mutating func rewrite(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) -> Int {
        var (start, copied) = (0, 0)
        while let feed = bytes.firstIndex(of: 0x0A, from: start) {
            let end = feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
            try rewriteLine(in: bytes, at: start..<end, copied: &copied, to: &output)
            start = feed + 1
        }
        output.append(copying: bytes.extracting(copied..<start))
        return start
    }

    var tooLong: ManifestFault {
        ManifestFault(.tooLarge, line: lines + 1, reason: "a line has more than \(rules.limits.lineLength) bytes")
    }
}
