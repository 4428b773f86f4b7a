// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The work of rewriting an MPD that is in memory.
struct MPDEditor {
    private let document: [UInt8]
    private let rules: ManifestRules
    private let positions: XMLPositions
    private let outline: MPDOutline
    private let bases: MPDBases
    private let lowest: MPDLowestLevels
    private var chooser: MPDReferenceChooser
    private var edits: [MPDEdit] = []
    private var plain: [MPDPlainReferences?]

    /// Returns the edits of an MPD in the order of their positions.
    static func edits(of document: [UInt8], _ rules: ManifestRules) throws(ManifestFault) -> [MPDEdit] {
        var editor = try MPDEditor(document, rules: rules)
        for (field, value) in editor.bases.edits { editor.add(editOf: field, to: value) }
        for reference in editor.outline.references { try editor.rewrite(reference) }
        for query in editor.outline.queries { try editor.narrow(query) }
        try editor.addElements()
        // The order of two elements that are added at one position stays: the sort of the standard library is stable.
        editor.edits.sort { $0.range.lowerBound < $1.range.lowerBound }
        return editor.edits
    }

    private init(_ document: [UInt8], rules: ManifestRules) throws(ManifestFault) {
        let limits = XMLPositionLimits(
            depth: rules.limits.depth,
            elements: rules.limits.lines,
            attributes: rules.limits.attributes,
            tagSize: rules.limits.lineLength
        )
        switch XMLPositionReader.positions(of: document, selection: MPDName.selection, limits: limits) {
        case .success(let positions): self.positions = positions
        case .failure(let fault): throw ManifestFault(fault)
        }
        self.document = document
        self.rules = rules
        outline = try MPDOutlineReader.outline(of: document, locations: positions, rules: rules)
        chooser = MPDReferenceChooser(rules)
        bases = try MPDBases(of: outline, in: document.span, rules: rules, chooser: &chooser)
        lowest = MPDLowestLevels(
            of: outline,
            in: document.span,
            mode: rules.mode,
            list: bases.list,
            count: bases.lists.count
        )
        plain = outline.levels.map { _ in nil }
        edits.reserveCapacity(outline.references.count + bases.edits.count + 1)
    }

    private mutating func add(editOf field: MPDField, to value: [UInt8]) {
        edits.append(positions.edit(field, to: value, in: document.span))
    }

    // MARK: References

    private mutating func rewrite(_ reference: MPDOutline.Reference) throws(ManifestFault) {
        let field = reference.field
        do throws(ReferenceFault) {
            switch reference.scope {
            case .segments:
                if try rewritePlain(reference, isTemplate: false) { return }
                try rewrite(reference, in: segments(reference.level, id: false), under: [])
            case .template:
                if try rewritePlain(reference, isTemplate: true) { return }
                let namesID = MPDTemplate.namesRepresentation(field.value(in: document.span) ?? [])
                try rewrite(reference, in: segments(reference.level, id: namesID), under: .template)
            case .level:
                let list = bases.lists[bases.list[reference.level]]
                try rewrite(reference, in: list.map { MPDContext(base: $0) }, under: [])
            case .document:
                guard let value = field.value(in: document.span), !value.isEmpty else { return }
                if let text = try chooseForDocument(value, in: reference.level) { add(editOf: field, to: text) }
            case .list: try rewriteList(reference)
            case .event:
                // Browsers read a relative one against the page.
                try rewrite(reference, in: [MPDContext(base: bases.document)], under: .absolute)
            }
        } catch {
            throw ManifestFault.of(error, at: field, in: document.span, chooser: chooser)
        }
    }

    private mutating func rewrite(
        _ reference: MPDOutline.Reference,
        in contexts: [MPDContext],
        under conditions: MPDReferenceChooser.Conditions
    ) throws(ReferenceFault) {
        guard let value = reference.field.value(in: document.span) else { return }
        switch try chooser.choose(value, in: contexts, under: conditions) {
        case .unchanged: break
        case .replaced(let text): add(editOf: reference.field, to: text)
        case .impossible: throw .grantToOtherHost
        }
    }

    /// Returns the bases of the segments of a level; with the `@id` of each Representation, if it matters.
    private func segments(_ level: Int, id: Bool) -> [MPDContext] {
        guard id else {
            let lists = lowest.lists(in: level, height: outline.levels[level].height)
            return lists.flatMap { bases.lists[$0].map { MPDContext(base: $0) } }
        }
        return lowest.levels(in: level).flatMap { lowest in
            let id = outline.levels[lowest].id?.value(in: document.span)
            return bases.lists[bases.list[lowest]].map { MPDContext(base: $0, id: id) }
        }
    }

    /// Rewrites a relative reference without anything special in it, of which there may be very many; false if it is not one.
    private mutating func rewritePlain(
        _ reference: MPDOutline.Reference,
        isTemplate: Bool
    ) throws(ReferenceFault) -> Bool {
        let field = reference.field
        guard field.isLiteral, !isTemplate || lowest.hasPlainIDs(in: reference.level),
            field.range.isPlainReference(in: document.span, rules.mode, isTemplate: isTemplate)
        else { return false }
        let known: MPDPlainReferences
        if let found = plain[reference.level] {
            known = found
        } else {
            known = try MPDPlainReferences(in: segments(reference.level, id: false), rules: rules, chooser: &chooser)
            plain[reference.level] = known
        }
        switch known {
        case .unchanged: return true
        case .appended(let text):
            edits.append(MPDEdit(range: field.range.upperBound..<field.range.upperBound, replacement: text))
            return true
        case .various: return false
        }
    }

