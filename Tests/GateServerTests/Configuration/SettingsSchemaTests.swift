// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Encodings
import Foundation
import GateConfiguration
import GateTestSupport
import Testing

/// The settings that the reader of a configuration describes by itself, and their JSON Schema.
@Suite struct `The settings of a configuration` {
    private static let settings = GateConfiguration.settings

    @Test func `have a text each, and no text is of another`() throws {
        let texts = try SettingTexts()
        var used: Set<String> = []
        for setting in Self.settings {
            guard let text = texts.text(of: setting) else {
                Issue.record("settings.yaml has no text of \(setting.path)")
                continue
            }
            used.insert(text.name)
        }
        #expect(texts.names.subtracting(used).sorted() == [])
    }

    /// The problems of a document that are about types, names and ranges, and all of them.
    private static func problems(_ text: String, in folder: TemporaryFolder) throws -> [ConfigurationProblem] {
        let file = ConfigurationFile(path: folder.file("gate.yaml"))
        do throws(ConfigurationError) { _ = try GateConfiguration(text, file: file) } catch { return error.problems }
        return []
    }

    private static func isOfForm(_ problem: ConfigurationProblem) -> Bool {
        problem.message.contains("; found ") || problem.message.hasPrefix("unknown key")
            || problem.message.contains(" is not one of ")
    }

    @Test func `accept their examples`() throws {
        let (texts, folder) = (try SettingTexts(), try TemporaryFolder())
        for setting in Self.settings {
            guard let example = texts.text(of: setting)?.text.example else { continue }
            let text = Self.nested(setting.path, value: "EXAMPLE").replacing("\"EXAMPLE\"", with: example)
            let faults = try Self.problems(text, in: folder).filter(Self.isOfForm)
            #expect(faults.isEmpty, "\(text): \(faults)")
        }
    }

    /// Each value of a choice is one round's, with and without optional settings.
    @Test func `are recorded in enough rounds`() {
        for setting in Self.settings {
            guard case .choice(let names) = setting.kind else { continue }
            #expect(2 * names.count <= SettingsTable.rounds, "\(setting.path)")
        }
    }

    @Test func `have at least the names that pages use`() {
        let paths = Set(Self.settings.map(\.path))
        for path in [
            "streams[].folder", "grants.profiles.NAME.renew.type", "replayStore.redis.url", "edge.tokens[].query",
            "api.tls.certificate", "keys.NAME.secret", "grants.issuers[].source.networks",
            "advanced.limits.connections",
        ] { #expect(paths.contains(path), "\(path)") }
    }

    /// What only an expert changes stands in the part `advanced` of its section, so that the others stay few: 110, and
    /// those of identity providers (16), licences (13) and shared grants (4).
    @Test func `are few outside the parts for experts`() {
        let names = Set(Self.settings.filter { !$0.path.contains("advanced") }.map(\.name))
        #expect(names.count <= 110 + 16 + 13 + 4, "\(names.count) names: \(names.sorted())")
    }

    // MARK: Agreement

    /// The JSON text of a document with one setting.
    private static func nested(_ path: String, value: String) -> String {
        Document(path, value: .string(value)).json.line
    }

    @Test(.enabled(if: Requirement.hasOracles))
    func `are the same to the reader and to a validator of the schema, in 10,000 files`() async throws {
        let folder = try TemporaryFolder()
        var generator = DocumentGenerator(settings: Self.settings, seed: 46)
        let documents = (0..<10_000).map { _ in generator.next().line }
        let verdicts = try SchemaValidator.verdicts(on: documents, by: try SettingsSchema().line, in: folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<4 {
                group.addTask {
                    for index in stride(from: part, to: documents.count, by: 4) {
                        try Self.compare(documents[index], isValid: verdicts[index], in: folder)
                    }
                }
            }
            try await group.waitForAll()
        }
        let accepted = verdicts.count { $0 }
        #expect(2000...8000 ~= accepted, "\(accepted)")
    }

    private static func compare(_ document: String, isValid: Bool, in folder: TemporaryFolder) throws {
        let problems = try problems(document, in: folder)
        if isValid {
            let faults = problems.filter(isOfForm)
            #expect(faults.isEmpty, "only the reader refuses \(document): \(faults)")
        } else {
            #expect(!problems.isEmpty, "only the schema refuses \(document)")
        }
    }
}

/// A validator of JSON Schema: jsonschema-rs, in Python.
private enum SchemaValidator {
    private static let python = repository + "/.build-oracles/bin/python"

    private static let program = """
        import sys, jsonschema_rs
        schema, documents = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
        import json
        validator = jsonschema_rs.validator_for(json.loads(schema))
        print("".join("1" if validator.is_valid(json.loads(line)) else "0" for line in documents.splitlines()))
        """

