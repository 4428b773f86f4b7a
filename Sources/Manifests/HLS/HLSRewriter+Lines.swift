// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

extension HLSRewriter {
    /// Rewrites the line `range` of `bytes`, without its end.
    ///
    /// - Parameter copied: The position up to which the output has the bytes. Stays behind if the line does not change, so
    ///   that such lines are copied together.
    mutating func rewriteLine(
        in bytes: Span<UInt8>,
        at range: Range<Int>,
        copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        guard range.count <= rules.limits.lineLength else { throw tooLong }
        lines += 1
        guard lines <= rules.limits.lines else {
            throw ManifestFault(.tooLarge, line: lines, reason: "more than \(rules.limits.lines) lines")
        }
        guard lines > 1 else { return try checkHeader(bytes.extracting(range)) }
        guard !range.isEmpty else { return }
        guard bytes[range.lowerBound] == UInt8(ascii: "#") else {
            return try rewriteReference(in: bytes, at: range, copied: &copied, to: &output)
        }
        // The most frequent tag first; comments begin otherwise.
        guard !bytes.starts(with: "#EXTINF:", at: range.lowerBound), bytes.starts(with: "#EXT", at: range.lowerBound)
        else {
            if isDefinitionDue { defineGrant(in: bytes, beforeSegment: range, copied: &copied, to: &output) }
            return
        }
        try rewriteTag(in: bytes, at: range, copied: &copied, to: &output)
    }

    private func checkHeader(_ line: Span<UInt8>) throws(ManifestFault) {
        // A byte order mark, which RFC 8216 §4 forbids, and blanks are written by some packagers, and read by all players.
        var (start, end) = (line.starts(with: "\u{FEFF}", at: 0) ? 3 : 0, line.count)
        while end > start, line[end - 1].isBlank { end -= 1 }
        guard line.extracting(start..<end).isText("#EXTM3U") else {
            throw ManifestFault(.malformed, line: 1, reason: "the first line is not #EXTM3U")
        }
    }

    // MARK: References

    private mutating func rewriteReference(
        in bytes: Span<UInt8>,
        at range: Range<Int>,
        copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        guard let first = range.first(where: { !bytes[$0].isBlank }) else { return }
        // Some players read it as a tag or a comment, others as a reference.
        guard first == range.lowerBound || bytes[first] != UInt8(ascii: "#") else {
            throw ManifestFault(.controlCharacter, line: lines)
        }
        try countReference()
        if let insertion = plain.insertion(in: bytes, range) {
            output.append(copying: bytes.extracting(copied..<insertion.position))
            if insertion.isFolder { output += plain.folder } else { output += plain.grant }
            copied = insertion.position
            return
        }
        try write(referenceIn: bytes, at: range, of: nil, copied: &copied, to: &output)
        plain.learn(from: bytes, at: range, isWritten: copied == range.upperBound)
    }

    /// Writes a reference that stands in `range`, with the bytes before it that were not copied, if it changes.
    ///
    /// - Parameter tag: The tag that it is an attribute of; `nil` for a line.
    private mutating func write(
        referenceIn bytes: Span<UInt8>,
        at range: Range<Int>,
        of tag: PlaylistTag?,
        copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        let start = output.count
        output.append(copying: bytes.extracting(copied..<range.lowerBound))
        let isWritten: Bool
        if let expansion = try variables.expand(bytes.extracting(range), line: lines) {
            isWritten = try write(expansion, of: tag, to: &output)
        } else {
            do throws(ReferenceFault) {
                isWritten = try write(bytes.extracting(range), of: tag, traits: [], to: &output) != .unchanged
            } catch {
                throw ManifestFault(error, line: lines)
            }
        }
        if isWritten { copied = range.upperBound } else { output.removeSubrange(start...) }
    }

    private mutating func write(
        _ reference: Span<UInt8>,
        of tag: PlaylistTag?,
        traits: ReferenceWriter.Traits,
        to output: inout [UInt8]
    ) throws(ReferenceFault) -> ReferenceWriter.Outcome {
        var traits = traits.union(rules.traits)
        if tag == .key, rules.options.contains(.sparingKeys) { traits.insert(.withoutGrant) }
        guard let tag, tag.isKept else {
            return try writer.write(reference, against: rules.base, traits: traits, to: &output)
        }
        return try lastingWriter.write(reference, against: rules.base, traits: traits, to: &output)
    }

    /// Writes a reference with variables. Those whose values are known are replaced, so that the player resolves the same
    /// reference as this rewriter.
    private mutating func write(
        _ expansion: PlaylistVariables.Expansion,
        of tag: PlaylistTag?,
        to output: inout [UInt8]
    ) throws(ManifestFault) -> Bool {
        do throws(ReferenceFault) {
            try expansion.check()
            // A value from the URL would end the attribute.
            if tag != nil, expansion.text.contains(UInt8(ascii: "\"")) { throw .controlCharacter }
            let traits: ReferenceWriter.Traits = expansion.isOpen ? .unresolved : []
            let outcome = try write(expansion.text.span, of: tag, traits: traits, to: &output)
            if outcome != .written, expansion.hasGrant { throw .grantToOtherHost }
            return outcome != .unchanged
        } catch {
            throw ManifestFault(error, line: lines)
        }
    }

    private mutating func countReference() throws(ManifestFault) {
        references += 1
        guard references <= rules.limits.references else {
            throw ManifestFault(.tooLarge, line: lines, reason: "more than \(rules.limits.references) references")
        }
    }

