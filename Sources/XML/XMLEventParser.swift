// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2
internal import Encodings

/// The owner of a libxml2 push parser, which turns the bytes of a document into a list of events.
///
/// Uses SAX2 without a tree: nothing is built that is not needed, and a document of any size uses the memory of one
/// chunk. Refuses document types and all entities but the predefined and numeric ones, and uses no network and no
/// files. The handlers that libxml2 would need for these are absent, and a document type declaration stops the parser
/// before its content is read.
///
/// Not thread-safe. Sendable because it has one owner at a time, and no other code uses its context and its sink.
@safe
package struct XMLEventParser: ~Copyable, @unchecked Sendable {
    private let context: xmlParserCtxtPtr
    private let sink: UnsafeMutablePointer<XMLEventSink>

    /// Creates a parser. Returns `nil` if libxml2 cannot allocate memory.
    package init?(limits: XMLLimits) {
        _ = libxml2IsInitialised
        var handlers = unsafe XMLEventSink.handlers
        // Not an object: every access of a callback to one would be counted and checked.
        let sink = UnsafeMutablePointer<XMLEventSink>.allocate(capacity: 1)
        unsafe sink.initialize(to: XMLEventSink(limits: limits))
        guard let context = unsafe xmlCreatePushParserCtxt(&handlers, sink, nil, 0, nil) else {
            unsafe sink.deinitialize(count: 1)
            unsafe sink.deallocate()
            return nil
        }
        unsafe xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue))
        unsafe sink.pointee.context = context
        unsafe self.context = context
        unsafe self.sink = sink
    }

    deinit {
        unsafe xmlFreeParserCtxt(context)
        unsafe sink.deinitialize(count: 1)
        unsafe sink.deallocate()
    }

    /// The events since the last call of `removeEvents()`.
    package var events: XMLEvents {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(sink.pointee.events.view, borrowing: self) }
    }

    /// The reason why parsing stopped, or `nil`.
    package var failure: XMLFailure? { unsafe sink.pointee.failure }

    package mutating func removeEvents() { unsafe sink.pointee.events.removeAll() }

    /// Discards the last document.
    package mutating func reset() {
        unsafe xmlCtxtResetPush(context, nil, 0, nil, nil)
        // As in a new parser. Otherwise libxml2 does not look for a byte order mark.
        unsafe context.pointee.charset = XML_CHAR_ENCODING_NONE.rawValue
        unsafe sink.pointee.reset()
    }

    /// Parses the next bytes of the document. `isLast` marks the last ones.
    package mutating func read(_ chunk: Span<UInt8>, isLast: Bool) {
        guard failure == nil else { return }
        _ = unsafe chunk.withUnsafeBytes { bytes in
            unsafe xmlParseChunk(
                context,
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count),
                isLast ? 1 : 0
            )
        }
        if failure == nil, unsafe context.pointee.wellFormed == 0, unsafe context.pointee.errNo != 0 {
            unsafe sink.pointee.failure = .syntax(message: "not well-formed", line: 0, column: 0)
        }
    }

    /// True if the dictionary of names has more than 64 KiB, so that the parser should be replaced.
    ///
    /// libxml2 retains every name that it parsed, and fails permanently at 10 MB. The sender chooses the names.
    package var hasOutgrown: Bool { unsafe xmlDictGetUsage(context.pointee.dict) > 64 * 1024 }
}

/// The receiver of libxml2's callbacks.
@safe
private struct XMLEventSink: ~Copyable {
    var events = XMLEventList()
    var failure: XMLFailure?
    var context: xmlParserCtxtPtr?
    private let limits: XMLLimits
    private var depth = 0
    private var elements = 0
    /// The line of the last event. The search for the start of a tag is unnecessary if the tag ends on the same line.
    private var lastLine: UInt32 = 1
    /// The kind of text in the open element since its last tag.
    private var run = TextRun.blank

    private enum TextRun { case blank, text, interrupted }

    init(limits: XMLLimits) { self.limits = limits }

    mutating func reset() {
        events.removeAll()
        failure = nil
        depth = 0
        elements = 0
        lastLine = 1
        run = .blank
    }

    private mutating func stop(_ why: XMLFailure) {
        if failure == nil { failure = why }
        unsafe xmlStopParser(context)
    }

    private var line: UInt32 {
        mutating get {
            guard let input = unsafe context?.pointee.input else { return 0 }
            lastLine = UInt32(clamping: unsafe input.pointee.line)
            return lastLine
        }
    }

    /// The line on which the last parsed tag begins.
    ///
    /// libxml2 reports the line of its end. The tag is still in the buffer, because the values of its attributes point
    /// there, and contains no other `<`.
    private var lineOfTag: UInt32 {
        mutating get {
            let known = lastLine
            let end = line
            guard end != known, let input = unsafe context?.pointee.input?.pointee,
                let base = unsafe input.base, var cursor = unsafe input.cur, unsafe cursor > base
            else { return end }
            var start = end
            repeat {
                unsafe cursor -= 1
                if unsafe cursor.pointee == UInt8(ascii: "<") { return start }
                if unsafe cursor.pointee == 0xA, start > 1 { start -= 1 }
            } while unsafe cursor > base
            return end
        }
    }

    private mutating func store(_ text: UnsafePointer<xmlChar>?) -> XMLEvent.Bytes {
        guard let text = unsafe text else { return 0..<0 }
        return unsafe events.store(UnsafeBufferPointer(start: text, count: Int(xmlStrlen(text))))
    }

    /// The most bytes of a list before another element or attribute. A namespace is stored with each of them, however long it is.
    private static let maximumBytes = 16 * 1024 * 1024

