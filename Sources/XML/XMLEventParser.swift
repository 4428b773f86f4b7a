// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CLibXML2
internal import Encodings

/// The owner of a libxml2 push parser, which turns the bytes of a document into a list of events.
///
/// Uses SAX2 without a tree: nothing is built that is not needed, and a document of any size takes the memory of one
/// chunk. Refuses document types and all entities but the predefined and numeric ones, and uses no network and no
/// files. The handlers that libxml2 would need for these are absent, and a document type declaration stops the parser
/// before its content is read.
///
/// Not thread-safe. Sendable because it has one owner at a time, and no other code uses its context and its sink.
@safe
package struct XMLEventParser: ~Copyable, @unchecked Sendable {
    private let context: xmlParserCtxtPtr
    private let sink: XMLEventSink

    /// Creates a parser. Returns `nil` if libxml2 cannot allocate memory.
    package init?(limits: XMLLimits) {
        _ = libxml2IsInitialised
        let sink = XMLEventSink(limits: limits)
        var handlers = unsafe XMLEventSink.handlers
        let user = unsafe Unmanaged.passUnretained(sink).toOpaque()
        guard let context = unsafe xmlCreatePushParserCtxt(&handlers, user, nil, 0, nil) else { return nil }
        unsafe xmlCtxtUseOptions(context, Int32(XML_PARSE_NONET.rawValue))
        unsafe sink.context = context
        unsafe self.context = context
        self.sink = sink
    }

    deinit { unsafe xmlFreeParserCtxt(context) }

    /// The events since the last call of `removeEvents()`.
    package var events: XMLEventList { _read { yield sink.events } }

    /// The reason why parsing stopped, or `nil`.
    package var failure: XMLFailure? { sink.failure }

    package mutating func removeEvents() { sink.events.removeAll() }

    /// Discards the last document.
    package mutating func reset() {
        unsafe xmlCtxtResetPush(context, nil, 0, nil, nil)
        // As in a new parser. Otherwise libxml2 does not look for a byte order mark.
        unsafe context.pointee.charset = XML_CHAR_ENCODING_NONE.rawValue
        sink.reset()
    }

    /// Parses the next bytes of the document. `isLast` marks the last ones.
    package mutating func read(_ chunk: Span<UInt8>, isLast: Bool) {
        guard sink.failure == nil else { return }
        _ = unsafe chunk.withUnsafeBytes { bytes in
            unsafe xmlParseChunk(
                context,
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count),
                isLast ? 1 : 0
            )
        }
        if sink.failure == nil, unsafe context.pointee.wellFormed == 0, unsafe context.pointee.errNo != 0 {
            sink.failure = .syntax(message: "not well-formed", line: 0, column: 0)
        }
    }

    /// True if the dictionary of names has more than 64 KiB, so that the parser should be replaced.
    ///
    /// libxml2 keeps every name that it parsed, and fails permanently at 10 MB. The sender chooses the names.
    package var hasOutgrown: Bool { unsafe xmlDictGetUsage(context.pointee.dict) > 64 * 1024 }
}

/// The receiver of libxml2's callbacks.
@safe
private final class XMLEventSink {
    var events = XMLEventList()
    var failure: XMLFailure?
    var context: xmlParserCtxtPtr?
    private let limits: XMLLimits
    private var depth = 0
    private var elements = 0
    /// The line of the last event. The search for the start of a tag is unnecessary if the tag ends on the same line.
    private var lastLine = 1
    /// The kind of text in the open element since its last tag.
    private var run = TextRun.blank

    private enum TextRun { case blank, text, interrupted }

    init(limits: XMLLimits) { self.limits = limits }

    func reset() {
        events.removeAll()
        failure = nil
        depth = 0
        elements = 0
        lastLine = 1
        run = .blank
    }

    private func stop(_ why: XMLFailure) {
        if failure == nil { failure = why }
        unsafe xmlStopParser(context)
    }

    private var line: Int {
        guard let input = unsafe context?.pointee.input else { return 0 }
        lastLine = Int(unsafe input.pointee.line)
        return lastLine
    }

    /// The line on which the last parsed tag begins.
    ///
    /// libxml2 reports the line of its end. The tag is still in the buffer, because the values of its attributes point
    /// there, and contains no other `<`.
    private var lineOfTag: Int {
        let known = lastLine
        let end = line
        guard end != known, let input = unsafe context?.pointee.input?.pointee,
            let base = unsafe input.base, var place = unsafe input.cur, unsafe place > base
        else { return end }
        var start = end
        repeat {
            unsafe place -= 1
            if unsafe place.pointee == UInt8(ascii: "<") { return start }
            if unsafe place.pointee == 0xA { start -= 1 }
        } while unsafe place > base
        return end
    }

