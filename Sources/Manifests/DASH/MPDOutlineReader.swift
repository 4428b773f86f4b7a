// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A reader of the outline of an MPD. Knows the valid parents of each element; elsewhere it ignores an element with all
/// its content.
struct MPDOutlineReader {
    /// An open element whose children matter.
    private enum Node {
        case level(Int)
        /// `SegmentBase`, `SegmentList` or `SegmentTemplate`.
        case segments(Int)
        /// An element that is no level, but has the content of representations: `SubRepresentation`, `Preselection`,
        /// `InitializationSet`.
        case part(Int)
        /// `EssentialProperty` or `SupplementalProperty`.
        case property(Int)
        /// An element in which one other element matters.
        case holder(Int, of: MPDName)
        /// `EventStream`, with events that name other MPDs or URLs to call.
        case events(Int, areCallbacks: Bool)
        /// `Event` that names another MPD.
        case event(Int)
    }

    private let document: [UInt8]
    private let positions: XMLPositions
    private let limits: ManifestLimits
    private var outline = MPDOutline()
    /// The number of references and `BaseURL`s so far.
    private var counted = 0
    private var open: [(tag: Int, node: Node)] = []

    private init(_ document: [UInt8], locations positions: XMLPositions, limits: ManifestLimits) {
        self.document = document
        self.positions = positions
        self.limits = limits
        open.reserveCapacity(8)
        outline.levels.reserveCapacity(min(positions.elements.count, 16))
        outline.references.reserveCapacity(min(positions.attributes.count, 16))
    }

    /// Reads the outline of an MPD.
    static func outline(
        of document: [UInt8],
        locations positions: XMLPositions,
        rules: ManifestRules
    ) throws(ManifestFault) -> MPDOutline {
        switch (positions.rootName, positions.rootNamespace.lowercased()) {
        case ("MPD", "urn:mpeg:dash:schema:mpd:2011"), ("MPD", ""): break
        case ("Patch", _): throw ManifestFault(.unsupported, line: nil, reason: "a patch of an MPD is not rewritten")
        default:
            throw ManifestFault(.malformed, line: nil, reason: "the root is not the MPD element of ISO/IEC 23009-1")
        }
        var reader = MPDOutlineReader(document, locations: positions, limits: rules.limits)
        for element in positions.elements { try reader.read(element, mode: rules.mode) }
        return reader.outline
    }

    private mutating func read(_ element: XMLPositions.Element, mode: ManifestRules.Mode) throws(ManifestFault) {
        while let last = open.last, last.tag > element.parent { open.removeLast() }
        let name = element.name.flatMap(MPDName.init)
        guard let parent = open.last else {
            guard element.parent == -1, name == .mpd else { return }
            return enterLevel(element, in: nil)
        }
        guard parent.tag == element.parent else { return }
        if case .property(let level) = parent.node {
            return try readQueryInfo(element, named: name, in: level)
        }
        guard element.namespace == .own else {
            // Others have events and elements of such names too.
            guard name?.isOfEarlierEdition != true else {
                throw fault(.unsupported, at: element, reason: "an element has its name from another namespace")
            }
            return
        }
        try readLink(of: element, in: parent.node)
        guard let name else { return }
        switch parent.node {
        case .level(let level): try read(element, named: name, in: level, mode: mode)
        case .segments(let level): try readSegments(element, named: name, in: level)
        case .part(let level): try readPart(element, named: name, in: level)
        case .holder(let level, let wanted) where wanted == name:
            try readText(element, named: name, in: level, mode: mode)
        case .events(let level, let areCallbacks) where name == .event:
            if areCallbacks { try readCallback(element, in: level) } else { open.append((element.tag, .event(level))) }
        case .event(let level) where name == .insertPresentation || name == .replacePresentation:
            for attribute in [MPDAttribute.url, .uri] {
                try add(referenceAt: field(attribute, of: element), scope: .event, in: level)
            }
        case .holder, .property, .events, .event: break
        }
    }

    private func fault(_ code: ManifestCode, at element: XMLPositions.Element, reason: String) -> ManifestFault {
        ManifestFault(code, line: document.span.line(of: Int(positions.tags[element.tag].start)), reason: reason)
    }

    // MARK: Levels

    private mutating func enterLevel(_ element: XMLPositions.Element, in parent: Int?) {
        if let parent { outline.levels[parent].hasLower = true }
        var level = MPDOutline.Level(parent: parent, height: parent.map { outline.levels[$0].height + 1 } ?? 0)
        level.id = field(.id, of: element)
        outline.levels.append(level)
        open.append((element.tag, .level(outline.levels.count - 1)))
    }