    private var hasRoom: Bool { events.byteCount <= Self.maximumBytes }

    // MARK: Callbacks

    static var handlers: xmlSAXHandler {
        var handlers = unsafe xmlSAXHandler()
        unsafe handlers.initialized = clibxml2_sax2_magic()
        unsafe handlers.internalSubset = { sink, _, _, _ in unsafe XMLEventSink.from(sink)?.pointee.stop(.doctype) }
        unsafe handlers.startElementNs = { sink, name, _, uri, _, _, attributeCount, _, attributes in
            unsafe XMLEventSink.from(sink)?.pointee.start(
                name,
                namespace: uri,
                attributes: attributes,
                attributeCount: Int(attributeCount)
            )
        }
        unsafe handlers.endElementNs = { sink, _, _, _ in unsafe XMLEventSink.from(sink)?.pointee.end() }
        unsafe handlers.characters = { sink, text, count in
            unsafe XMLEventSink.from(sink)?.pointee.text(text, count: count)
        }
        unsafe handlers.cdataBlock = { sink, text, count in
            unsafe XMLEventSink.from(sink)?.pointee.section(text, count: count)
        }
        unsafe handlers.ignorableWhitespace = { sink, text, count in
            unsafe XMLEventSink.from(sink)?.pointee.text(text, count: count)
        }
        unsafe handlers.comment = { sink, _ in unsafe XMLEventSink.from(sink)?.pointee.interrupt() }
        unsafe handlers.processingInstruction = { sink, _, _ in unsafe XMLEventSink.from(sink)?.pointee.interrupt() }
        unsafe handlers.serror = { sink, error in unsafe XMLEventSink.from(sink)?.pointee.error(error) }
        return unsafe handlers
    }

    @inline(__always)
    private static func from(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<XMLEventSink>? {
        unsafe pointer?.assumingMemoryBound(to: XMLEventSink.self)
    }

    private mutating func start(
        _ name: UnsafePointer<xmlChar>?,
        namespace: UnsafePointer<xmlChar>?,
        attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        attributeCount: Int
    ) {
        guard failure == nil else { return }
        depth += 1
        elements += 1
        run = .blank
        if depth == 1, let refusal = unsafe refusalOfRoot(name) { return stop(refusal) }
        guard depth <= limits.depth else { return stop(.tooDeep) }
        guard elements <= limits.elements else { return stop(.tooManyElements) }
        let line = lineOfTag
        guard hasRoom else { return stop(.tooLarge) }
        unsafe events.append(
            XMLEvent(kind: .start, namespace: store(namespace), name: store(name), line: line)
        )
        guard let attributes = unsafe attributes else { return }
        for index in 0..<attributeCount {
            // Five pointers each: local name, prefix, namespace, value, end of value.
            let attribute = unsafe attributes + 5 * index
            guard let value = unsafe attribute[3], let end = unsafe attribute[4] else { continue }
            guard hasRoom else { return stop(.tooLarge) }
            unsafe events.append(
                XMLEvent(
                    kind: .attribute,
                    namespace: store(attribute[2]),
                    name: store(attribute[0]),
                    value: events.storeAttributeValue(UnsafeBufferPointer(start: value, count: end - value)),
                    line: line
                )
            )
        }
    }

    private func refusalOfRoot(_ name: UnsafePointer<xmlChar>?) -> XMLFailure? {
        if let root = limits.root {
            let isWanted = root.withUTF8Buffer { wanted in
                unsafe xmlStrlen(name) == Int32(wanted.count)
                    && xmlStrncmp(name, wanted.baseAddress, Int32(wanted.count)) == 0
            }
            guard isWanted else { return .otherRoot }
        }
        guard limits.utf8Only, let context = unsafe context, let encoding = unsafe declaredEncoding(of: context) else {
            return nil
        }
        switch encoding.lowercased() {
        case "utf-8", "utf8", "us-ascii", "ascii": return nil
        default: return .unsupportedEncoding(encoding)
        }
    }

    private mutating func end() {
        guard failure == nil else { return }
        depth -= 1
        run = .blank
        events.append(XMLEvent(kind: .end, line: line))
    }

    private mutating func text(_ text: UnsafePointer<xmlChar>?, count: Int32) {
        guard failure == nil, let text = unsafe text, count > 0 else { return }
        let line = line
        let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
        unsafe noticeText(bytes, line: line)
        let value = unsafe events.store(bytes)
        events.append(XMLEvent(kind: .text, value: value, line: line))
    }

    private mutating func section(_ text: UnsafePointer<xmlChar>?, count: Int32) {
        guard failure == nil, let text = unsafe text, count > 0 else { return }
        let line = line
        let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
        unsafe noticeText(bytes, line: line)
        // libxml2 has read the byte after a piece before it reports the piece: more of the section, or its `]]>`.
        let value = unsafe events.storeSection(bytes, next: text[Int(count)])
        events.append(XMLEvent(kind: .text, value: value, line: line))
    }

    /// Reports an interruption if a comment or processing instruction separates this text from text before it.
    private mutating func noticeText(_ bytes: UnsafeBufferPointer<UInt8>, line: UInt32) {
        guard run != .text, unsafe !bytes.allSatisfy(\.isXMLSpace) else { return }
        if run == .interrupted {
            events.append(XMLEvent(kind: .interruption, line: line))
        }
        run = .text
    }

    /// Records a comment or processing instruction.
    private mutating func interrupt() {
        if run == .text { run = .interrupted }
    }

    private mutating func error(_ error: UnsafeMutablePointer<xmlError>?) {
        guard failure == nil, let failure = unsafe XMLFailure(error) else { return }
        stop(failure)
    }
}