    // MARK: Tags

    private mutating func rewriteTag(
        in bytes: Span<UInt8>,
        at range: Range<Int>,
        copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        let line = bytes.extracting(range)
        let end = line.firstIndex(of: UInt8(ascii: ":"), from: 0) ?? line.count
        let tag = PlaylistTag(line, nameEnd: end)
        switch tag {
        case .plain: return
        case .variant:
            isDefinitionDue = false
            guard !isGrantDefined else {
                throw ManifestFault(.malformed, line: lines, reason: "a variant in a playlist with segments")
            }
            guard line.contains("URI") else { return }
        case .definition:
            return try define(in: bytes, range: range, at: min(end + 1, line.count), copied: &copied, to: &output)
        case .version: return readVersion(line, at: min(end + 1, line.count))
        case .part where isDefinitionDue: defineGrant(in: bytes, before: range, copied: &copied, to: &output)
        case .unknown where line.firstIndex(of: UInt8(ascii: "\""), from: end) == nil: return
        case .unknown, .uri, .key, .part, .dateRange, .steering: break
        }
        guard try findReferences(in: line, at: min(end + 1, line.count), of: tag) else {
            // Names and titles with a quotation mark in them are the most frequent fault of metadata, which has no reference then.
            guard tag.isLenient || !tag.mayHaveReference(in: line) else {
                let name = String(decoding: [UInt8](line.extracting(1..<end)), as: UTF8.self)
                throw ManifestFault(.malformed, line: lines, reason: "the attribute list of \(name) is malformed")
            }
            return
        }
        for reference in found where !reference.isEmpty {
            try countReference()
            let located = range.lowerBound + reference.lowerBound..<range.lowerBound + reference.upperBound
            try write(referenceIn: bytes, at: located, of: tag, copied: &copied, to: &output)
        }
    }

    // MARK: Variables

    /// Reads an `EXT-X-DEFINE`. One that was written here before is left out.
    private mutating func define(
        in bytes: Span<UInt8>,
        range: Range<Int>,
        at position: Int,
        copied: inout Int,
        to output: inout [UInt8]
    ) throws(ManifestFault) {
        switch try variables.define(bytes.extracting(range), at: position, line: lines) {
        case .other: return
        case .taken:
            guard !isGrantDefined else {
                throw ManifestFault(
                    .malformed,
                    line: lines,
                    reason: "the variable \(PlaylistVariables.own) is defined twice"
                )
            }
            isNameTaken = true
        case .own:
            output.append(copying: bytes.extracting(copied..<range.lowerBound))
            copied = range.upperBound
            if copied < bytes.count, bytes[copied] == 0x0D { copied += 1 }
            if copied < bytes.count, bytes[copied] == 0x0A { copied += 1 }
        }
    }

    /// Reads the version of the playlist: variables need 8.
    private mutating func readVersion(_ line: Span<UInt8>, at position: Int) {
        let number = String(decoding: [UInt8](line.extracting(position...)), as: UTF8.self)
        isDefinitionDue = rules.options.contains(.definingGrant) && !isGrantDefined && Int(number) ?? 0 >= 8
    }

    /// Writes the definition before the line `range` if that is a segment's. Never inline: lines are many, and this is once.
    @inline(never)
    private mutating func defineGrant(
        in bytes: Span<UInt8>,
        beforeSegment range: Range<Int>,
        copied: inout Int,
        to output: inout [UInt8]
    ) {
        guard bytes.starts(with: "#EXTINF:", at: range.lowerBound) else { return }
        defineGrant(in: bytes, before: range, copied: &copied, to: &output)
    }

    /// Writes the definition of the variable with the grant before the line `range`.
    private mutating func defineGrant(
        in bytes: Span<UInt8>,
        before range: Range<Int>,
        copied: inout Int,
        to output: inout [UInt8]
    ) {
        isDefinitionDue = false
        guard !isNameTaken else { return }
        isGrantDefined = true
        output.append(copying: bytes.extracting(copied..<range.lowerBound))
        copied = range.lowerBound
        output += "#EXT-X-DEFINE:NAME=\"\(PlaylistVariables.own)\",VALUE=\"\(rules.grant)\"\n".utf8
        writer = ReferenceWriter(rules, writing: .variable)
        plain = PlainReferences(rules, writing: PlaylistVariables.reference)
    }

    /// Finds the references of a tag. Returns false if its attribute list is malformed.
    private mutating func findReferences(
        in line: Span<UInt8>,
        at position: Int,
        of tag: PlaylistTag
    ) throws(ManifestFault) -> Bool {
        found.removeAll(keepingCapacity: true)
        var reader = AttributeReader(at: position)
        var count = 0
        do throws(AttributeReader.Malformed) {
            while let attribute = try reader.next(in: line) {
                count += 1
                if count > rules.limits.attributes { break }
                guard tag.hasReference(in: line.extracting(attribute.name)) else { continue }
                // Readers differ about a reference without quotes.
                guard attribute.isQuoted || tag.isLenient else { throw AttributeReader.Malformed() }
                if attribute.isQuoted { found.append(attribute.value) }
            }
        } catch {
            return false
        }
        guard count <= rules.limits.attributes else {
            throw ManifestFault(.tooLarge, line: lines, reason: "more than \(rules.limits.attributes) attributes")
        }
        return true
    }
}
