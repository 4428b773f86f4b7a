// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLibXML2

/// The result of libxml2 for an element: the reference for well-formedness and text.
struct LibXML2Oracle {
    /// The names and texts of the root's children, in order.
    let children: [(name: String, text: [UInt8])]
    /// True if the document has constructs that are well-formed XML but not allowed in tokens.
    let hasMore: Bool

    /// Parses `document`; `nil` if it is not well-formed.
    init?(_ document: [UInt8]) {
        let options = Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue)
        let parsed = unsafe document.withUnsafeBytes { bytes in
            unsafe xmlReadMemory(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count),
                nil,
                "UTF-8",
                options
            )
        }
        guard let parsed = unsafe parsed else { return nil }
        defer { unsafe xmlFreeDoc(parsed) }
        guard let root = unsafe xmlDocGetRootElement(parsed) else { return nil }
        var children: [(name: String, text: [UInt8])] = []
        var more = unsafe parsed.pointee.children != root || root.pointee.next != nil
        var next = unsafe root.pointee.children
        while let child = unsafe next {
            unsafe next = unsafe child.pointee.next
            let text = unsafe Self.text(child)
            switch unsafe child.pointee.type {
            case XML_ELEMENT_NODE:
                let name = unsafe String(cString: child.pointee.name)
                let isField = Self.fields.contains(name)
                children.append((name, text))
                if isField, unsafe child.pointee.properties != nil || child.pointee.nsDef != nil { more = true }
                if isField, unsafe child.pointee.ns != nil { more = true }
                if unsafe Self.hasMore(in: child, isField: isField, depth: 1) { more = true }
            case XML_TEXT_NODE: more = more || !text.allSatisfy { [0x20, 0x9, 0xA, 0xD].contains($0) }
            default: more = true
            }
        }
        self.children = children
        hasMore = more
    }

    private static let fields = Set(TokenBody.mandatory + ["proxyMvpdId"])

    /// True if `element` has constructs that tokens must not hold: only elements that are not fields may have children.
    @unsafe
    private static func hasMore(in element: xmlNodePtr, isField: Bool, depth: Int) -> Bool {
        guard depth <= 16, unsafe isASCII(element.pointee.name) else { return true }
        var attributes = 0
        var attribute = unsafe element.pointee.properties
        while let current = unsafe attribute {
            attributes += 1
            guard unsafe isASCII(current.pointee.name) else { return true }
            unsafe attribute = unsafe current.pointee.next
        }
        guard attributes <= 16 else { return true }
        var next = unsafe element.pointee.children
        while let child = unsafe next {
            unsafe next = unsafe child.pointee.next
            switch unsafe child.pointee.type {
            case XML_TEXT_NODE, XML_CDATA_SECTION_NODE: continue
            case XML_ELEMENT_NODE where !isField:
                if unsafe hasMore(in: child, isField: false, depth: depth + 1) { return true }
            default: return true
            }
        }
        return false
    }

    /// True if the name is ASCII. The scanner refuses names in other scripts.
    @unsafe
    private static func isASCII(_ name: UnsafePointer<xmlChar>) -> Bool {
        unsafe String(cString: name).unicodeScalars.allSatisfy(\.isASCII)
    }

    @unsafe
    private static func text(_ node: xmlNodePtr) -> [UInt8] {
        guard let buffer = unsafe xmlBufferCreate() else { return [] }
        defer { unsafe xmlBufferFree(buffer) }
        guard unsafe xmlNodeBufGetContent(buffer, node) == 0, let content = unsafe xmlBufferContent(buffer) else {
            return []
        }
        return unsafe [UInt8](UnsafeBufferPointer(start: content, count: Int(xmlBufferLength(buffer))))
    }
}
