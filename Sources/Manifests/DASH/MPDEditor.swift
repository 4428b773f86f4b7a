// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The work of rewriting an MPD that is in memory.
struct MPDEditor {
    private let document: [UInt8]
    private let rules: ManifestRules
    private let places: XMLPlaces
    private let outline: MPDOutline
    private let bases: MPDBases
    private let lowest: MPDLowestLevels
    private var chooser: MPDReferenceChooser
    private var edits: [MPDEdit] = []
    private var plain: [MPDPlainReferences?]

    /// Returns the edits of an MPD in the order of their places.
    static func edits(of document: [UInt8], _ rules: ManifestRules) throws(ManifestFault) -> [MPDEdit] {
        var editor = try MPDEditor(document, rules)
        for (place, value) in editor.bases.edits { editor.add(place, value) }
        for reference in editor.outline.references { try editor.rewrite(reference) }
        for query in editor.outline.queries { try editor.narrow(query) }
        try editor.addElements()
        // The order of two elements that are added at one place stays: the sort of the standard library is stable.
        editor.edits.sort { $0.range.lowerBound < $1.range.lowerBound }
        return editor.edits
    }

    private init(_ document: [UInt8], _ rules: ManifestRules) throws(ManifestFault) {
        let limits = XMLPlaceLimits(
            depth: rules.limits.depth,
            elements: rules.limits.lines,
            attributes: rules.limits.attributes,
            tagSize: rules.limits.lineLength
        )
        switch XMLPlaceReader.places(of: document, selection: MPDName.selection, limits: limits) {
        case .success(let places): self.places = places
        case .failure(let fault): throw ManifestFault(fault)
        }
        self.document = document
        self.rules = rules
        outline = try MPDOutlineReader.outline(of: document, places, rules)
        chooser = MPDReferenceChooser(rules)
        bases = try MPDBases(outline, document.span, rules, &chooser)
        lowest = MPDLowestLevels(outline, document.span, rules.mode, list: bases.list, of: bases.lists.count)
        plain = outline.levels.map { _ in nil }
        edits.reserveCapacity(outline.references.count + bases.edits.count + 1)
    }

    private mutating func add(_ place: MPDPlace, _ value: [UInt8]) {
        edits.append(places.edit(place, to: value, in: document.span))
    }

    // MARK: References

    private mutating func rewrite(_ reference: MPDOutline.Reference) throws(ManifestFault) {
        let place = reference.place
        do throws(ReferenceFault) {
            switch reference.scope {
            case .segments:
                if try rewritePlain(reference, isTemplate: false) { return }
                try rewrite(reference, segments(reference.level, id: false), [])
            case .template:
                if try rewritePlain(reference, isTemplate: true) { return }
                let namesID = MPDTemplate.namesRepresentation(place.value(in: document.span) ?? [])
                try rewrite(reference, segments(reference.level, id: namesID), .template)
            case .level:
                let list = bases.lists[bases.list[reference.level]]
                try rewrite(reference, list.map { MPDContext(base: $0) }, [])
            case .document:
                guard let value = place.value(in: document.span), !value.isEmpty else { return }
                if let text = try chooseForDocument(value, reference.level) { add(place, text) }
            case .list: try rewriteList(reference)
            case .event:
                // Browsers read a relative one against the page.
                try rewrite(reference, [MPDContext(base: bases.document)], .absolute)
            }
        } catch {
            throw ManifestFault.of(error, at: place, in: document.span, chooser)
        }
    }

