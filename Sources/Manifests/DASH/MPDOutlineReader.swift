// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A reader of the outline of an MPD. Knows where each element may be; elsewhere it is left alone, with all in it.
struct MPDOutlineReader {
    /// An open element whose children matter.
    private enum Node {
        case level(Int)
        /// `SegmentBase`, `SegmentList` or `SegmentTemplate`.
        case segments(Int)
        /// An element that is no level, and has what all representations have: `SubRepresentation`, `Preselection`, `InitializationSet`.
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
    private let places: XMLPlaces
    private let limits: ManifestLimits
    private var outline = MPDOutline()
    /// The number of references and `BaseURL`s so far.
    private var counted = 0
    private var open: [(tag: Int, node: Node)] = []

    private init(_ document: [UInt8], _ places: XMLPlaces, _ limits: ManifestLimits) {
        self.document = document
        self.places = places
        self.limits = limits
        open.reserveCapacity(8)
        outline.levels.reserveCapacity(min(places.elements.count, 16))
        outline.references.reserveCapacity(min(places.attributes.count, 16))
    }

    /// Reads the outline of an MPD.
    static func outline(
        of document: [UInt8],
        _ places: XMLPlaces,
        _ rules: ManifestRules
    ) throws(ManifestFault) -> MPDOutline {
        switch (places.rootName, places.rootNamespace.lowercased()) {
        case ("MPD", "urn:mpeg:dash:schema:mpd:2011"), ("MPD", ""): break
        case ("Patch", _): throw ManifestFault(.unsupported, line: nil, "a patch of an MPD is not rewritten")
        default: throw ManifestFault(.malformed, line: nil, "the root is not the MPD element of ISO/IEC 23009-1")
        }
        var reader = MPDOutlineReader(document, places, rules.limits)
        for element in places.elements { try reader.read(element, rules.mode) }
        return reader.outline
    }

    private mutating func read(_ element: XMLPlaces.Element, _ mode: ManifestRules.Mode) throws(ManifestFault) {
        while let last = open.last, last.tag > element.parent { open.removeLast() }
        let name = element.name.flatMap(MPDName.init)
        guard let parent = open.last else {
            guard element.parent == -1, name == .mpd else { return }
            return enterLevel(element, in: nil)
        }
        guard parent.tag == element.parent else { return }
        if case .property(let level) = parent.node {
            return try readQueryInfo(element, name, level)
        }
        guard element.namespace == .own else {
            // Others have events and elements of such names too.
            guard name?.isOfEarlierEdition != true else {
                throw fault(.unsupported, element, "an element has its name from another namespace")
            }
            return
        }
        try readLink(element, parent.node)
        guard let name else { return }
        switch parent.node {
        case .level(let level): try read(element, name, in: level, mode)
        case .segments(let level): try readSegments(element, name, in: level)
        case .part(let level): try readPart(element, name, in: level)
        case .holder(let level, let wanted) where wanted == name: try readText(element, name, in: level, mode)
        case .events(let level, let areCallbacks) where name == .event:
            if areCallbacks { try readCallback(element, in: level) } else { open.append((element.tag, .event(level))) }
        case .event(let level) where name == .insertPresentation || name == .replacePresentation:
            for attribute in [MPDAttribute.url, .uri] { try add(place(attribute, of: element), .event, level) }
        case .holder, .property, .events, .event: break
        }
    }

    private func fault(_ code: ManifestCode, _ element: XMLPlaces.Element, _ reason: String) -> ManifestFault {
        ManifestFault(code, line: document.span.line(of: Int(places.tags[element.tag].start)), reason)
    }

    // MARK: Levels

    private mutating func enterLevel(_ element: XMLPlaces.Element, in parent: Int?) {
        if let parent { outline.levels[parent].hasLower = true }
        var level = MPDOutline.Level(parent: parent, height: parent.map { outline.levels[$0].height + 1 } ?? 0)
        level.id = place(.id, of: element)
        outline.levels.append(level)
        open.append((element.tag, .level(outline.levels.count - 1)))
    }