    private mutating func read(
        _ element: XMLPositions.Element,
        named name: MPDName,
        in level: Int,
        mode: ManifestRules.Mode
    ) throws(ManifestFault) {
        switch (outline.levels[level].height, name) {
        case (0, .period), (1, .adaptationSet), (1, .emptyAdaptationSet), (2, .representation):
            enterLevel(element, in: level)
        case (1..., .segmentBase): open.append((element.tag, .segments(level)))
        case (1..., .segmentList):
            outline.levels[level].hasSegments = true
            open.append((element.tag, .segments(level)))
        case (1..., .segmentTemplate):
            if field(.media, of: element) != nil { outline.levels[level].hasSegments = true }
            for attribute in [MPDAttribute.media, .initialization, .index, .bitstreamSwitching] {
                try add(referenceAt: field(attribute, of: element), scope: .template, in: level)
            }
            open.append((element.tag, .segments(level)))
        case (0, .initializationSet):
            try add(referenceAt: field(.initialization, of: element), scope: .level, in: level)
            open.append((element.tag, .part(level)))
        case (1, .preselection), (3, .subRepresentation): open.append((element.tag, .part(level)))
        case (1, .eventStream):
            if has(element, attribute: .schemeIdUri, prefix: "urn:mpeg:dash:event:alternativeMPD:") {
                open.append((element.tag, .events(level, areCallbacks: false)))
            } else if has(element, attribute: .schemeIdUri, prefix: "urn:mpeg:dash:event:callback:") {
                open.append((element.tag, .events(level, areCallbacks: true)))
            }
        case (0, .serviceDescription): open.append((element.tag, .holder(level, of: .contentSteering)))
        default:
            try readPart(element, named: name, in: level)
            try readText(element, named: name, in: level, mode: mode)
        }
    }

    /// Reads a child that all levels and representations may have (ISO/IEC 23009-1 §5.3.7).
    private mutating func readPart(
        _ element: XMLPositions.Element,
        named name: MPDName,
        in level: Int
    ) throws(ManifestFault) {
        switch name {
        case .essentialProperty, .supplementalProperty:
            open.append((element.tag, .property(level)))
            guard has(element, attribute: .schemeIdUri, oneOf: Self.schemesOfMPDs) else { return }
            try add(referenceAt: field(.value, of: element), scope: .document, in: level)
        case .producerReferenceTime: open.append((element.tag, .holder(level, of: .utcTiming)))
        default: break
        }
    }

    private mutating func readText(
        _ element: XMLPositions.Element,
        named name: MPDName,
        in level: Int,
        mode: ManifestRules.Mode
    ) throws(ManifestFault) {
        switch (outline.levels[level].height, name) {
        case (_, .baseURL):
            if case .query = mode, let range = field(.byteRange, of: element)?.value(in: document.span),
                range.span.contains("$base$"), !range.span.contains("$query$")
            {
                throw fault(.unsupported, at: element, reason: "a byteRange template drops the query of its BaseURL")
            }
            let text = try text(of: element)
            try count(text)
            outline.levels[level].bases.append(text)
        case (0, .location):
            let text = try text(of: element)
            outline.locations.append(text)
            try add(referenceAt: text, scope: .document, in: level)
        case (0, .patchLocation), (0, .contentSteering):
            try add(referenceAt: try text(of: element), scope: .document, in: level)
        case (1, .importedMPD):
            let text = try text(of: element)
            let attribute = field(.uri, of: element)
            for field in [text, attribute].compactMap(\.self) where !field.range.isEmpty {
                try add(referenceAt: field, scope: .document, in: level)
            }
        case (_, .utcTiming):
            guard has(element, attribute: .schemeIdUri, prefix: "urn:mpeg:dash:utc:http-") else { return }
            try add(referenceAt: field(.value, of: element), scope: .list, in: level)
        default: break
        }
    }

    /// Reads an event whose URL players request when its time comes (ISO/IEC 23009-1 §5.10.4.5).
    private mutating func readCallback(_ element: XMLPositions.Element, in level: Int) throws(ManifestFault) {
        guard field(.contentEncoding, of: element) == nil else {
            throw fault(.unsupported, at: element, reason: "the URL of a callback is encoded")
        }
        try add(referenceAt: field(.messageData, of: element), scope: .event, in: level)
        let text = try text(of: element)
        if !text.range.isEmpty { try add(referenceAt: text, scope: .event, in: level) }
    }

    // MARK: Segments

    private mutating func readSegments(
        _ element: XMLPositions.Element,
        named name: MPDName,
        in level: Int
    ) throws(ManifestFault) {
        switch name {
        case .segmentURL:
            let media = field(.media, of: element)
            if media == nil { outline.levels[level].usesBase = true }
            try add(referenceAt: media, scope: .segments, in: level)
            try add(referenceAt: field(.index, of: element), scope: .segments, in: level)
        case .initialization, .representationIndex, .bitstreamSwitching:
            let source = field(.sourceURL, of: element)
            if source == nil { outline.levels[level].usesBase = true }
            try add(referenceAt: source, scope: .segments, in: level)
        default: break
        }
    }

