// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform
internal import XML

/// A reader of Media RSS fragments.
struct FragmentReader: ~Copyable, ~Escapable {
    private let events: XMLEvents
    private var position = 0
    private var facts = ResourceFacts(channel: "")

    /// The parser limits. They bound the content of a fragment, which has at most 8 KiB.
    static let limits = XMLLimits(depth: 8, elements: 64, root: "rss", utf8Only: true)

    private static let slots = SlotPool()
    private static let parsers = (0..<slots.count).map { _ in IdleParser() }

    /// Reads the fragment `text`, whose size was checked. Returns an opaque resource if it is XML with another root.
    static func read(_ text: String) throws(ResourceError) -> MediaResource.Storage {
        guard text.isLegalXML else {
            throw ResourceError(.invalidCharacter, reason: "the fragment has a character that XML does not allow")
        }
        let slot = slots.acquire()
        defer { slots.release(slot) }
        let idle = slot.map { parsers[$0] }
        guard var parser = idle?.parser.take() ?? XMLEventParser(limits: limits) else {
            throw ResourceError(XMLFailure.outOfMemory)
        }
        let storage = storage(of: text, parser: &parser)
        if !parser.hasOutgrown { idle?.parser = consume parser }
        return try storage.get()
    }

    private static func storage(
        of text: String,
        parser: inout XMLEventParser
    ) -> Result<MediaResource.Storage, ResourceError> {
        parser.reset()
        parser.read(text.utf8.span, isLast: true)
        switch parser.failure {
        case nil: break
        case .otherRoot: return .success(MediaResource.Storage(opaque: text))
        case let failure?: return .failure(ResourceError(failure))
        }
        var reader = FragmentReader(parser.events)
        do throws(ResourceError) { try reader.rss() } catch { return .failure(error) }
        // Moved, not copied: a copy counts a reference for each of its texts and lists.
        var facts = ResourceFacts(channel: "")
        swap(&facts, &reader.facts)
        return .success(MediaResource.Storage(text: text, kind: .fragment, facts: facts))
    }

    @_lifetime(copy events)
    private init(_ events: XMLEvents) { self.events = events }

    // MARK: Elements

    @_lifetime(self: copy self)
    private mutating func rss() throws(ResourceError) {
        let rss = events.list[position]
        guard rss.namespace.isEmpty else {
            throw ResourceError(.missingChannel, reason: "the element rss is in a namespace", line: Int(rss.line))
        }
        position += 1
        facts.extras.rssAttributes = attributes(without: "version")
        var hasChannel = false
        while let child = try nextChild() {
            if isPlain(child, named: "channel") {
                guard !hasChannel else { throw repeated("channel", at: child) }
                hasChannel = true
                try channel()
            } else {
                try extra(child, into: \.inRSS)
            }
        }
        guard hasChannel else { throw ResourceError(.missingChannel, reason: "the fragment has no channel") }
    }

    @_lifetime(self: copy self)
    private mutating func channel() throws(ResourceError) {
        facts.extras.channelAttributes = attributes()
        var title: String?
        var hasItem = false
        while let child = try nextChild() {
            if isPlain(child, named: "title") {
                guard title == nil else { throw repeated("title", at: child) }
                let attributes = attributes()
                guard let text = try leaf() else {
                    throw ResourceError(
                        .missingChannel,
                        reason: "the title of the channel is empty",
                        line: Int(child.line)
                    )
                }
                title = text
                facts.extras.channelTitleAttributes = attributes
            } else if isPlain(child, named: "item") {
                guard !hasItem else { throw repeated("item", at: child) }
                hasItem = true
                try item()
            } else {
                try extra(child, into: \.inChannel)
            }
        }
        guard let title else { throw ResourceError(.missingChannel, reason: "the channel has no title") }
        facts.channel = title
    }

    @_lifetime(self: copy self)
    private mutating func item() throws(ResourceError) {
        facts.extras.itemAttributes = attributes()
        var hasTitle = false
        var hasGUID = false
        var ratings: [Rating] = []
        while let child = try nextChild() {
            if isPlain(child, named: "title") {
                guard !hasTitle else { throw repeated("title", at: child) }
                hasTitle = true
                (facts.itemTitle, facts.extras.itemTitleAttributes) = try optionalLeaf()
            } else if isPlain(child, named: "guid") {
                guard !hasGUID else { throw repeated("guid", at: child) }
                hasGUID = true
                (facts.guid, facts.extras.guidAttributes) = try optionalLeaf()
            } else if events.equals(child.name, literal: "rating"), isMedia(child) {
                if let rating = try rating(child) { ratings.append(rating) }
            } else {
                try extra(child, into: \.inItem)
            }
        }
        facts.ratings = ratings.canonicalOrder()
    }

