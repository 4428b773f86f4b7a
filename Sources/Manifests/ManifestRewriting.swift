// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A rewriter of one manifest, which is fed in pieces of any size.
///
/// The output has the bytes of the manifest, except for the references to protected hosts, which carry the grant. After
/// a fault the rewriter is used up, and its output must be discarded. The output is only a part of a manifest, and a
/// player might accept it as the whole. Code that passes output on before the end therefore aborts the transfer at a
/// fault.
public protocol ManifestRewriting: ~Copyable, Sendable {
    /// Creates a rewriter of one manifest.
    init(rules: ManifestRules)

    /// Rewrites the next bytes of the manifest.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes; a line or a tag may be in several pieces.
    ///   - output: The rewritten bytes are appended to it. A part of a line or of a tag is held until its end is known.
    mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) throws(ManifestFault)

    /// Rewrites the held bytes, and checks that the manifest is complete. To be called once, at the end.
    mutating func finish(to output: inout [UInt8]) throws(ManifestFault)
}

extension ManifestRewriting where Self: ~Copyable {
    /// Rewrites a manifest that is in memory as a whole.
    public static func rewrite(_ manifest: Span<UInt8>, rules: ManifestRules) throws(ManifestFault) -> [UInt8] {
        var rewriter = Self(rules: rules)
        var output: [UInt8] = []
        output.reserveCapacity(manifest.count * 2)
        try rewriter.append(manifest, to: &output)
        try rewriter.finish(to: &output)
        return output
    }
}

extension [UInt8] {
    /// Appends the next bytes of a manifest that is held until its end.
    mutating func append(_ bytes: Span<UInt8>, within limits: ManifestLimits) throws(ManifestFault) {
        guard bytes.count <= limits.size - count else {
            throw ManifestFault(.tooLarge, line: nil, reason: "more than \(limits.size) bytes")
        }
        append(copying: bytes)
    }
}
