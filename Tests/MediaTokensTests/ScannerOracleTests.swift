// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLibXML2
import Glibc
import Testing

@testable import MediaTokens

/// The scanner reads what libxml2 reads, and refuses what libxml2 refuses.
@Suite struct `The scanner and libxml2` {
    @Test func `agree about generated bodies`() throws {
        var generator = BodyGenerator(seed: 20_310_102)
        var accepted = 0
        for _ in 0..<20_000 {
            let body = generator.body()
            let (ours, theirs) = (scan(body), Oracle.fields(body))
            #expect(ours == theirs, "\(String(decoding: body, as: UTF8.self))")
            if ours != nil { accepted += 1 }
        }
        #expect(accepted > 5000, "\(accepted): the generator makes good bodies too")
    }

    /// A damaged body may be refused for less (comments, names of other scripts), but never read otherwise.
    @Test func `never disagree about what is accepted`() throws {
        var generator = BodyGenerator(seed: 7)
        var accepted = 0
        for _ in 0..<40_000 {
            let body = generator.damaged(generator.body())
            guard let ours = scan(body) else { continue }
            accepted += 1
            #expect(ours == Oracle.fields(body), "\(String(decoding: body, as: UTF8.self))")
        }
        #expect(accepted > 1000, "\(accepted)")
    }

    /// The fields by name, or nil where the scanner refuses the body.
    private func scan(_ body: [UInt8]) -> [String: [UInt8]]? {
        let content = 11..<(body.count - 12)
        guard body.starts(with: "<authToken>".utf8), content.lowerBound <= content.upperBound else { return nil }
        var scanner = BodyScanner(body.span.extracting(content))
        guard let texts = try? scanner.scan() else { return nil }
        let scratch = scanner.takeScratch()
        var fields: [String: [UInt8]] = [:]
        for name in TokenFields.Name.allCases where !texts[name.rawValue].isMissing {
            let span = texts[name.rawValue].span(body.span.extracting(content), scratch.span)
            fields["\(name.startTag)"] = span.indices.map { span[$0] }
        }
        return fields
    }
}

/// libxml2's tree, by its own parser and its own text.
private enum Oracle {
    static func fields(_ body: [UInt8]) -> [String: [UInt8]]? {
        let options = Int32(XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue)
        let document = unsafe body.withUnsafeBytes { bytes in
            unsafe xmlReadMemory(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count),
                nil,
                "UTF-8",
                options
            )
        }
        guard let document = unsafe document else { return nil }
        defer { unsafe xmlFreeDoc(document) }
        guard let root = unsafe xmlDocGetRootElement(document) else { return nil }
        var fields: [String: [UInt8]] = [:]
        var next = unsafe root.pointee.children
        while true {
            guard let node = unsafe next else { break }
            unsafe next = node.pointee.next
            guard unsafe node.pointee.type == XML_ELEMENT_NODE else {
                guard unsafe (text(node) ?? []).allSatisfy({ [0x20, 0x9, 0xA, 0xD].contains($0) }) else { return nil }
                continue
            }
            let name = unsafe node.pointee.ns == nil ? "<\(String(cString: node.pointee.name))>" : ""
            guard TokenFields.Name.allCases.contains(where: { "\($0.startTag)" == name }) else { continue }
            guard fields[name] == nil, unsafe node.pointee.properties == nil, unsafe isFlat(node) else { return nil }
            fields[name] = unsafe text(node) ?? []
        }
        return fields
    }

    /// Whether there is nothing but text in an element.
    private static func isFlat(_ node: xmlNodePtr) -> Bool {
        var next = unsafe node.pointee.children
        while true {
            guard let child = unsafe next else { return true }
            guard unsafe child.pointee.type == XML_TEXT_NODE || child.pointee.type == XML_CDATA_SECTION_NODE else {
                return false
            }
            unsafe next = child.pointee.next
        }
    }

    private static func text(_ node: xmlNodePtr) -> [UInt8]? {
        guard let content = unsafe xmlNodeGetContent(node) else { return nil }
        defer { unsafe free(content) }
        return unsafe Array(UnsafeBufferPointer(start: content, count: Int(xmlStrlen(content))))
    }
}

/// A maker of bodies: good ones, and ones with a fault.
private struct BodyGenerator {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func body() -> [UInt8] {
        var text = ""
        for _ in 0..<Int.random(in: 0...9, using: &random) { text += pick(["", "", " ", "\n\t", "\r\n"]) + element() }
        return Array("<authToken>\(text)</authToken>".utf8)
    }

    /// A body with a few bytes changed, gone, or there twice.
    mutating func damaged(_ body: [UInt8]) -> [UInt8] {
        var inner = Array(body[11..<(body.count - 12)])
        for _ in 0..<Int.random(in: 1...3, using: &random) where !inner.isEmpty {
            let place = inner.indices.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<4, using: &random) {
            case 0: inner[place] = UInt8.random(in: .min ... .max, using: &random)
            case 1: inner.remove(at: place)
            case 2: inner.insert(pick(Array("<>/&;]['\"= \r!?-".utf8)), at: place)
            default: inner.insert(contentsOf: inner[place...].prefix(8), at: place)
            }
        }
        return Array("<authToken>".utf8) + inner + Array("</authToken>".utf8)
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }

    private mutating func element() -> String {
        let fields = TokenFields.Name.allCases.map { String("\($0.startTag)".dropFirst().dropLast()) }
        if Int.random(in: 0..<4, using: &random) == 0 { return unknown(depth: 0) }
        let name = pick(fields)
        let space = pick(["", "", "", " ", "\n"])
        if Int.random(in: 0..<12, using: &random) == 0 { return "<\(name)\(space)/>" }
        return "<\(name)\(space)>\(text())</\(name)\(pick(["", "", " "]))>"
    }

    private mutating func unknown(depth: Int) -> String {
        let name = pick(["x", "note", "a-b", "c.d", "_e", "ttls"])
        let attributes = pick(["", "", " a='1'", " a=\"&lt;\" b = 'x>y'", " a='1' a='2'", " a=1", " a='&no;'"])
        if Int.random(in: 0..<3, using: &random) == 0 { return "<\(name)\(attributes)/>" }
        var content = text()
        if depth < 4, Bool.random(using: &random) { content += unknown(depth: depth + 1) + text() }
        return "<\(name)\(attributes)>\(content)</\(name)>"
    }

    private mutating func text() -> String {
        let pieces = [
            "TNT", "a b", " ", "\n", "\r\n", "\r", "é☃𝄞", ">", "]]", "]", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;",
            "&#65;", "&#x1D11E;", "&#13;", "<![CDATA[<b>&amp;]]>", "<![CDATA[]]>", "<![CDATA[]]]]><![CDATA[>]]>",
            "<![CDATA[x\r\ny]]>", "420000", "2031-01-02 03:04:05 -0700", "'\"=/",
        ]
        let faults = ["]]>", "&no;", "&", "<", "&#0;", "&#xFFFF;", "\u{1}", "&#x;", "<![CDATA[", "&#99999999999;"]
        var text = ""
        for _ in 0..<Int.random(in: 0...4, using: &random) { text += pick(pieces) }
        if Int.random(in: 0..<40, using: &random) == 0 { text += pick(faults) }
        return text
    }
}
