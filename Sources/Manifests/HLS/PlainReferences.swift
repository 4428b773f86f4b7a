// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The references that carry the grant after one insertion, and need no more than a look at each of their bytes.
///
/// Such a reference has no percent-encoding, no dot segment, no old grant and no variable, and is relative, or begins with an
/// authority that was found protected before. Whatever else is left to ``ReferenceWriter``, with the same result.
struct PlainReferences {
    /// A place in a line, and what is inserted there.
    struct Insertion {
        let place: Int
        /// True for the grant and the folder of the playlist, false for the grant alone.
        let isFolder: Bool
    }

    /// `/PREFIX`, the grant and the playlist's folder; unused in a query.
    let folder: [UInt8]
    /// `/PREFIX` and the grant, or `?`, the name of the parameter, `=` and the grant.
    let grant: [UInt8]
    private let isSegment: Bool
    /// False if relative references do not carry the grant.
    private let isRelativeKnown: Bool
    /// The scheme and authority of the last absolute reference that carried the grant.
    private var origin: [UInt8] = []
    /// The class of each byte.
    private let classes: [256 of Class]

    private enum Class: UInt8 {
        case plain
        /// A character that may not be the first of a segment: a dot, or the first of an old grant.
        case beginning
        case slash
        case question
        case other
    }

    init(_ rules: ManifestRules) {
        var classes: [256 of Class] = .init(repeating: .other)
        for byte in UInt8(0x21)...0x7E where byte.isUnreserved || "!$&'()*+,;=@".utf8.contains(byte) {
            classes[Int(byte)] = .plain
        }
        classes[Int(UInt8(ascii: "."))] = .beginning
        classes[Int(UInt8(ascii: "/"))] = .slash
        isRelativeKnown = rules.base.isProtected
        switch rules.mode {
        case .segment(let prefix):
            grant = [UInt8]("/\(prefix)\(rules.grant)".utf8)
            isSegment = true
            classes[Int(UInt8(ascii: "?"))] = .question
            if let first = prefix.utf8.first { classes[Int(first)] = .beginning }
            var folder = grant
            // The path was resolved before. If its folder cannot be cut, relative references are left to the writer.
            let path = rules.base.folder
            let isCut = (try? ResolvedPath.append(path, in: path, without: prefix, to: &folder)) != nil
            self.folder = isCut ? folder : []
        case .query(let name):
            grant = [UInt8]("?\(name)=\(rules.grant)".utf8)
            isSegment = false
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
            guard isRelativeKnown else { return nil }
            isFolder = bytes[start] != UInt8(ascii: "/")
        }
        guard !isFolder || !isSegment || !folder.isEmpty else { return nil }
        guard isPlain(bytes.extracting(start..<range.upperBound)) else { return nil }
        return Insertion(place: isSegment ? start : range.upperBound, isFolder: isSegment && isFolder)
    }

    private func isPlain(_ path: Span<UInt8>) -> Bool {
        var previous = UInt8(ascii: "/")
        for place in path.indices {
            let byte = path[place]
            switch classes[Int(byte)] {
            case .plain: break
            case .beginning: if previous == UInt8(ascii: "/") { return false }
            case .slash: if previous == UInt8(ascii: "/"), place > 0 { return false }
            case .question: return isPlainQuery(path.extracting((place + 1)...))
            case .other: return false
            }
            previous = byte
        }
        return true
    }

    private func isPlainQuery(_ query: Span<UInt8>) -> Bool {
        for place in query.indices where classes[Int(query[place])] == .other { return false }
        return true
    }

    /// Remembers the scheme and authority of an absolute reference that was written.
    mutating func learn(_ bytes: Span<UInt8>, _ range: Range<Int>, isWritten: Bool) {
        let reference = bytes.extracting(range)
        guard isWritten, let parts = try? ReferenceParts(reference), case .absolute = parts.form,
            !parts.authority.isEmpty
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