    private mutating func read(
        _ element: XMLPlaces.Element,
        _ name: MPDName,
        in level: Int,
        _ mode: ManifestRules.Mode
    ) throws(ManifestFault) {
        switch (outline.levels[level].height, name) {
        case (0, .period), (1, .adaptationSet), (1, .emptyAdaptationSet), (2, .representation):
            enterLevel(element, in: level)
        case (1..., .segmentBase): open.append((element.tag, .segments(level)))
        case (1..., .segmentList):
            outline.levels[level].hasSegments = true
            open.append((element.tag, .segments(level)))
        case (1..., .segmentTemplate):
            if place(.media, of: element) != nil { outline.levels[level].hasSegments = true }
            for attribute in [MPDAttribute.media, .initialization, .index, .bitstreamSwitching] {
                try add(place(attribute, of: element), .template, level)
            }
            open.append((element.tag, .segments(level)))
        case (0, .initializationSet):
            try add(place(.initialization, of: element), .level, level)
            open.append((element.tag, .part(level)))
        case (1, .preselection), (3, .subRepresentation): open.append((element.tag, .part(level)))
        case (1, .eventStream):
            if has(element, .schemeIdUri, prefix: "urn:mpeg:dash:event:alternativeMPD:") {
                open.append((element.tag, .events(level, areCallbacks: false)))
            } else if has(element, .schemeIdUri, prefix: "urn:mpeg:dash:event:callback:") {
                open.append((element.tag, .events(level, areCallbacks: true)))
            }
        case (0, .serviceDescription): open.append((element.tag, .holder(level, of: .contentSteering)))
        default:
            try readPart(element, name, in: level)
            try readText(element, name, in: level, mode)
        }
    }

    /// Reads a child that all levels and representations may have (ISO/IEC 23009-1 §5.3.7).
    private mutating func readPart(_ element: XMLPlaces.Element, _ name: MPDName, in level: Int) throws(ManifestFault) {
        switch name {
        case .essentialProperty, .supplementalProperty:
            open.append((element.tag, .property(level)))
            guard has(element, .schemeIdUri, oneOf: Self.schemesOfMPDs) else { return }
            try add(place(.value, of: element), .document, level)
        case .producerReferenceTime: open.append((element.tag, .holder(level, of: .utcTiming)))
        default: break
        }
    }

    private mutating func readText(
        _ element: XMLPlaces.Element,
        _ name: MPDName,
        in level: Int,
        _ mode: ManifestRules.Mode
    ) throws(ManifestFault) {
        switch (outline.levels[level].height, name) {
        case (_, .baseURL):
            if case .query = mode, let range = place(.byteRange, of: element)?.value(in: document.span),
                range.span.contains("$base$"), !range.span.contains("$query$")
            {
                throw fault(.unsupported, element, "a byteRange template drops the query of its BaseURL")
            }
            let text = try text(of: element)
            try count(text)
            outline.levels[level].bases.append(text)
        case (0, .location):
            let text = try text(of: element)
            outline.locations.append(text)
            try add(text, .document, level)
        case (0, .patchLocation), (0, .contentSteering): try add(try text(of: element), .document, level)
        case (1, .importedMPD):
            let text = try text(of: element)
            let attribute = place(.uri, of: element)
            for place in [text, attribute].compactMap(\.self) where !place.range.isEmpty {
                try add(place, .document, level)
            }
        case (_, .utcTiming):
            guard has(element, .schemeIdUri, prefix: "urn:mpeg:dash:utc:http-") else { return }
            try add(place(.value, of: element), .list, level)
        default: break
        }
    }

    /// Reads an event whose URL players request when its time comes (ISO/IEC 23009-1 §5.10.4.5).
    private mutating func readCallback(_ element: XMLPlaces.Element, in level: Int) throws(ManifestFault) {
        guard place(.contentEncoding, of: element) == nil else {
            throw fault(.unsupported, element, "the URL of a callback is encoded")
        }
        try add(place(.messageData, of: element), .event, level)
        let text = try text(of: element)
        if !text.range.isEmpty { try add(text, .event, level) }
    }

    // MARK: Segments

    private mutating func readSegments(
        _ element: XMLPlaces.Element,
        _ name: MPDName,
        in level: Int
    ) throws(ManifestFault) {
        switch name {
        case .segmentURL:
            let media = place(.media, of: element)
            if media == nil { outline.levels[level].usesBase = true }
            try add(media, .segments, level)
            try add(place(.index, of: element), .segments, level)
        case .initialization, .representationIndex, .bitstreamSwitching:
            let source = place(.sourceURL, of: element)
            if source == nil { outline.levels[level].usesBase = true }
            try add(source, .segments, level)
        default: break
        }
    }

    // MARK: References

    /// The schemes of descriptors whose value is the URL of another MPD (ISO/IEC 23009-1 §5.11).
    private static let schemesOfMPDs: [StaticString] = [
        "urn:mpeg:dash:chaining:2016", "urn:mpeg:dash:mpd-chaining:2016", "urn:mpeg:dash:fallback:2016",
    ]

