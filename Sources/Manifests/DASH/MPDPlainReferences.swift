// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// What becomes of all relative references of a level that have nothing special in them: they share the bases, and so their
/// fate. Found out once, with one of them.
enum MPDPlainReferences {
    case unchanged
    /// A text is written behind each.
    case appended([UInt8])
    /// Each is to be looked at.
    case various

    init(
        _ contexts: [MPDContext],
        _ rules: ManifestRules,
        _ chooser: inout MPDReferenceChooser
    ) throws(ReferenceFault) {
        let probe = [UInt8]("a/b".utf8)
        switch try chooser.choose(probe, contexts, []) {
        case .unchanged: self = .unchanged
        case .replaced(let text) where text.starts(with: probe): self = .appended(Array(text.dropFirst(probe.count)))
        case .replaced, .impossible: self = .various
        }
    }
}

extension Range<Int> {
    /// Returns true if the bytes are a relative path whose resolution changes nothing in it, without query and fragment.
    func isPlainReference(in document: Span<UInt8>, _ mode: ManifestRules.Mode) -> Bool {
        var prefix: UInt8 = 0
        if case .segment(let name) = mode { prefix = name.utf8.first ?? 0 }
        var isFirst = true
        for place in self {
            let byte = document[place]
            switch byte {
            case UInt8(ascii: "/"):
                if isFirst { return false }
                isFirst = true
                continue
            case UInt8(ascii: "."), prefix: if isFirst { return false }
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="), UInt8(ascii: "~"), UInt8(ascii: ","): break
            default: guard byte.isASCIIAlphanumeric else { return false }
            }
            isFirst = false
        }
        return !isEmpty
    }
}
