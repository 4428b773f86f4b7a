// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension HLSRewriter {
    /// Rewrites the line `range` of `bytes`, without its end.
    ///
    /// - Parameter copied: The position up to which the output has the bytes. Stays behind if the line does not change, so
    ///   that such lines are copied together.
    mutating func rewriteLine(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>,
        _ copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        guard range.count <= rules.limits.lineLength else { throw tooLong }
        lines += 1
        guard lines <= rules.limits.lines else {
            throw ManifestFault(.tooLarge, line: lines, "more than \(rules.limits.lines) lines")
        }
        guard lines > 1 else { return try checkHeader(bytes.extracting(range)) }
        guard !range.isEmpty else { return }
        guard bytes[range.lowerBound] == UInt8(ascii: "#") else {
            return try rewriteReference(bytes, range, &copied, to: &output)
        }
        // The most frequent tag first; comments begin otherwise.
        guard !bytes.starts(with: "#EXTINF:", at: range.lowerBound), bytes.starts(with: "#EXT", at: range.lowerBound)
        else { return }
        try rewriteTag(bytes, range, &copied, to: &output)
    }

    private func checkHeader(_ line: Span<UInt8>) throws(ManifestFault) {
        if line.starts(with: "\u{FEFF}", at: 0) {
            throw ManifestFault(.encodingInvalid, line: 1, "a byte order mark, which RFC 8216 §4 forbids")
        }
        guard line.isText("#EXTM3U") else { throw ManifestFault(.malformed, line: 1, "the first line is not #EXTM3U") }
    }

    // MARK: References

    private mutating func rewriteReference(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>,
        _ copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        guard !bytes.extracting(range).isBlank else { return }
        try countReference()
        if let insertion = plain.insertion(in: bytes, range) {
            output.append(copying: bytes.extracting(copied..<insertion.place))
            if insertion.isFolder { output += plain.folder } else { output += plain.grant }
            copied = insertion.place
            return
        }
        try write(bytes, range, isQuoted: false, &copied, to: &output)
        plain.learn(bytes, range, isWritten: copied == range.upperBound)
    }

    /// Writes a reference that stands in `range`, with what was not copied before it, if it changes.
    private mutating func write(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>,
        isQuoted: Bool,
        _ copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        let start = output.count
        output.append(copying: bytes.extracting(copied..<range.lowerBound))
        let isWritten: Bool
        if let expansion = try variables.expand(bytes.extracting(range), line: lines) {
            isWritten = try write(expansion, isQuoted: isQuoted, to: &output)
        } else {
            do throws(ReferenceFault) {
                isWritten = try writer.write(bytes.extracting(range), against: rules.base, to: &output) == .written
            } catch {
                throw ManifestFault(error, line: lines)
            }
        }
        if isWritten { copied = range.upperBound } else { output.removeSubrange(start...) }
    }

    /// Writes a reference with variables. Those whose values are known are replaced, so that the player resolves the same
    /// reference as this rewriter.
    private mutating func write(
        _ expansion: PlaylistVariables.Expansion,
        isQuoted: Bool,
        to output: inout [UInt8]
    ) throws(ManifestFault) -> Bool {
        do throws(ReferenceFault) {
            try expansion.check()
            // A value from the URL would end the attribute.
            if isQuoted, expansion.text.contains(UInt8(ascii: "\"")) { throw .controlCharacter }
            let traits: ReferenceWriter.Traits = expansion.isOpen ? .unresolved : []
            let outcome = try writer.write(expansion.text.span, against: rules.base, traits, to: &output)
            if outcome == .unchanged, expansion.hasGrant { throw .grantToOtherHost }
            return outcome == .written
        } catch {
            throw ManifestFault(error, line: lines)
        }
    }

    private mutating func countReference() throws(ManifestFault) {
        references += 1
        guard references <= rules.limits.references else {
            throw ManifestFault(.tooLarge, line: lines, "more than \(rules.limits.references) references")
        }
    }

    // MARK: Tags

    private mutating func rewriteTag(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>,
        _ copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        let line = bytes.extracting(range)
        let end = line.firstIndex(of: UInt8(ascii: ":"), from: 0) ?? line.count
        let tag = PlaylistTag(line, nameEnd: end)
        switch tag {
        case .plain: return
        case .definition: return try variables.define(line, at: min(end + 1, line.count), line: lines)
        case .unknown where line.firstIndex(of: UInt8(ascii: "\""), from: end) == nil: return
        case .unknown, .uri, .dateRange, .steering: break
        }
        guard try findReferences(line, at: min(end + 1, line.count), tag) else {
            guard tag == .unknown else {
                let name = String(decoding: [UInt8](line.extracting(1..<end)), as: UTF8.self)
                throw ManifestFault(.malformed, line: lines, "the attribute list of \(name) is malformed")
            }
            return
        }
        for reference in found where !reference.isEmpty {
            try countReference()
            let place = range.lowerBound + reference.lowerBound..<range.lowerBound + reference.upperBound
            try write(bytes, place, isQuoted: true, &copied, to: &output)
        }
    }

    /// Finds the references of a tag. Returns false if its attribute list is malformed.
    private mutating func findReferences(
        _ line: Span<UInt8>,
        at place: Int,
        _ tag: PlaylistTag
    ) throws(ManifestFault) -> Bool {
        found.removeAll(keepingCapacity: true)
        var reader = AttributeReader(at: place)
        var count = 0
        do throws(AttributeReader.Malformed) {
            while let attribute = try reader.next(in: line) {
                count += 1
                if count > rules.limits.attributes { break }
                guard tag.hasReference(in: line.extracting(attribute.name)) else { continue }
                // Readers differ about a reference without quotes.
                guard attribute.isQuoted || tag == .unknown else { throw AttributeReader.Malformed() }
                if attribute.isQuoted { found.append(attribute.value) }
            }
        } catch {
            return false
        }
        guard count <= rules.limits.attributes else {
            throw ManifestFault(.tooLarge, line: lines, "more than \(rules.limits.attributes) attributes")
        }
        return true
    }
}

extension Span<UInt8> {
    /// True if there is nothing but blanks.
    fileprivate var isBlank: Bool {
        for place in indices where !self[place].isBlank { return false }
        return true
    }
}
