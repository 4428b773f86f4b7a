// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings

extension GateConfiguration {
    /// The settings of a configuration file, as its reader reads them.
    package static var settings: [Setting] {
        let table = SettingsTable()
        table.record { table in
            let problems = ProblemList()
            // There is no such folder: nothing of this machine is read.
            let file = ConfigurationFile(path: "/dev/null/gate.yaml")
            let root = ConfigurationSection(describing: table, file: file, problems: problems)
            // Without a file there are problems, but every key has been read.
            _ = try? GateConfiguration(root, text: "", problems: problems)
        }
        return table.settings
    }
}

/// The JSON Schema of a configuration file.
///
/// Source: JSON Schema, draft 2020-12.
package struct SettingsSchema {
    private let settings: [Setting]
    private let texts: SettingTexts

    /// Creates the schema.
    ///
    /// - Throws: ``ConfigurationError`` if the texts of settings cannot be read.
    package init() throws(ConfigurationError) {
        settings = GateConfiguration.settings
        texts = try SettingTexts()
    }

    /// The schema, in one line.
    package var line: String { json.line }

    private var json: JSON {
        let members: [JSON.Member] = [
            ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
            ("title", .string("The configuration of a Playgate gate")),
        ]
        return .object(members + mapping(of: ""))
    }

    /// The members of the schema of a mapping.
    private func mapping(of path: String) -> [JSON.Member] {
        let parts = settings.filter { $0.parent == path }
        let required = parts.filter(\.isRequired).map { String($0.name) }
        let properties = parts.map { setting in (name: String(setting.name), value: schema(of: setting)) }
        return [("type", .string("object")), ("properties", .object(properties))]
            + (required.isEmpty ? [] : [("required", .strings(required))])
            + [("additionalProperties", .bool(false))]
    }

    private func schema(of setting: Setting) -> JSON {
        var members: [JSON.Member] = []
        let text = texts.text(of: setting)?.text
        if let text { members.append(("description", .string(text.text))) }
        members += values(of: setting)
        switch (text?.usual, setting.default) {
        case (let usual?, _): members.append(("x-default", .string(usual)))
        case (nil, .null): break
        case (nil, let value): members.append(("default", value))
        }
        if let example = text?.example { members.append(("x-example", .string(example))) }
        return .object(members)
    }

    private func values(of setting: Setting) -> [JSON.Member] {
        let text: JSON = .object([("type", .string("string"))])
        func either(_ choices: [JSON]) -> [JSON.Member] { [("anyOf", .array(choices))] }
        func list(of element: JSON) -> JSON { .object([("type", .string("array")), ("items", element)]) }
        func integer(_ range: ClosedRange<Int>) -> [JSON.Member] {
            [
                ("type", .string("integer")), ("minimum", .number(Int64(range.lowerBound))),
                ("maximum", .number(Int64(range.upperBound))),
            ]
        }
        func object(of value: JSON) -> [JSON.Member] {
            [("type", .string("object")), ("additionalProperties", value)]
        }
        let secret = JSON.object(
            either([
                text,
                .object([
                    ("type", .string("object")), ("properties", .object([("file", text), ("env", text)])),
                    ("additionalProperties", .bool(false)), ("minProperties", .number(1)),
                    ("maxProperties", .number(1)),
                ]),
            ])
        )
        switch setting.kind {
        case .string: return [("type", .string("string"))]
        case .bool: return [("type", .string("boolean"))]
        case .integer(let range): return integer(range)
        case .duration(let range):
            return [
                ("type", .string("string")), ("pattern", .string(DurationPattern(range).text)),
                ("x-minimum", .string(range.lowerBound.text)), ("x-maximum", .string(range.upperBound.text)),
            ]
        case .choice(let names):
            // YAML reads the word without quotes as a truth value.
            let bare: [JSON] = names.contains("false") ? [.bool(false)] : []
            return [("enum", .array(names.map { .string($0) } + bare))]
        case .choices(let names):
            let one = JSON.object([("enum", .strings(names))])
            return either([one, list(of: one)])
        case .strings: return either([text, list(of: text)])
        case .integerOrStrings(let range): return either([.object(integer(range)), text, list(of: text)])
        case .secret: return secret.members
        case .texts: return object(of: text)
        case .lists: return object(of: .object(either([text, list(of: text)])))
        case .secrets: return object(of: secret)
        case .scalars: return object(of: .object([("type", .strings(["string", "boolean", "number"]))]))
        case .section: return mapping(of: setting.path)
        case .sectionOrText: return either([text, .object(mapping(of: setting.path))])
        case .list: return [("type", .string("array")), ("items", .object(mapping(of: setting.path + "[]")))]
        case .named: return object(of: .object(mapping(of: setting.path + ".NAME")))
        }
    }
}

extension Setting {
    /// The path of the mapping that has the key.
    fileprivate var parent: Substring {
        path.lastIndex(of: ".").map { path[..<$0] } ?? ""
    }
}

extension JSON {
    fileprivate var members: [Member] { if case .object(let members) = self { members } else { [] } }
}