    /// Reads a rating. Returns `nil` if it is empty, or if other attributes than the scheme make it an extra.
    @_lifetime(self: copy self)
    private mutating func rating(_ element: XMLEvent) throws(ResourceError) -> Rating? {
        let start = position
        var scheme = ""
        while hasAttribute {
            let attribute = events.list[position]
            guard attribute.namespace.isEmpty, events.equals(attribute.name, literal: "scheme") else {
                position = start
                try extra(element, into: \.inItem)
                return nil
            }
            scheme = events.string(attribute.value)
            position += 1
        }
        return try leaf().map { Rating(scheme: scheme, value: $0) }
    }

    // MARK: Events

    /// Returns the next child element, or `nil` at the end of the parent. The position is after the start or end tag.
    @_lifetime(self: copy self)
    private mutating func nextChild() throws(ResourceError) -> XMLEvent? {
        while true {
            let event = events.list[position]
            position += 1
            switch event.kind {
            case .start: return event
            case .end: return nil
            case .attribute: continue
            case .interruption: throw interruptedText(event)
            case .text:
                guard events.text(event.value).isXMLSpace else {
                    throw ResourceError(.mixedContent, reason: "text beside elements", line: Int(event.line))
                }
            }
        }
    }

    /// Returns the trimmed text of an element without children, or `nil` if it is empty.
    @_lifetime(self: copy self)
    private mutating func leaf() throws(ResourceError) -> String? {
        var text: XMLEvent.Bytes?
        while true {
            let event = events.list[position]
            position += 1
            switch event.kind {
            // The pieces of one text are adjacent in the list's bytes too.
            case .text: text = (text?.lowerBound ?? event.value.lowerBound)..<event.value.upperBound
            case .attribute: continue
            case .interruption: throw interruptedText(event)
            case .start:
                throw ResourceError(.mixedContent, reason: "an element in a place for text", line: Int(event.line))
            case .end:
                guard let text else { return nil }
                let trimmed = events.text(text).trimmingXMLSpace()
                return trimmed.isEmpty ? nil : String(decoding: trimmed)
            }
        }
    }

    /// Reads a leaf with its attributes, which are ignored if it is empty.
    @_lifetime(self: copy self)
    private mutating func optionalLeaf() throws(ResourceError) -> (String?, [UInt8]) {
        let attributes = attributes()
        guard let text = try leaf() else { return (nil, []) }
        return (text, attributes)
    }

    private func isPlain(_ element: XMLEvent, named name: StaticString) -> Bool {
        element.namespace.isEmpty && events.equals(element.name, literal: name)
    }

    /// True if `element` is in the Media RSS namespace, in any of its spellings.
    @_lifetime(self: copy self)
    private mutating func isMedia(_ element: XMLEvent) -> Bool {
        guard let spelling = MediaNamespace(element.namespace, in: events) else { return false }
        if spelling == .video { facts.usesVideoNamespace = true }
        return true
    }

    private func repeated(_ name: String, at element: XMLEvent) -> ResourceError {
        ResourceError(.repeatedElement, reason: "a second \(name)", line: Int(element.line))
    }

    private func interruptedText(_ event: XMLEvent) -> ResourceError {
        ResourceError(.mixedContent, reason: "a comment or processing instruction within text", line: Int(event.line))
    }

    // MARK: Everything else

    /// Appends the element whose start tag was read last, with its content, to the extras in canonical XML.
    @_lifetime(self: copy self)
    private mutating func extra(
        _ element: XMLEvent,
        into field: WritableKeyPath<ResourceFacts.Extras, [UInt8]>
    ) throws(ResourceError) {
        var xml: [UInt8] = []
        var open: [(name: XMLEvent.Bytes, hasChildren: Bool)] = []
        var text: XMLEvent.Bytes?
        var next = element
        repeat {
            switch next.kind {
            case .start:
                if let range = text { try refuseMixed(range, at: next) }
                text = nil
                if let parent = open.indices.last { open[parent].hasChildren = true }
                open.append((next.name, false))
                openTag(of: next, into: &xml)
            case .attribute: break
            case .interruption: throw interruptedText(next)
            case .text:
                text = (text?.lowerBound ?? next.value.lowerBound)..<next.value.upperBound
            case .end:
                let closed = open.removeLast()
                if let range = text {
                    if closed.hasChildren { try refuseMixed(range, at: next) }
                    let trimmed = events.text(range).trimmingXMLSpace()
                    xml.appendXMLText(trimmed)
                }
                text = nil
                xml.append("</")
                xml.append(copying: events.text(closed.name))
                xml.append(">")
            }
            if open.isEmpty { break }
            next = events.list[position]
            position += 1
        } while true
        facts.extras[keyPath: field] += xml
    }

