// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The references that carry the grant after one insertion, and need no more than a look at each of their bytes.
///
/// Such a reference has no percent-encoding, no dot segment, no old grant and no variable. It is relative, or begins
/// with an authority that was found protected before. All others are left to ``ReferenceWriter``, with the same result.
struct PlainReferences {
    /// A position in a line, and the insertion at it.
    struct Insertion {
        let position: Int
        /// True for the grant and the folder of the playlist, false for only the grant.
        let isFolder: Bool
    }

    /// `/PREFIX`, the grant and the playlist's folder; unused in a query.
    let folder: [UInt8]
    /// `/PREFIX` and the grant, or `?`, the name of the parameter, `=` and the grant.
    let grant: [UInt8]
    private let isSegment: Bool
    /// False if relative references do not carry the grant.
    private let isRelativeKnown: Bool
    /// False if other paths than relative ones are left to the writer.
    private let isAbsoluteKnown: Bool
    /// The scheme and authority of the last absolute reference that carried the grant.
    private var origin: [UInt8] = []
    /// The class of each byte, as a bit; 0 for bytes that are plain anywhere. Not inline, because it would be copied for each
    /// reference.
    private let classes: [UInt8]

    private enum Class {
        static let other: UInt8 = 1
        static let query: UInt8 = 2
        static let slash: UInt8 = 4
        /// A character that may not be the first of a segment: a dot, or the first of an old grant.
        static let beginning: UInt8 = 8
    }

    /// - Parameter text: The grant, or the variable that has it.
    init(_ rules: ManifestRules, writing text: String) {
        var classes = [UInt8](repeating: Class.other, count: 256)
        for byte in UInt8(0x21)...0x7E where byte.isUnreserved || "!$&'()*+,;=@".utf8.contains(byte) {
            classes[Int(byte)] = 0
        }
        classes[Int(UInt8(ascii: "."))] = Class.beginning
        classes[Int(UInt8(ascii: "/"))] = Class.slash
        isAbsoluteKnown = rules.isDirect
        switch rules.mode {
        case .segment(let prefix):
            grant = [UInt8]("/\(prefix)\(text)".utf8)
            isSegment = true
            isRelativeKnown = rules.base.isProtected
            classes[Int(UInt8(ascii: "?"))] = Class.query
            if let first = prefix.utf8.first { classes[Int(first)] = Class.beginning }
            var folder = rules.base.hasSameSite(as: rules.requested) ? [] : rules.base.origin
            folder += rules.base.root + grant
            // The path was resolved before. If its folder cannot be cut, relative references are left to the writer.
            let path = rules.base.folderBelowRoot
            let isCut = (try? ResolvedPath.append(path, in: path, without: prefix, to: &folder)) != nil
            self.folder = isCut ? folder : []
        case .query(let name):
            grant = [UInt8]("?\(name)=\(text)".utf8)
            isSegment = false
            // Whatever is resolved is left to the writer.
            isRelativeKnown = rules.base.isProtected && rules.isDirect
            folder = []
        }
        self.classes = classes
    }

    /// Returns the insertion that makes a reference carry the grant; `nil` if it is not plain.
    func insertion(in bytes: Span<UInt8>, _ range: Range<Int>) -> Insertion? {
        var start = range.lowerBound
        var isFolder = false
        let isAbsolute = !origin.isEmpty && bytes.extracting(range).hasSamePrefix(origin.span)
        if isAbsolute {
            start += origin.count
            guard start < range.upperBound, bytes[start] == UInt8(ascii: "/") else { return nil }
        } else {
            guard isRelativeKnown, bytes[start] != UInt8(ascii: "?") else { return nil }
            isFolder = bytes[start] != UInt8(ascii: "/")
            guard isFolder || isAbsoluteKnown else { return nil }
        }
        guard !isFolder || !isSegment || !folder.isEmpty else { return nil }
        guard isPlain(bytes.extracting(start..<range.upperBound), isFolder: isFolder) else { return nil }
        return Insertion(position: isSegment ? start : range.upperBound, isFolder: isSegment && isFolder)
    }

    /// Returns true if a path, with or without a query, needs no change.
    private func isPlain(_ path: Span<UInt8>, isFolder: Bool) -> Bool {
        // Without branches: most bytes are plain, and the others occur at any position.
        var previous = isFolder ? Class.slash : 0
        var (seen, pairs): (UInt8, UInt8) = (0, 0)
        for position in path.indices {
            let next = classes[Int(path[position])]
            seen |= next
            // The bit of a slash before a slash or a beginning.
            pairs |= previous & (next | next >> 1)
            previous = next
        }
        if seen & Class.other != 0 { return false }
        guard seen & Class.query != 0 else { return pairs & Class.slash == 0 }
        // In a query, every slash is plain.
        let end = path.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? path.count
        return isPlain(path.extracting(..<end), isFolder: isFolder)
    }

    /// Remembers the scheme and authority of an absolute reference that was written.
    mutating func learn(from bytes: Span<UInt8>, at range: Range<Int>, isWritten: Bool) {
        let reference = bytes.extracting(range)
        guard isAbsoluteKnown, isWritten, !reference.hasVariable, let parts = try? ReferenceParts(reference),
            case .absolute = parts.form
        else { return }
        origin = [UInt8](reference.extracting(..<parts.authority.upperBound))
    }
}

extension Span<UInt8> {
    /// True if the bytes begin with `prefix`.
    fileprivate func hasSamePrefix(_ prefix: Span<UInt8>) -> Bool {
        count >= prefix.count && extracting(..<prefix.count).hasSameBytes(as: prefix)
    }
}
