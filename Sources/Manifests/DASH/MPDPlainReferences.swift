// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The treatment of all relative references of a level that have nothing special in them: they share the bases, and so their
/// fate. Found out once, with one of them.
enum MPDPlainReferences {
    case unchanged
    /// A text is written behind each.
    case appended([UInt8])
    /// Each is to be looked at.
    case various

    init(
        in contexts: [MPDContext],
        rules: ManifestRules,
        chooser: inout MPDReferenceChooser
    ) throws(ReferenceFault) {
        let probe = [UInt8]("a/b".utf8)
        switch try chooser.choose(probe, in: contexts, under: []) {
        case .unchanged: self = .unchanged
        case .replaced(let text) where text.starts(with: probe): self = .appended(Array(text.dropFirst(probe.count)))
        case .replaced, .impossible: self = .various
        }
    }
}

extension Range<Int> {
    /// Returns true if the bytes are a relative path whose resolution changes nothing in it, without query and fragment.
    ///
    /// - Parameter isTemplate: True if identifiers of templates may be in it. Their values have no special characters
    ///   either.
    func isPlainReference(in document: Span<UInt8>, _ mode: ManifestRules.Mode, isTemplate: Bool) -> Bool {
        var prefix: UInt8 = 0
        if case .segment(let name) = mode { prefix = name.utf8.first ?? 0 }
        let bytes = document.extracting(self)
        var isFirst = true
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "/") {
                if isFirst { return false }
                isFirst = true
                continue
            }
            if isTemplate, byte == UInt8(ascii: "$") {
                guard let end = bytes.firstIndex(of: byte, from: position),
                    MPDTemplate.isKnown(bytes.extracting(position..<end))
                else { return false }
                position = end + 1
                isFirst = false
                continue
            }
            guard byte.isPlain, !isFirst || byte != UInt8(ascii: ".") && byte != prefix else { return false }
            isFirst = false
        }
        return !isEmpty
    }
}

extension Span<UInt8> {
    /// True if an `@id` can stand anywhere in a path without a meaning of its own.
    var isPlainIdentifier: Bool {
        for position in indices {
            let byte = self[position]
            guard byte.isPlain, byte != UInt8(ascii: "."), byte != UInt8(ascii: "~") else { return false }
        }
        return !isEmpty
    }
}

extension UInt8 {
    /// True for letters, digits and `- . _ = ~ ,`.
    fileprivate var isPlain: Bool {
        let (low, high): (UInt64, UInt64) = (0x23FF_7000_0000_0000, 0x47FF_FFFE_87FF_FFFE)
        return self < 128 && (self < 64 ? low : high) &>> UInt64(self) & 1 == 1
    }
}