    /// Returns the new text of a reference that most players resolve against the MPD's URL. The standard resolves it
    /// against the bases of its level. `nil` if it stays.
    private mutating func chooseForDocument(_ value: [UInt8], in level: Int) throws(ReferenceFault) -> [UInt8]? {
        let own = MPDContext(base: bases.document)
        let all = [own] + bases.lists[bases.list[level]].map { MPDContext(base: $0) }
        let conditions: MPDReferenceChooser.Conditions = bases.isAmbiguous ? .absolute : []
        var choice = try chooser.choose(value, in: all, under: conditions)
        // Where they differ, the players' reading becomes the only one.
        if choice == .impossible { choice = try chooser.choose(value, in: [own], under: .absolute) }
        switch choice {
        case .unchanged: return nil
        case .replaced(let text): return text
        case .impossible: throw .grantToOtherHost
        }
    }

    /// Rewrites a list of references between spaces.
    private mutating func rewriteList(_ reference: MPDOutline.Reference) throws(ReferenceFault) {
        guard let value = reference.field.value(in: document.span) else { return }
        var list: [UInt8] = []
        var isChanged = false
        for item in value.split(separator: 0x20) {
            if !list.isEmpty { list.append(0x20) }
            let text = try chooseForDocument(Array(item), in: reference.level)
            isChanged = isChanged || text != nil
            list += text ?? Array(item)
        }
        if isChanged { add(editOf: reference.field, to: list) }
    }

    // MARK: The document

    /// Removes the grant from the parameters that players copy from the MPD's own query to the URLs of segments. A
    /// player may have sent a grant in the query, in any mode, and the URL of the rules may lack it.
    private mutating func narrow(_ field: MPDField) throws(ManifestFault) {
        guard let template = field.value(in: document.span) else { return }
        let name = rules.mode.parameter
        let narrowed = MPDQueryTemplate.narrow(template, query: rules.base.query ?? [], without: name)
        if let narrowed { add(editOf: field, to: narrowed) }
    }

    /// Writes a `BaseURL` if a reference needs one, and a `Location` if the rules demand one and the MPD has none. Both come before
    /// the first child of the MPD that may not stand before them (ISO/IEC 23009-1 §5.3.1.3).
    private mutating func addElements() throws(ManifestFault) {
        let base = bases.lists[0][0]
        let needsBase =
            outline.levels[0].bases.isEmpty && !base.old.isSame(as: base.new)
            && (chooser.usesDocument || outline.hasRemoteElements)
        if needsBase, let edit = element("BaseURL", with: bases.documentURL, behind: ["ProgramInformation"]) {
            edits.append(edit)
        }
        guard rules.options.contains(.addingLocation), outline.locations.isEmpty else { return }
        do throws(ReferenceFault) {
            let url = try chooser.written(rules.requested.url(without: rules.mode), against: rules.requested)
            if let edit = element("Location", with: url, behind: ["ProgramInformation", "BaseURL"]) {
                edits.append(edit)
            }
        } catch {
            throw ManifestFault(error, line: nil)
        }
    }

    /// Returns the edit that adds an element to the MPD, before its first child with another name than those of `others`; `nil` for an
    /// MPD without one.
    private func element(_ name: String, with value: [UInt8], behind others: [StaticString]) -> MPDEdit? {
        let bytes = document.span
        let prefix = bytes.prefixOfName(at: Int(positions.tags[0].start) + 1)
        let child = positions.tags.first { tag in
            let name = bytes.prefixOfName(at: Int(tag.start) + 1).upperBound
            return tag.depth == 2 && !others.contains { bytes.starts(with: $0, at: name) }
        }
        guard let child else { return nil }
        let name = [UInt8](bytes.extracting(prefix)) + name.utf8
        var element = [UInt8(ascii: "<")] + name + ">".utf8
        element.appendEscaped(value.span)
        element += [UInt8]("</".utf8) + name + ">".utf8
        return MPDEdit(range: Int(child.start)..<Int(child.start), replacement: element)
    }
}

extension Span<UInt8> {
    /// Returns the prefix of a name with its colon; an empty range if there is none.
    fileprivate func prefixOfName(at start: Int) -> Range<Int> {
        var position = start
        while position < count, !self[position].isXMLSpace, self[position] != UInt8(ascii: ">"),
            self[position] != UInt8(ascii: "/")
        {
            if self[position] == UInt8(ascii: ":") { return start..<position + 1 }
            position += 1
        }
        return start..<start
    }
}

extension ManifestFault {
    /// Creates the refusal of a document that is not well-formed, or exceeds a limit.
    fileprivate init(_ fault: XMLPositionFault) {
        switch fault {
        case .tagTooLong: self.init(.tooLarge, reason: "a tag is too long, or has too many attributes")
        case .disagreement, .parsing(.otherRoot): self.init(.malformed, reason: "the tags do not match")
        case .parsing(.doctype): self.init(.unsupported, reason: "a document type declaration is not allowed")
        case .parsing(.tooDeep), .parsing(.tooManyElements), .parsing(.tooLarge):
            self.init(.tooLarge, reason: "too many elements, or nested too deeply")
        case .parsing(.unsupportedEncoding): self.init(.encodingInvalid, reason: "the encoding is not UTF-8")
        case .parsing(.syntax(_, let line, _)): self.init(.malformed, line: line, reason: "not well-formed")
        case .parsing(.outOfMemory): self.init(.tooLarge, reason: "out of memory")
        }
    }
}
