// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CSecondOpinion

/// A document as libxml2's tree reader parses it.
struct XMLTree: Equatable {
    enum Node: Hashable {
        case start(namespace: [UInt8], name: [UInt8])
        case attribute(namespace: [UInt8], name: [UInt8], value: [UInt8])
        case text([UInt8])
        case end
        /// A comment, a processing instruction, or any other node.
        case other(UInt8)
    }

    let nodes: [Node]

    /// Parses a document. Returns `nil` if it is not well-formed or uses an undeclared prefix.
    init?(_ document: [UInt8]) {
        var size = 0
        guard let log = unsafe second_xml(document, document.count, &size) else { return nil }
        defer { unsafe second_free(log) }
        var input = Input(unsafe Array(UnsafeRawBufferPointer(start: log, count: size)))
        var nodes: [Node] = []
        while !input.rest.isEmpty {
            switch input.choice() {
            case UInt8(ascii: "S"): nodes.append(.start(namespace: Self.namespace(input.part()), name: input.part()))
            case UInt8(ascii: "A"):
                let namespace = Self.namespace(input.part())
                nodes.append(.attribute(namespace: namespace, name: input.part(), value: input.part()))
            case UInt8(ascii: "T"): nodes.append(.text(input.part()))
            case UInt8(ascii: "E"): nodes.append(.end)
            case let other: nodes.append(.other(other))
            }
        }
        self.nodes = nodes
    }

    /// Returns the URI of a namespace. The tree has `&` in it as `&#38;`, a bug of libxml2, which is undone here.
    private static func namespace(_ uri: [UInt8]) -> [UInt8] {
        var rest = uri[...]
        var plain: [UInt8] = []
        while let byte = rest.popFirst() {
            plain.append(byte)
            if byte == UInt8(ascii: "&"), rest.starts(with: "#38;".utf8) { rest = rest.dropFirst(4) }
        }
        return plain
    }

    /// The elements and texts, with neighbouring texts joined.
    var content: [Node] { Self.joiningTexts(nodes.filter { if case .other = $0 { false } else { true } }) }

    static func joiningTexts(_ nodes: [Node]) -> [Node] {
        var joined: [Node] = []
        for node in nodes {
            if case .text(let text) = node {
                if text.isEmpty { continue }
                if case .text(let before) = joined.last {
                    joined[joined.count - 1] = .text(before + text)
                    continue
                }
            }
            joined.append(node)
        }
        return joined
    }
}

/// Decodes a Base64 text with OpenSSL.
///
/// The alphabets, optional padding and strictness are implemented here, independently of the library. OpenSSL decodes the
/// bits.
func secondBase64(_ text: [UInt8]) -> [UInt8]? {
    var text = text.map {
        $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0
    }
    if text.count % 4 == 0 {
        for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
    }
    let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    guard text.allSatisfy(alphabet.contains), text.count % 4 != 1 else { return nil }
    let padding = (4 - text.count % 4) % 4
    text += [UInt8](repeating: UInt8(ascii: "="), count: padding)
    var output = [UInt8](repeating: 0, count: text.count / 4 * 3 + 3)
    var again = [UInt8](repeating: 0, count: text.count + 4)
    let size = unsafe second_base64(text, text.count, &output, &again)
    guard size >= padding, again.prefix(text.count).elementsEqual(text) else { return nil }
    return Array(output.prefix(Int(size) - padding))
}