    private mutating func rewrite(
        _ reference: MPDOutline.Reference,
        _ contexts: [MPDContext],
        _ conditions: MPDReferenceChooser.Conditions
    ) throws(ReferenceFault) {
        guard let value = reference.place.value(in: document.span) else { return }
        switch try chooser.choose(value, contexts, conditions) {
        case .unchanged: break
        case .replaced(let text): add(reference.place, text)
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
        let place = reference.place
        guard place.isLiteral, !isTemplate || lowest.hasPlainIDs(in: reference.level),
            place.range.isPlainReference(in: document.span, rules.mode, isTemplate: isTemplate)
        else { return false }
        let known: MPDPlainReferences
        if let found = plain[reference.level] {
            known = found
        } else {
            known = try MPDPlainReferences(segments(reference.level, id: false), rules, &chooser)
            plain[reference.level] = known
        }
        switch known {
        case .unchanged: return true
        case .appended(let text):
            edits.append(MPDEdit(range: place.range.upperBound..<place.range.upperBound, replacement: text))
            return true
        case .various: return false
        }
    }

    /// Returns the new text of a reference that most players resolve against the MPD's URL, and the standard against the
    /// bases of its level; nil if it stays.
    private mutating func chooseForDocument(_ value: [UInt8], _ level: Int) throws(ReferenceFault) -> [UInt8]? {
        let own = MPDContext(base: bases.document)
        let all = [own] + bases.lists[bases.list[level]].map { MPDContext(base: $0) }
        let conditions: MPDReferenceChooser.Conditions = bases.isAmbiguous ? .absolute : []
        var choice = try chooser.choose(value, all, conditions)
        // Where they differ, the players' reading becomes the only one.
        if choice == .impossible { choice = try chooser.choose(value, [own], .absolute) }
        switch choice {
        case .unchanged: return nil
        case .replaced(let text): return text
        case .impossible: throw .grantToOtherHost
        }
    }

    /// Rewrites a list of references between spaces.
    private mutating func rewriteList(_ reference: MPDOutline.Reference) throws(ReferenceFault) {
        guard let value = reference.place.value(in: document.span) else { return }
        var list: [UInt8] = []
        var isChanged = false
        for item in value.split(separator: 0x20) {
            if !list.isEmpty { list.append(0x20) }
            let text = try chooseForDocument(Array(item), reference.level)
            isChanged = isChanged || text != nil
            list += text ?? Array(item)
        }
        if isChanged { add(reference.place, list) }
    }

    // MARK: The document

    /// Takes the grant out of what players add to the URLs of segments from the MPD's own query. A player may have come with
    /// a grant in the query, whatever the mode, and the URL of the rules may lack it.
    private mutating func narrow(_ place: MPDPlace) throws(ManifestFault) {
        guard let template = place.value(in: document.span) else { return }
        let name = rules.mode.parameter
        let narrowed = MPDQueryTemplate.narrow(template, rules.base.query ?? [], without: name)
        if let narrowed { add(place, narrowed) }
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
            let url = try chooser.written(rules.requested.url(without: rules.mode), rules.requested)
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
        let prefix = bytes.prefixOfName(at: Int(places.tags[0].start) + 1)
        let child = places.tags.first { tag in
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
        var place = start
        while place < count, !self[place].isXMLSpace, self[place] != UInt8(ascii: ">"), self[place] != UInt8(ascii: "/")
        {
            if self[place] == UInt8(ascii: ":") { return start..<place + 1 }
            place += 1
        }
        return start..<start
    }
}

extension ManifestFault {
    /// Creates the refusal of a document that is not well-formed, or exceeds a limit.
    fileprivate init(_ fault: XMLPlaceFault) {
        switch fault {
        case .tagTooLong: self.init(.tooLarge, "a tag is too long, or has too many attributes")
        case .disagreement, .parsing(.otherRoot): self.init(.malformed, "the tags do not match")
        case .parsing(.doctype): self.init(.unsupported, "a document type declaration is not allowed")
        case .parsing(.tooDeep), .parsing(.tooManyElements), .parsing(.tooLarge):
            self.init(.tooLarge, "too many elements, or nested too deeply")
        case .parsing(.unsupportedEncoding): self.init(.encodingInvalid, "the encoding is not UTF-8")
        case .parsing(.syntax(_, let line, _)): self.init(.malformed, line: line, "not well-formed")
        case .parsing(.outOfMemory): self.init(.tooLarge, "out of memory")
        }
    }
}
