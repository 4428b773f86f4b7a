// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CPlaybacks

/// A part of paths that names the rendition of a track, such as `/v*/`, in which `*` stands for any characters but `/`.
///
/// All renditions of a track count as one: two players whose bandwidths differ fetch the same segments of it.
package struct RenditionPattern: Sendable {
    /// The pattern as written.
    package let text: String
    fileprivate let rendition: playgate_rendition

    /// The maximum number of patterns: each is looked for in the path of each request, and an edge has room for as many.
    package static let maximumCount = 8

    /// Parses a pattern; `nil` if it does not have one `*`, characters before and after it, and at most 62 bytes.
    package init?(_ text: String) {
        var rendition = playgate_rendition()
        let isPattern = unsafe text.utf8.span.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                unsafe playgate_rendition_make(text.baseAddress, text.count, &rendition)
            }
        }
        guard isPattern == 1 else { return nil }
        (self.text, self.rendition) = (text, rendition)
    }
}

extension Segment {
    /// Reads a path whose renditions count as one track.
    package init?(path: Substring, renditions: [RenditionPattern]) {
        let patterns = renditions.map(\.rendition)
        var segment = playgate_segment()
        let isSegment = unsafe path.utf8.span.withUnsafeBytes { bytes in
            unsafe patterns.withUnsafeBufferPointer { patterns in
                unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                    unsafe playgate_segment_parse_rendition(
                        text.baseAddress,
                        text.count,
                        patterns.baseAddress,
                        patterns.count,
                        &segment
                    )
                }
            }
        }
        guard isSegment == 1 else { return nil }
        self.init(index: segment.index, track: segment.track)
    }
}
