// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A rewriter of the WebVTT files with which players find thumbnails: each cue names a part of an image, `sprite.jpg#xywh=0,0,160,90`.
///
/// Rewrites the lines that are such a reference. Subtitles and all other lines stay as they are.
///
/// Source: WebVTT: The Web Video Text Tracks Format §4; Media Fragments URI 1.0 §4.2.2.
public struct ThumbnailRewriter: ManifestRewriting {
    private let rules: ManifestRules
    private let writer: ReferenceWriter
    private var document: [UInt8] = []

    /// Creates a rewriter of one file. Its references get the lasting grant of the rules: players read it once.
    public init(rules: ManifestRules) {
        self.rules = rules
        writer = ReferenceWriter(rules, writing: .lasting)
    }

    /// Stores the next bytes of the file.
    ///
    /// - Throws: ``ManifestFault`` with ``ManifestCode/tooLarge`` above ``ManifestLimits/size``.
    public mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) {
        try document.append(bytes, within: rules.limits)
    }

    /// Rewrites the file.
    public mutating func finish(to output: inout [UInt8]) throws(ManifestFault) {
        let bytes = document.span
        var writer = writer
        guard ManifestFormat(detecting: bytes) == .thumbnails else {
            throw ManifestFault(.malformed, line: 1, reason: "the first line is not WEBVTT")
        }
        var (start, line, references) = (0, 0, 0)
        // Cues end at an empty line; notes and styles have no times.
        var isInCue = false
        while start < bytes.count {
            let feed = bytes.firstIndex(of: 0x0A, from: start) ?? bytes.count
            let end = feed > start && bytes[feed - 1] == 0x0D ? feed - 1 : feed
            let next = min(feed + 1, bytes.count)
            let text = bytes.extracting(start..<end)
            if text.isEmpty { isInCue = false }
            let isPayload = isInCue
            isInCue = isInCue || text.firstPosition(of: "-->".utf8.span) != nil
            line += 1
            guard line <= rules.limits.lines else {
                throw ManifestFault(.tooLarge, line: line, reason: "too many lines")
            }
            if isPayload, text.isThumbnail {
                references += 1
                guard text.count <= rules.limits.lineLength, references <= rules.limits.references else {
                    throw ManifestFault(.tooLarge, line: line, reason: "a reference is too long, or there are too many")
                }
                do throws(ReferenceFault) {
                    let outcome = try writer.write(text, against: rules.base, traits: rules.traits, to: &output)
                    output.append(copying: bytes.extracting((outcome == .unchanged ? start : end)..<next))
                } catch {
                    throw ManifestFault(error, line: line)
                }
            } else {
                output.append(copying: bytes.extracting(start..<next))
            }
            start = next
        }
    }
}

extension Span<UInt8> {
    /// True for a reference to a part of an image, with only blanks at its ends: others are the text of a subtitle.
    fileprivate var isThumbnail: Bool {
        var (start, end) = (0, count)
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        let text = extracting(start..<end)
        guard let mark = text.firstPosition(of: "#xywh=".utf8.span) else { return false }
        return mark > 0 && text.firstIndex(of: 0x20, from: 0) == nil
    }
}
