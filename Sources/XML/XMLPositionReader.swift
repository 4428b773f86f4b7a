// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2
internal import Encodings

/// A reader of the locations of elements and attributes in a document, for edits that leave all other bytes as they
/// are.
///
/// libxml2's push parser judges the document. A scanner of tags knows the offsets, which libxml2 reports differently in
/// its versions. Both are held in step: every start tag by its name and depth, every reported attribute and text by its
/// value. If they differ anywhere, the document is refused.
///
/// Reads UTF-8 only, and refuses document types and all entities but the predefined and numeric ones, as
/// ``XMLEventParser`` does.
package enum XMLPositionReader {
    /// The bytes that libxml2 gets at a time.
    private static let chunk = 64 * 1024

    /// Reads `document` within the limits.
    package static func positions(
        of document: [UInt8],
        selection: XMLSelection,
        limits: XMLPositionLimits
    ) -> Result<XMLPositions, XMLPositionFault> {
        if let encoding = otherEncoding(document) { return .failure(.parsing(.unsupportedEncoding(encoding))) }
        let tags: [XMLTag]
        switch XMLTagScanner.tags(of: document.span, limits: limits) {
        case .success(let found): tags = found
        case .failure(let fault): return .failure(fault)
        }
        _ = libxml2IsInitialised
        let sink = XMLPositionSink(XMLPositionState(tags: tags, selection: selection))
        var handlers = unsafe XMLPositionSink.handlers
        let user = unsafe Unmanaged.passUnretained(sink).toOpaque()
        guard let context = unsafe xmlCreatePushParserCtxt(&handlers, user, nil, 0, nil) else {
            return .failure(.parsing(.outOfMemory))
        }
        defer { unsafe xmlFreeParserCtxt(context) }
        unsafe xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue))
        unsafe sink.state.context = context
        unsafe document.withUnsafeBufferPointer { bytes in
            unsafe sink.state.document = bytes
            var offset = 0
            repeat {
                let count = min(chunk, bytes.count - offset)
                let start = unsafe UnsafeRawPointer(bytes.baseAddress)?.advanced(by: offset)
                let text = unsafe start?.assumingMemoryBound(to: CChar.self)
                unsafe xmlParseChunk(context, text, Int32(count), offset + count == bytes.count ? 1 : 0)
                offset += count
            } while offset < bytes.count && sink.state.fault == nil
            unsafe sink.state.document = UnsafeBufferPointer(start: nil, count: 0)
        }
        unsafe sink.state.context = nil
        if let fault = sink.state.fault { return .failure(fault) }
        guard unsafe context.pointee.wellFormed != 0, sink.state.isComplete else { return .failure(.disagreement) }
        return .success(sink.state.positions)
    }

    /// Returns the name of an encoding that is not UTF-8 and is visible in the first bytes (XML 1.0 appendix F).
    private static func otherEncoding(_ document: [UInt8]) -> String? {
        guard document.count >= 2 else { return nil }
        return switch (document[0], document[1]) {
        case (0xFE, 0xFF), (0xFF, 0xFE), (0, _), (_, 0): "UTF-16 or UTF-32"
        case (0x4C, 0x6F): "EBCDIC"
        default: nil
        }
    }
}

/// The receiver of libxml2's callbacks. Its state is one value: an access to it is checked once for a callback, and not once for
/// each property.
private final class XMLPositionSink {
    var state: XMLPositionState

    init(_ state: consuming XMLPositionState) { self.state = state }

