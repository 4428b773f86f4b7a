// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CSecondOpinion

/// What libxml2's tree reader makes of a document.
struct XMLTree: Equatable {
    enum Node: Hashable {
        case start(namespace: [UInt8], name: [UInt8])
        case attribute(namespace: [UInt8], name: [UInt8], value: [UInt8])
        case text([UInt8])
        case end
        /// A comment, a processing instruction, or something else than elements and text.
        case other(UInt8)
    }

    let nodes: [Node]

    /// Nil where the document is not well-formed, or uses a prefix that it does not declare.
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

    /// The URI of a namespace: the tree has an `&` in it as `&#38;`, which is a fault of libxml2.
    private static func namespace(_ uri: [UInt8]) -> [UInt8] {
        var rest = uri[...]
        var plain: [UInt8] = []
        while let byte = rest.popFirst() {
            plain.append(byte)
            if byte == UInt8(ascii: "&"), rest.starts(with: "#38;".utf8) { rest = rest.dropFirst(4) }
        }
        return plain
    }

    /// The elements and texts alone, neighbouring texts as one.
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

/// What OpenSSL makes of a Base64 text.
///
/// The alphabets, optional padding and strictness are decided here, by a way of its own; the bits are OpenSSL's.
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