    private func refuseMixed(_ text: XMLEvent.Bytes, at event: XMLEvent) throws(ResourceError) {
        guard events.text(text).isXMLSpace else {
            throw ResourceError(.mixedContent, reason: "text beside elements", line: Int(event.line))
        }
    }

    @_lifetime(self: copy self)
    private mutating func openTag(of element: XMLEvent, into xml: inout [UInt8]) {
        xml.append("<")
        xml.append(copying: events.text(element.name))
        xml.append(" xmlns=\"")
        if isMedia(element) {
            xml.append(MediaNamespace.canonical)
        } else {
            xml.appendXMLAttributeValue(events.namespace(element.namespace).span)
        }
        xml.append("\"")
        xml += attributes()
        xml.append(">")
    }

    /// Returns the attributes at the position in canonical XML, sorted by namespace and name.
    @_lifetime(self: copy self) @inline(__always)
    private mutating func attributes(without ignored: StaticString? = nil) -> [UInt8] {
        hasAttribute ? readAttributes(without: ignored) : []
    }

    private var hasAttribute: Bool {
        guard position < events.list.count, case .attribute = events.list[position].kind else { return false }
        return true
    }

    @_lifetime(self: copy self)
    private mutating func readAttributes(without ignored: StaticString?) -> [UInt8] {
        var found: [XMLEvent] = []
        while hasAttribute {
            let attribute = events.list[position]
            position += 1
            if let ignored, attribute.namespace.isEmpty, events.equals(attribute.name, literal: ignored) { continue }
            found.append(attribute)
        }
        guard !found.isEmpty else { return [] }
        let events = events
        found.sort { left, right in
            let (own, other) = (events.text(left.namespace), events.text(right.namespace))
            return own.hasSameBytes(as: other)
                ? events.text(left.name).precedes(events.text(right.name)) : own.precedes(other)
        }
        var xml: [UInt8] = []
        for (index, attribute) in found.enumerated() {
            xml.append(" ")
            if events.equals(attribute.namespace, literal: "http://www.w3.org/XML/1998/namespace") {
                xml.append("xml:")
            } else if !attribute.namespace.isEmpty {
                xml += "xmlns:n\(index)=\"".utf8
                xml.appendXMLAttributeValue(events.namespace(attribute.namespace).span)
                xml += "\" n\(index):".utf8
            }
            xml.append(copying: events.text(attribute.name))
            xml.append("=\"")
            xml.appendXMLAttributeValue(events.text(attribute.value))
            xml.append("\"")
        }
        return xml
    }
}

extension [Rating] {
    /// Returns the ratings in the order of their bytes, without duplicates.
    func canonicalOrder() -> [Rating] {
        guard count > 1 else { return self }
        var unique: [Rating] = []
        for rating in sorted() where unique.last != rating { unique.append(rating) }
        return unique
    }
}

/// A holder for the parser of a slot while it is not in use. A parser whose dictionary of names is too large is
/// discarded.
private final class IdleParser: @unchecked Sendable {  // Used only by the holder of its slot.
    var parser: XMLEventParser?
}

extension ResourceError {
    fileprivate init(_ failure: XMLFailure) {
        switch failure {
        case .doctype: self.init(.doctype, reason: "a document type declaration is not allowed")
        case .tooDeep: self.init(.tooDeep, reason: "elements are nested more than 8 levels deep")
        case .tooManyElements: self.init(.tooManyElements, reason: "more than 64 elements")
        case .tooLarge: self.init(.malformedXML, reason: "the names and values take more than 16 MiB")
        case .unsupportedEncoding(let name):
            self.init(.unsupportedEncoding, reason: "the declared encoding is \(name.printable(limit: 40)), not UTF-8")
        case .otherRoot: self.init(.missingChannel, reason: "the root element is not rss")
        case .syntax(let message, let line, let column):
            self.init(.malformedXML, reason: message, line: line, column: column)
        case .outOfMemory: self.init(.internalFailure, reason: "libxml2 is out of memory")
        }
    }
}