    // MARK: References

    /// The schemes of descriptors whose value is the URL of another MPD (ISO/IEC 23009-1 §5.11).
    private static let schemesOfMPDs: [StaticString] = [
        "urn:mpeg:dash:chaining:2016", "urn:mpeg:dash:mpd-chaining:2016", "urn:mpeg:dash:fallback:2016",
    ]

    private mutating func readLink(of element: XMLPositions.Element, in node: Node) throws(ManifestFault) {
        for attribute in positions.attributes[element.attributes] where attribute.namespace == .link {
            guard attribute.name == MPDAttribute.href.rawValue else { continue }
            let level =
                switch node {
                case .level(let level), .segments(let level), .part(let level), .property(let level),
                    .holder(let level, _),
                    .events(let level, _), .event(let level):
                    level
                }
            let field = MPDField(
                attribute.value,
                tag: element.tag,
                isText: false,
                isLiteral: attribute.isLiteral,
                in: document.span
            )
            if !document.span.starts(with: "urn:", at: field.range.lowerBound) { outline.hasRemoteElements = true }
            try add(referenceAt: field, scope: .document, in: level)
        }
    }

    private mutating func readQueryInfo(
        _ element: XMLPositions.Element,
        named name: MPDName?,
        in level: Int
    ) throws(ManifestFault) {
        try readLink(of: element, in: .property(level))
        guard name == .urlQueryInfo || name == .extURLQueryInfo else { return }
        guard has(element, attribute: .useMPDUrlQuery, oneOf: ["true", "1"]),
            let template = field(.queryTemplate, of: element)
        else { return }
        outline.queries.append(template)
    }

    private mutating func add(
        referenceAt field: MPDField?,
        scope: MPDOutline.Reference.Scope,
        in level: Int
    ) throws(ManifestFault) {
        guard let field else { return }
        // An empty one of an event is none, and no reference to the MPD.
        guard scope != .event || !field.range.isEmpty else { return }
        try count(field)
        outline.references.append(MPDOutline.Reference(field: field, level: level, scope: scope))
    }

    private mutating func count(_ field: MPDField) throws(ManifestFault) {
        counted += 1
        guard counted > limits.references else { return }
        let line = document.span.line(of: field.range.lowerBound)
        throw ManifestFault(.tooLarge, line: line, reason: "more than \(limits.references) references")
    }

    private func field(_ name: MPDAttribute, of element: XMLPositions.Element) -> MPDField? {
        for index in element.attributes {
            let attribute = positions.attributes[index]
            guard attribute.name == name.rawValue, attribute.namespace == .own else { continue }
            return MPDField(
                attribute.value,
                tag: element.tag,
                isText: false,
                isLiteral: attribute.isLiteral,
                in: document.span
            )
        }
        return nil
    }

    private func text(of element: XMLPositions.Element) throws(ManifestFault) -> MPDField {
        let range: Range<Int>
        var isCharacterData = false
        switch element.text {
        case .plain(let text): range = text
        case .characterData(let text): (range, isCharacterData) = (text, true)
        case .unread, .mixed:
            throw fault(
                .unsupported,
                at: element,
                reason: "a URL has a comment or an element in it, or is a part of a CDATA section"
            )
        }
        guard range.count <= limits.lineLength else { throw fault(.tooLarge, at: element, reason: "a URL is too long") }
        let bytes = document.span.extracting(range)
        let isLiteral =
            isCharacterData
            || bytes.firstIndex(of: UInt8(ascii: "&"), from: 0) == nil && bytes.firstIndex(of: 0xD, from: 0) == nil
        return MPDField(
            range,
            tag: element.tag,
            isText: true,
            isLiteral: isLiteral,
            isCharacterData: isCharacterData,
            in: document.span
        )
    }

    private func has(
        _ element: XMLPositions.Element,
        attribute name: MPDAttribute,
        oneOf values: [StaticString]
    ) -> Bool {
        guard let value = field(name, of: element)?.value(in: document.span) else { return false }
        return values.contains { value.count == $0.utf8CodeUnitCount && value.span.starts(with: $0, at: 0) }
    }

    private func has(_ element: XMLPositions.Element, attribute name: MPDAttribute, prefix: StaticString) -> Bool {
        field(name, of: element)?.value(in: document.span).map { $0.span.starts(with: prefix, at: 0) } ?? false
    }
}

extension Span<UInt8> {
    /// Returns true if `text` is somewhere in the bytes.
    func contains(_ text: String) -> Bool { firstPosition(of: text.utf8.span) != nil }

    /// Returns the line of a position, from 1.
    func line(of position: Int) -> Int {
        var (line, start) = (1, 0)
        while let end = firstIndex(of: 0xA, from: start), end < position {
            line += 1
            start = end + 1
        }
        return line
    }
}
