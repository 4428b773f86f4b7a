// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A JSON object with blanks, from which the claims of a token are made.
///
/// A text that is one blank becomes its value, of any type: `"{expires}"` a number, `"{keys}"` a list. A blank within a text
/// is written into it. An object with the only member `$text` becomes a text with the JSON of that member: some vendors put
/// JSON into a claim.
struct ClaimsTemplate: Sendable {
    private let root: JSON
    /// The names of the blanks.
    let blanks: Set<String>

    /// The value of blanks by their names.
    typealias Values = [String: JSON]

    /// Reads a template.
    ///
    /// - Parameter names: The blanks that have a value.
    init(_ bytes: [UInt8], naming names: Set<String>) throws(LicenceTokenError) {
        func fault(_ reason: String) -> LicenceTokenError { LicenceTokenError(.rules, reason: "the claims \(reason)") }
        do throws(JSONFault) {
            root = try JSONReader.read(bytes.span, limits: JSONLimits(depth: 16, members: 64, elements: 1024))
        } catch { throw fault("are not JSON that can be used") }
        guard case .object(let members) = root, members.first?.name != "$text" else {
            throw fault("must be a JSON object")
        }
        blanks = Self.blanks(in: root)
        if let reason = Self.fault(in: root, naming: names) { throw fault(reason) }
    }

    private static func fault(in value: JSON, naming names: Set<String>) -> String? {
        switch value {
        case .null, .bool, .number: return nil
        case .otherNumber: return "have a number with a fraction, or beyond 64 bits"
        case .string(let text):
            for case .blank(let name) in pieces(of: text) where !names.contains(name) {
                return "have {\(name)}; known: \(names.sorted().map { "{\($0)}" }.joined(separator: ", "))"
            }
            return nil
        case .array(let values):
            for value in values { if let fault = fault(in: value, naming: names) { return fault } }
            return nil
        case .object(let members):
            for (_, value) in members { if let fault = fault(in: value, naming: names) { return fault } }
            return nil
        }
    }

    private static func blanks(in value: JSON) -> Set<String> {
        switch value {
        case .null, .bool, .number, .otherNumber: return []
        case .string(let text):
            return Set(pieces(of: text).compactMap { if case .blank(let name) = $0 { name } else { nil } })
        case .array(let values): return values.reduce(into: []) { $0.formUnion(blanks(in: $1)) }
        case .object(let members): return members.reduce(into: []) { $0.formUnion(blanks(in: $1.value)) }
        }
    }

    private enum Piece {
        case text(Substring)
        case blank(String)
    }

    /// Splits a text at its blanks: letters between braces. Other braces stand for themselves.
    private static func pieces(of text: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            let behind = rest[rest.index(after: open)...]
            let end = behind.firstIndex { !($0.isASCII && $0.isLetter) }
            guard let end, behind[end] == "}", end > behind.startIndex else {
                let next = rest.index(after: open)
                pieces.append(.text(rest[..<next]))
                rest = rest[next...]
                continue
            }
            if open > rest.startIndex { pieces.append(.text(rest[..<open])) }
            pieces.append(.blank(String(behind[..<end])))
            rest = behind[behind.index(after: end)...]
        }
        if !rest.isEmpty { pieces.append(.text(rest)) }
        return pieces
    }

    /// Returns the object with its blanks filled. A blank without a value is written as `null`.
    func filled(with values: Values) -> JSON { Self.filled(root, with: values) }

    private static func filled(_ value: JSON, with values: Values) -> JSON {
        switch value {
        case .null, .bool, .number, .otherNumber: return value
        case .array(let list): return .array(list.map { filled($0, with: values) })
        case .object(let members):
            if members.count == 1, members[0].name == "$text" {
                return .string(filled(members[0].value, with: values).line)
            }
            return .object(members.map { ($0.name, filled($0.value, with: values)) })
        case .string(let text):
            let pieces = pieces(of: text)
            if pieces.count == 1, case .blank(let name) = pieces[0] { return values[name] ?? .null }
            var filled = ""
            for piece in pieces {
                switch piece {
                case .text(let text): filled += text
                case .blank(let name):
                    if case .string(let value)? = values[name] {
                        filled += value
                    } else {
                        filled += (values[name] ?? .null).line
                    }
                }
            }
            return .string(filled)
        }
    }
}