    static var handlers: xmlSAXHandler {
        var handlers = unsafe xmlSAXHandler()
        unsafe handlers.initialized = clibxml2_sax2_magic()
        unsafe handlers.internalSubset = { sink, _, _, _ in
            unsafe XMLPositionSink.from(sink)?.state.stop(.parsing(.doctype))
        }
        unsafe handlers.startElementNs = { sink, name, prefix, uri, _, _, count, _, attributes in
            unsafe XMLPositionSink.from(sink)?.state.start(
                name,
                prefix: prefix,
                uri: uri,
                attributes: XMLAttributeList(attributes, count: count)
            )
        }
        unsafe handlers.endElementNs = { sink, _, _, _ in unsafe XMLPositionSink.from(sink)?.state.end() }
        unsafe handlers.characters = { sink, text, count in
            unsafe XMLPositionSink.from(sink)?.state.characters(text, count: count)
        }
        unsafe handlers.serror = { sink, error in
            guard let failure = unsafe XMLFailure(error) else { return }
            unsafe XMLPositionSink.from(sink)?.state.stop(.parsing(failure))
        }
        return unsafe handlers
    }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> XMLPositionSink? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<XMLPositionSink>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// The events that libxml2 has reported so far.
@safe
private struct XMLPositionState {
    var positions = XMLPositions()
    var fault: XMLPositionFault?
    var context: xmlParserCtxtPtr?
    /// The document, while it is parsed.
    var document = unsafe UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    private let selection: XMLSelection
    /// The number of start tags so far.
    private var opened = 0
    /// The numbers of the tags of the open elements.
    private var open: [Int] = []
    /// The namespace of the root. libxml2 holds it as long as the parser.
    private var rootNamespace: UnsafePointer<xmlChar>?
    /// The index of the element of which the text is read, and its tag.
    private var reading: (element: Int, tag: Int)?
    /// The text of that element.
    private var text: [UInt8] = []

    init(tags: [XMLTag], selection: XMLSelection) {
        self.selection = selection
        positions.tags = tags
        // Enough for a small document at once; the arrays of a large one grow.
        let few = min(tags.count, 64)
        positions.elements.reserveCapacity(few)
        positions.attributes.reserveCapacity(few)
        open.reserveCapacity(8)
    }

    /// True if libxml2 reported every tag.
    var isComplete: Bool { open.isEmpty && opened == positions.tags.count && opened > 0 }

    mutating func stop(_ why: XMLPositionFault) {
        if fault == nil { fault = why }
        if let context = unsafe context { unsafe xmlStopParser(context) }
    }

    mutating func start(
        _ name: UnsafePointer<xmlChar>?,
        prefix: UnsafePointer<xmlChar>?,
        uri: UnsafePointer<xmlChar>?,
        attributes: XMLAttributeList
    ) {
        guard fault == nil, let name = unsafe name else { return }
        guard opened < positions.tags.count else { return stop(.disagreement) }
        let tag = positions.tags[opened]
        var cursor = unsafe XMLAttributeCursor(in: document, at: tag)
        guard Int(tag.depth) == open.count + 1, unsafe cursor.skip(prefix: prefix, name: name) else {
            return stop(.disagreement)
        }
        let parent = open.last ?? -1
        let number = opened
        open.append(number)
        opened += 1
        if number == 0 { unsafe openRoot(name, uri: uri) }
        let index = unsafe selection.elements.index(of: name)
        guard index != nil || attributes.mention(selection.linkNamespace) else { return }
        let first = positions.attributes.count
        guard note(attributes, at: &cursor) else { return stop(.disagreement) }
        let isOwn = unsafe xmlStrEqual(uri, rootNamespace) != 0
        positions.elements.append(
            XMLPositions.Element(
                index: index.map { UInt8($0) } ?? .max,
                namespace: isOwn ? .own : .other,
                number: Int32(number),
                above: Int32(parent),
                firstAttribute: Int32(first),
                attributeCount: Int32(positions.attributes.count - first)
            )
        )
        guard let index, index >= selection.firstText else { return }
        reading = (positions.elements.count - 1, number)
        positions.elements[positions.elements.count - 1].textEnd = -2
        text.removeAll(keepingCapacity: true)
    }