    private func store(_ text: UnsafePointer<xmlChar>?) -> Range<Int> {
        guard let text = unsafe text else { return 0..<0 }
        return unsafe events.store(UnsafeBufferPointer(start: text, count: Int(xmlStrlen(text))))
    }

    // MARK: Callbacks

    static var handlers: xmlSAXHandler {
        var handlers = unsafe xmlSAXHandler()
        unsafe handlers.initialized = clibxml2_sax2_magic()
        unsafe handlers.internalSubset = { sink, _, _, _ in unsafe XMLEventSink.from(sink)?.stop(.doctype) }
        unsafe handlers.startElementNs = { sink, name, _, uri, _, _, attributeCount, _, attributes in
            unsafe XMLEventSink.from(sink)?.start(name, uri, attributes, Int(attributeCount))
        }
        unsafe handlers.endElementNs = { sink, _, _, _ in unsafe XMLEventSink.from(sink)?.end() }
        unsafe handlers.characters = { sink, text, count in unsafe XMLEventSink.from(sink)?.text(text, count) }
        unsafe handlers.cdataBlock = { sink, text, count in unsafe XMLEventSink.from(sink)?.section(text, count) }
        unsafe handlers.ignorableWhitespace = { sink, text, count in unsafe XMLEventSink.from(sink)?.text(text, count) }
        unsafe handlers.comment = { sink, _ in unsafe XMLEventSink.from(sink)?.interrupt() }
        unsafe handlers.processingInstruction = { sink, _, _ in unsafe XMLEventSink.from(sink)?.interrupt() }
        unsafe handlers.serror = { sink, error in unsafe XMLEventSink.from(sink)?.error(error) }
        return unsafe handlers
    }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> XMLEventSink? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<XMLEventSink>.fromOpaque(pointer).takeUnretainedValue()
    }

    private func start(
        _ name: UnsafePointer<xmlChar>?,
        _ namespace: UnsafePointer<xmlChar>?,
        _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
        _ attributeCount: Int
    ) {
        guard failure == nil else { return }
        depth += 1
        elements += 1
        run = .blank
        if depth == 1, let refusal = unsafe refusalOfRoot(name) { return stop(refusal) }
        guard depth <= limits.depth else { return stop(.tooDeep) }
        guard elements <= limits.elements else { return stop(.tooManyElements) }
        let line = lineOfTag
        unsafe events.append(
            XMLEvent(kind: .start, namespace: store(namespace), name: store(name), value: 0..<0, line: line)
        )
        guard let attributes = unsafe attributes else { return }
        for index in 0..<attributeCount {
            // Five pointers each: local name, prefix, namespace, value, end of value.
            let attribute = unsafe attributes + 5 * index
            guard let value = unsafe attribute[3], let end = unsafe attribute[4] else { continue }
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

    private func end() {
        guard failure == nil else { return }
        depth -= 1
        run = .blank
        events.append(XMLEvent(kind: .end, namespace: 0..<0, name: 0..<0, value: 0..<0, line: line))
    }

    private func text(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard failure == nil, let text = unsafe text, count > 0 else { return }
        let line = line
        let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
        unsafe noticeText(bytes, line)
        let value = unsafe events.store(bytes)
        events.append(XMLEvent(kind: .text, namespace: 0..<0, name: 0..<0, value: value, line: line))
    }

    private func section(_ text: UnsafePointer<xmlChar>?, _ count: Int32) {
        guard failure == nil, let text = unsafe text, count > 0 else { return }
        let line = line
        let bytes = unsafe UnsafeBufferPointer(start: text, count: Int(count))
        unsafe noticeText(bytes, line)
        // libxml2 has read the byte after a piece before it reports the piece: more of the section, or its `]]>`.
        let value = unsafe events.storeSection(bytes, next: text[Int(count)])
        events.append(XMLEvent(kind: .text, namespace: 0..<0, name: 0..<0, value: value, line: line))
    }

    /// Reports an interruption if a comment or processing instruction separates this text from text before it.
    private func noticeText(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Int) {
        guard run != .text, unsafe !bytes.allSatisfy(\.isXMLSpace) else { return }
        if run == .interrupted {
            events.append(XMLEvent(kind: .interruption, namespace: 0..<0, name: 0..<0, value: 0..<0, line: line))
        }
        run = .text
    }

    /// Records a comment or processing instruction.
    private func interrupt() {
        if run == .text { run = .interrupted }
    }

    private func error(_ error: UnsafeMutablePointer<xmlError>?) {
        guard failure == nil, let failure = unsafe XMLFailure(error) else { return }
        stop(failure)
    }
}