    private mutating func readLink(_ element: XMLPlaces.Element, _ node: Node) throws(ManifestFault) {
        for attribute in places.attributes[element.attributes] where attribute.namespace == .link {
            guard attribute.name == MPDAttribute.href.rawValue else { continue }
            let level =
                switch node {
                case .level(let level), .segments(let level), .part(let level), .property(let level),
                    .holder(let level, _),
                    .events(let level, _), .event(let level):
                    level
                }
            let place = MPDPlace(
                attribute.value,
                tag: element.tag,
                isText: false,
                isLiteral: attribute.isLiteral,
                in: document.span
            )
            if !document.span.starts(with: "urn:", at: place.range.lowerBound) { outline.hasRemoteElements = true }
            try add(place, .document, level)
        }
    }

    private mutating func readQueryInfo(
        _ element: XMLPlaces.Element,
        _ name: MPDName?,
        _ level: Int
    ) throws(ManifestFault) {
        try readLink(element, .property(level))
        guard name == .urlQueryInfo || name == .extURLQueryInfo else { return }
        guard has(element, .useMPDUrlQuery, oneOf: ["true", "1"]), let template = place(.queryTemplate, of: element)
        else { return }
        outline.queries.append(template)
    }

    private mutating func add(
        _ place: MPDPlace?,
        _ scope: MPDOutline.Reference.Scope,
        _ level: Int
    ) throws(ManifestFault) {
        guard let place else { return }
        // An empty one of an event is none, and no reference to the MPD.
        guard scope != .event || !place.range.isEmpty else { return }
        try count(place)
        outline.references.append(MPDOutline.Reference(place: place, level: level, scope: scope))
    }

    private mutating func count(_ place: MPDPlace) throws(ManifestFault) {
        counted += 1
        guard counted > limits.references else { return }
        let line = document.span.line(of: place.range.lowerBound)
        throw ManifestFault(.tooLarge, line: line, "more than \(limits.references) references")
    }

    private func place(_ name: MPDAttribute, of element: XMLPlaces.Element) -> MPDPlace? {
        for index in element.attributes {
            let attribute = places.attributes[index]
            guard attribute.name == name.rawValue, attribute.namespace == .own else { continue }
            return MPDPlace(
                attribute.value,
                tag: element.tag,
                isText: false,
                isLiteral: attribute.isLiteral,
                in: document.span
            )
        }
        return nil
    }

    private func text(of element: XMLPlaces.Element) throws(ManifestFault) -> MPDPlace {
        let range: Range<Int>
        var isCharacterData = false
        switch element.text {
        case .plain(let text): range = text
        case .characterData(let text): (range, isCharacterData) = (text, true)
        case .unread, .mixed:
            throw fault(
                .unsupported,
                element,
                "a URL has a comment or an element in it, or is a part of a CDATA section"
            )
        }
        guard range.count <= limits.lineLength else { throw fault(.tooLarge, element, "a URL is too long") }
        let bytes = document.span.extracting(range)
        let isLiteral =
            isCharacterData
            || bytes.firstIndex(of: UInt8(ascii: "&"), from: 0) == nil && bytes.firstIndex(of: 0xD, from: 0) == nil
        return MPDPlace(
            range,
            tag: element.tag,
            isText: true,
            isLiteral: isLiteral,
            isCharacterData: isCharacterData,
            in: document.span
        )
    }

    private func has(_ element: XMLPlaces.Element, _ name: MPDAttribute, oneOf values: [StaticString]) -> Bool {
        guard let value = place(name, of: element)?.value(in: document.span) else { return false }
        return values.contains { value.count == $0.utf8CodeUnitCount && value.span.starts(with: $0, at: 0) }
    }

    private func has(_ element: XMLPlaces.Element, _ name: MPDAttribute, prefix: StaticString) -> Bool {
        place(name, of: element)?.value(in: document.span).map { $0.span.starts(with: prefix, at: 0) } ?? false
    }
}

extension Span<UInt8> {
    /// Returns true if `text` is somewhere in the bytes.
    func contains(_ text: String) -> Bool { firstPlace(of: text.utf8.span) != nil }

    /// Returns the line of a position, from 1.
    func line(of position: Int) -> Int {
        var (line, place) = (1, 0)
        while let end = firstIndex(of: 0xA, from: place), end < position {
            line += 1
            place = end + 1
        }
        return line
    }
}