    static func verdicts(on documents: [String], by schema: String, in folder: TemporaryFolder) throws -> [Bool] {
        let run = try CommandRun(
            python,
            arguments: [
                "-c", program, try folder.write("schema.json", contents: schema),
                try folder.write("documents", contents: documents.joined(separator: "\n")),
            ]
        )
        try #require(run.status == 0, "\(run.error)")
        let verdicts = run.output.filter { !$0.isNewline }.map { $0 == "1" }
        try #require(verdicts.count == documents.count)
        return verdicts
    }
}

/// A document of a configuration, made of settings by their paths.
private struct Document {
    private(set) var json: JSON

    init(_ json: JSON) { self.json = json }

    init(_ path: String, value: JSON) { json = Self.nested(path.split(separator: ".")[...], value: value) }

    private static func nested(_ path: ArraySlice<Substring>, value: JSON) -> JSON {
        guard let first = path.first else { return value }
        let rest = nested(path.dropFirst(), value: value)
        let isList = first.hasSuffix("[]")
        return .object([(String(isList ? first.dropLast(2) : first), isList ? .array([rest]) : rest)])
    }

    mutating func merge(_ other: Document) { json = Self.merged(json, with: other.json) }

    private static func merged(_ one: JSON, with other: JSON) -> JSON {
        switch (one, other) {
        case (.object(var members), .object(let others)):
            for (name, value) in others {
                if let index = members.firstIndex(where: { $0.name == name }) {
                    members[index].value = merged(members[index].value, with: value)
                } else {
                    members.append((name, value))
                }
            }
            return .object(members)
        case (.array(let one), .array(let other)):
            guard let first = one.first, let second = other.first else { return .array(other) }
            return .array([merged(first, with: second)] + one.dropFirst())
        default: return other
        }
    }
}

/// Documents of a few settings, most of whose values are right, and some wrong in type, name or range.
private struct DocumentGenerator {
    let settings: [Setting]
    private var random: SplitMix64

    init(settings: [Setting], seed: UInt64) {
        self.settings = settings
        random = SplitMix64(seed: seed)
    }

    mutating func next() -> JSON {
        var document = Document(
            .object([
                ("requestor", .string("REF30")),
                ("trust", .object([("keys", .array([.object([("file", .string("signer.pem"))])]))])),
            ])
        )
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard let setting = settings.randomElement(using: &random) else { continue }
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                // A key that nobody has, beside this one.
                let end = setting.path.lastIndex(of: ".").map { setting.path[...$0] } ?? ""
                document.merge(Document(end + "nobodys", value: .number(1)))
            case 1...4: document.merge(Document(setting.path, value: anything()))
            default: document.merge(Document(setting.path, value: value(of: setting.kind)))
            }
        }
        return document.json
    }

    private mutating func anything() -> JSON {
        let values: [JSON] = [
            .null, .bool(true), .number(-1), .number(1 << 40), .string(""), .string("5"), .string("a text"), .array([]),
            .array([.number(1)]), .array([.string("a")]), .object([]), .object([("file", .string("a"))]),
            .object([("file", .string("a")), ("env", .string("a"))]), .array([.object([])]), .string("99999d"),
            .string("0ms"), .string("61s"), .string("007m"),
        ]
        return values.randomElement(using: &random) ?? .null
    }

    private mutating func value(of kind: Setting.Kind) -> JSON {
        let text = JSON.string(["a", "/live/", "127.0.0.1:0", "x.pem"].randomElement(using: &random) ?? "")
        let isOdd = Bool.random(using: &random)
        switch kind {
        case .string: return text
        case .bool: return .bool(isOdd)
        case .integer(let range), .integerOrStrings(let range):
            return .number(
                Int64(
                    [range.lowerBound, range.upperBound, range.upperBound + 1][
                        isOdd ? 0 : Int.random(in: 0...2, using: &random)
                    ]
                )
            )
        case .duration(let range):
            let all = [range.lowerBound, range.upperBound, range.upperBound + .seconds(1), .seconds(30), .seconds(90)]
            return .string((all.randomElement(using: &random) ?? .zero).text)
        case .choice(let names): return .string(names.randomElement(using: &random) ?? "")
        case .choices(let names):
            let one = JSON.string(names.randomElement(using: &random) ?? "")
            return isOdd ? one : .array([one])
        case .strings: return isOdd ? text : .array([text])
        case .secret: return isOdd ? text : .object([("env", .string("PATH"))])
        case .lists: return .object([("name", isOdd ? text : .array([text]))])
        case .texts, .secrets, .scalars: return .object([("name", text)])
        case .section, .named: return .object([])
        case .sectionOrText: return isOdd ? text : .object([])
        case .list: return .array(isOdd ? [] : [.object([])])
        }
    }
}
