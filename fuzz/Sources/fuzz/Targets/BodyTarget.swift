// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings
@testable import MediaTokens

extension Target {
    /// The scanner of a token's content: accepted content is well-formed and has the same fields in libxml2. Plain fields
    /// that libxml2 accepts are accepted.
    static let body = Target(name: "body") { input in
        let content = input.bytes
        guard content.count <= Verifier.maximumEncodedSize else { return }
        let document = Array("<authToken>".utf8) + content + "</authToken>".utf8
        let tree = XMLTree(document)
        var scanner = BodyScanner(content.span)
        let texts: BodyScanner.Texts
        do throws(RefusalReason) { texts = try scanner.scan() } catch {
            // White space between elements counts as text if it is written as CDATA or as a reference. The tree does not
            // show the difference.
            let isSpelled = content.contains(UInt8(ascii: "&")) || content.contains(UInt8(ascii: "!"))
            if let fields = tree?.plainFields(allowingSpace: !isSpelled) {
                demand(
                    error == .repeatedField && Set(fields.map(\.name)).count < fields.count,
                    or: "\(content.debugText) is refused: \(error)"
                )
            }
            readFields(of: document, content: "<authToken>".utf8.count..<document.count - "</authToken>".utf8.count)
            return
        }
        let scratch = scanner.releaseScratch()
        if let tree {
            for name in TokenFields.Name.allCases {
                let text = texts[name.rawValue]
                let expected = tree.text(of: [UInt8]("\(name.startTag)".utf8.dropFirst().dropLast()))
                guard !text.isMissing else {
                    demand(expected == nil, or: "\(name) is overlooked in \(content.debugText)")
                    continue
                }
                var bytes: [UInt8] = []
                bytes.append(copying: text.span(in: content.span, scratch: scratch.span))
                demand(bytes == expected, or: "\(name) is read differently in \(content.debugText)")
            }
        } else {
            // Only names with colons are accepted beyond libxml2, because namespaces mean nothing in tokens.
            demand(content.contains(UInt8(ascii: ":")), or: "what is not well-formed is taken: \(content.debugText)")
        }
        readFields(of: document, content: "<authToken>".utf8.count..<document.count - "</authToken>".utf8.count)
    }

    private static func readFields(of raw: [UInt8], content: Range<Int>) {
        guard let fields = try? TokenFields.read(raw.span, content: content) else { return }
        demand(!fields.isMissing(.requestorID) && !fields.isMissing(.resourceID), or: "a mandatory field is missing")
        _ = fields.string(.proxyMVPDID)
    }
}

extension XMLTree {
    /// Returns the names and texts of the root's children, if there are only elements that contain text, with white space
    /// between them if `takingSpace` is true; otherwise `nil`.
    fileprivate func plainFields(allowingSpace: Bool) -> [(name: [UInt8], text: [UInt8])]? {
        var fields: [(name: [UInt8], text: [UInt8])] = []
        var depth = 0
        for node in nodes {
            switch node {
            case .start(let namespace, let name):
                depth += 1
                guard depth <= 2, namespace.isEmpty, name.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: ":") }) else {
                    return nil
                }
                if depth == 2 { fields.append((name, [])) }
            case .end: depth -= 1
            case .text(let text):
                if depth == 2 {
                    fields[fields.count - 1].text += text
                } else {
                    guard allowingSpace, text.allSatisfy({ [0x20, 0x9, 0xA].contains($0) }) else { return nil }
                }
            case .attribute, .other: return nil
            }
        }
        return fields
    }

    /// Returns the text of the root's child of this name; `nil` if there is none.
    fileprivate func text(of wanted: [UInt8]) -> [UInt8]? {
        var text: [UInt8]?
        var depth = 0
        var isInside = false
        for node in nodes {
            switch node {
            case .start(let namespace, let name):
                depth += 1
                if depth == 2, name == wanted, namespace.isEmpty {
                    isInside = true
                    text = []
                }
            case .end:
                if depth == 2 { isInside = false }
                depth -= 1
            case .text(let piece): if isInside { text? += piece }
            case .attribute, .other: break
            }
        }
        return text
    }
}