    private mutating func openRoot(_ name: UnsafePointer<xmlChar>, uri: UnsafePointer<xmlChar>?) {
        unsafe rootNamespace = uri
        positions.rootName = unsafe String(cString: name)
        positions.rootNamespace = unsafe uri.map { unsafe String(cString: $0) } ?? ""
        guard let context = unsafe context, let encoding = unsafe declaredEncoding(of: context) else { return }
        if encoding.lowercased() != "utf-8" { stop(.parsing(.unsupportedEncoding(encoding))) }
    }

    /// Adds the locations of the selected attributes of a tag; false if the tag has others than libxml2 reports.
    private mutating func note(_ attributes: XMLAttributeList, at cursor: inout XMLAttributeCursor) -> Bool {
        for position in 0..<attributes.count {
            guard let attribute = unsafe attributes[position], let found = unsafe cursor.next(attribute) else {
                return false
            }
            let isPlain = unsafe attribute.uri == nil
            let isLink = unsafe !isPlain && attribute.isIn(selection.linkNamespace)
            guard isPlain || isLink else { continue }
            let namespace: XMLPositions.Namespace = isPlain ? .own : .link
            let index = unsafe selection.attributes.index(of: attribute.name)
            guard isLink || index != nil else { continue }
            positions.attributes.append(
                XMLPositions.Attribute(
                    index: index.map { UInt8($0) } ?? .max,
                    namespace: namespace,
                    isLiteral: found.isLiteral,
                    start: Int32(found.value.lowerBound),
                    end: Int32(found.value.upperBound)
                )
            )
        }
        return cursor.isAtEnd()
    }

    mutating func end() {
        guard fault == nil else { return }
        guard let tag = open.popLast() else { return stop(.disagreement) }
        guard let reading, reading.tag == tag else { return }
        self.reading = nil
        let document = unsafe document.span
        let start = Int(positions.tags[tag].end)
        guard !positions.tags[tag].isEmpty else {
            setText(start..<start, of: reading.element)
            return
        }
        guard let end = document.firstIndex(of: UInt8(ascii: "<"), from: start) else { return stop(.disagreement) }
        if document.starts(with: "<![CDATA[", at: end) { return readSection(at: end, from: start, reading.element) }
        guard document.starts(with: "</", at: end) else { return }
        guard document.decodedXML(start..<end, isAttribute: false) == text else { return stop(.disagreement) }
        setText(start..<end, of: reading.element)
    }

    /// Reads the text of an element that is a CDATA section with white space around it. Any other content is mixed.
    private mutating func readSection(at mark: Int, from start: Int, _ element: Int) {
        let document = unsafe document.span
        let inner = mark + 9
        guard let size = document.extracting(inner...).firstPosition(of: "]]>".utf8.span) else { return }
        let end = inner + size
        guard let close = document.firstIndex(of: UInt8(ascii: "<"), from: end + 3),
            document.starts(with: "</", at: close)
        else { return }
        let (before, after) = (document.extracting(start..<mark), document.extracting(end + 3..<close))
        guard before.isXMLSpace, after.isXMLSpace else { return }
        guard let first = document.decodedXML(start..<mark, isAttribute: false),
            let last = document.decodedXML(end + 3..<close, isAttribute: false)
        else { return stop(.disagreement) }
        // libxml2 reads a carriage return as a line feed here too: with one, the bytes are not the value.
        let value = unsafe Array(self.document[inner..<end])
        guard !value.contains(0x0D) else { return }
        guard first + value + last == text else { return stop(.disagreement) }
        positions.elements[element].isCharacterData = true
        setText(inner..<end, of: element)
    }

    private mutating func setText(_ text: Range<Int>, of element: Int) {
        positions.elements[element].textStart = Int32(text.lowerBound)
        positions.elements[element].textEnd = Int32(text.upperBound)
    }

    mutating func characters(_ bytes: UnsafePointer<xmlChar>?, count: Int32) {
        guard reading != nil, let bytes = unsafe bytes, count > 0 else { return }
        unsafe text.append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
