// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A rewriter of a DASH media presentation description (MPD).
///
/// Every request of a player to a protected host carries the grant, and no other one does; all other bytes stay as they
/// are. If a segment carries the grant, relative references stay too, and the MPD gets a `BaseURL` with the grant if it has
/// none. Rewriting the output again changes nothing.
///
/// An MPD is held until its end, because a `BaseURL` below determines the meaning of a reference above it. The memory
/// is bounded by ``ManifestLimits/size``. Nothing is written before ``finish(to:)``.
///
/// Source: ISO/IEC 23009-1. Reads UTF-8 with or without a byte order mark; refuses document types, other entities than the
/// predefined and numeric ones, and MPD patches.
public struct MPDRewriter: ManifestRewriting, ~Copyable {
    private let rules: ManifestRules
    private var document: [UInt8] = []

    /// Creates a rewriter of one MPD.
    public init(rules: ManifestRules) { self.rules = rules }

    /// Stores the next bytes of the MPD.
    ///
    /// - Throws: ``ManifestFault`` with ``ManifestCode/tooLarge`` above ``ManifestLimits/size``.
    public mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault) {
        try document.append(bytes, within: rules.limits)
    }

    /// Rewrites the MPD.
    public mutating func finish(to output: inout [UInt8]) throws(ManifestFault) {
        let edits = try MPDEditor.edits(of: document, rules)
        let bytes = document.span
        output.reserveCapacity(output.count + document.count + edits.reduce(0) { $0 + $1.replacement.count })
        var position = 0
        for edit in edits {
            output.append(copying: bytes.extracting(position..<edit.range.lowerBound))
            output.append(copying: edit.replacement.span)
            position = edit.range.upperBound
        }
        output.append(copying: bytes.extracting(position...))
    }
}
