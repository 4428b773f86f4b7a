// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

@testable import Encodings

extension Target {
    /// JSON: a parsed value is written on one line that parses as the same value and is written identically again.
    static let json = Target(name: "json") { input in
        let limits = JSONLimits(depth: 8, members: 32, elements: 128)
        guard let value = try? JSONReader.read(input.bytes.span, limits: limits) else { return }
        // A number without a stored value cannot be written.
        guard let text = JSONText(value) else { return }
        let line = [UInt8](text.line.utf8)
        demand(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in \(line.shown)")
        guard let again = try? JSONReader.read(line.span, limits: limits) else {
            return demand(false, "what was written is not read: \(line.shown)")
        }
        demand(again == value, "what was written says something else: \(line.shown)")
        demand(JSONText(again)?.line.utf8.elementsEqual(line) ?? false, "written again: \(line.shown)")
    }
}

extension JSONText {
    fileprivate init?(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(nil): return nil
        case .number(let value?): self = .number(value)
        case .text(let text): self = .string(text)
        case .list(let values):
            let texts = values.compactMap { JSONText($0) }
            guard texts.count == values.count else { return nil }
            self = .array(texts)
        case .object(let members):
            var texts: [(String, JSONText)] = []
            for member in members {
                guard let text = JSONText(member.value) else { return nil }
                texts.append((member.name, text))
            }
            self = .object(texts)
        }
    }
}
