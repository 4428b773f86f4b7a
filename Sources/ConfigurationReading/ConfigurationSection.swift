// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Platform
internal import Yams

/// A strict reader of a mapping in a configuration file: a key that is never read is a problem.
///
/// An invalid value is recorded as a problem and replaced by its default, so that reading goes on and finds further
/// problems. The effective configuration, including defaults, is stored for display, without secrets.
package final class ConfigurationSection {
    package let file: ConfigurationFile
    private let path: String
    private let node: Node?
    private let problems: ProblemList
    /// The table that is being made of the settings; `nil` while a file is read.
    private let table: SettingsTable?
    private var known: [String] = []
    private var renamed: [String: (new: String, usual: String?)] = [:]
    private var inForce: [JSON.Member] = []

    /// Creates a reader.
    ///
    /// - Parameter node: The mapping; `nil` if the file has none and the defaults apply.
    private init(
        _ node: Node?,
        path: String,
        file: ConfigurationFile,
        problems: ProblemList,
        table: SettingsTable? = nil
    ) {
        self.node = node
        self.path = path
        self.file = file
        self.problems = problems
        self.table = table
        if let node, node.mapping == nil {
            problems.add(
                at: file.location(of: node, key: path),
                // A text may be a secret.
                message: "must be a mapping (key: value); found \(node.kindOnly)"
            )
        }
    }

    /// Creates a reader of the root of a file with this text.
    ///
    /// - Throws: ``ConfigurationError`` if the text is not YAML.
    package convenience init(
        _ text: String,
        file: ConfigurationFile,
        problems: ProblemList
    ) throws(ConfigurationError) {
        self.init(try file.compose(text), path: "", file: file, problems: problems)
    }

    /// Creates a reader of no file, which adds each setting that is read to a table.
    package convenience init(describing table: SettingsTable, file: ConfigurationFile, problems: ProblemList) {
        self.init(nil, path: "", file: file, problems: problems, table: table)
    }

    /// Creates a reader of a part of this section.
    private func part(_ node: Node?, path: String) -> ConfigurationSection {
        ConfigurationSection(node, path: path, file: file, problems: problems, table: table)
    }

    /// The effective configuration, including defaults.
    package var effective: JSON { .object(inForce) }

    /// The location of this section.
    package var location: ConfigurationLocation { file.location(of: node, key: path) }

    /// Returns the location of the value of `key`, or of the section if it has none.
    package func location(_ key: String) -> ConfigurationLocation {
        file.location(of: value(key) ?? node, key: keyPath(key))
    }

    /// Notes that a key has another name now: a file that has the old one gets an error with the new one.
    ///
    /// - Parameter usual: The value that needs no key any more, if the new one is for others; `nil` if it is for all.
    package func rename(_ old: String, to new: String, unless usual: String? = nil) { renamed[old] = (new, usual) }

    /// Records a problem with `key`, which is known thereby: a misspelt key may be meant for a missing one.
    package func note(at key: String, message: String) {
        known.append(key)
        problems.add(at: location(key), message: message)
    }

    /// True if this section has a problem already: consequences of it need not be reported too.
    package var isFaulty: Bool { table != nil || problems.contains(below: path) }

    /// True if an element of a list lacks a key.
    package func hasElement(of key: String, without member: String) -> Bool {
        hasElement(of: key) { keys in !keys.contains(member) }
    }

    /// True if an element of a list has a key.
    package func hasElement(of key: String, with member: String) -> Bool {
        hasElement(of: key) { keys in keys.contains(member) }
    }

    private func hasElement(of key: String, where isRight: ([String]) -> Bool) -> Bool {
        (value(key)?.sequence ?? []).contains { element in
            element.mapping.map { mapping in isRight(mapping.compactMap { $0.key.scalar?.string }) } ?? false
        }
    }

    /// True if any section of the file has a problem already.
    package var isFileFaulty: Bool { !problems.problems.isEmpty }

    /// Returns the value of a key if it is a text. The key stays to be read.
    package func text(of key: String) -> String? { value(key)?.text }

    /// True if the file has this key.
    package func has(_ key: String) -> Bool { table?.hasOptionalSettings ?? (value(key) != nil) }

    private func keyPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func value(_ key: String) -> Node? {
        node?.mapping?.first { $0.key.scalar?.string == key }?.value
    }

    /// Returns the value of `key`, and marks the key as known.
    private func readNode(_ key: String) -> Node? {
        known.append(key)
        return value(key)
    }

    /// Adds a setting to the table that is being made.
    private func describe(
        _ key: String,
        as kind: Setting.Kind,
        default fallback: JSON = .null,
        isRequired: Bool = false
    ) {
        table?.add(Setting(path: keyPath(key), kind: kind, default: fallback, isRequired: isRequired))
    }

    // MARK: Scalars

    private func scalar<Value>(
        _ key: String,
        as kind: Setting.Kind,
        what: String,
        default fallback: Value,
        show: (Value) -> JSON,
        read: (Node) -> Value?
    ) -> Value {
        describe(key, as: kind, default: show(fallback))
        guard let node = readNode(key) else {
            inForce.append((key, show(fallback)))
            return fallback
        }
        guard let value = read(node) else {
            let remedy = what == "a string" ? node.quoted : nil
            problems.add(
                at: file.location(of: node, key: keyPath(key)),
                message: "must be \(what); found \(node.kind)\(remedy.map { ": write \($0)" } ?? "")"
            )
            return fallback
        }
        inForce.append((key, show(value)))
        return value
    }

    /// Returns a text, or `nil` if the file has none.
    package func optionalString(_ key: String) -> String? {
        scalar(
            key,
            as: .string,
            what: "a string",
            default: nil,
            show: { .optional($0) },
            read: { $0.text.map { .some($0) } }
        )
    }

    /// Returns a text.
    package func string(_ key: String, default fallback: String) -> String {
        scalar(key, as: .string, what: "a string", default: fallback, show: { .string($0) }, read: { $0.text })
    }

    /// Returns a text that must be present and not empty.
    package func requiredString(_ key: String) -> String {
        describe(key, as: .string, isRequired: true)
        guard value(key) != nil else {
            known.append(key)
            problems.add(at: location, message: "\(key) is missing")
            return ""
        }
        let text = string(key, default: " ")
        if text.isEmpty { note(at: key, message: "must not be empty") }
        return text
    }

    /// Returns a truth value.
    package func bool(_ key: String, default fallback: Bool) -> Bool {
        scalar(key, as: .bool, what: "true or false", default: fallback, show: { .bool($0) }) { node in
            node.scalarTag == .bool ? node.bool : nil
        }
    }

    /// Returns a whole number in `range`.
    package func integer(_ key: String, in range: ClosedRange<Int>, default fallback: Int) -> Int {
        scalar(
            key,
            as: .integer(range),
            what: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            default: fallback,
            show: { .number(Int64($0)) }
        ) { node in
            guard node.scalarTag == .int, let value = node.int, range.contains(value) else { return nil }
            return value
        }
    }

    /// Returns a duration in `range`.
    package func duration(_ key: String, in range: ClosedRange<Duration>, default fallback: Duration) -> Duration {
        scalar(
            key,
            as: .duration(range),
            what:
                "a duration with its unit (ms, s, m, h, d) from \(range.lowerBound.text) to \(range.upperBound.text), such as \(fallback.text)",
            default: fallback,
            show: { .string($0.text) }
        ) { node in
            node.text.flatMap { Duration(text: $0) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Returns the case of `Value` with this raw value.
    package func choice<Value: RawRepresentable<String> & CaseIterable>(_ key: String, default fallback: Value) -> Value
    {
        let names = Value.allCases.map(\.rawValue)
        return Value(rawValue: choice(key, among: names, default: fallback.rawValue)) ?? fallback
    }

    /// Returns one of `names`.
    package func choice(_ key: String, among names: [String], default fallback: String) -> String {
        let value = scalar(
            key,
            as: .choice(names),
            what: "one of \(names.joined(separator: ", "))",
            default: fallback,
            show: { .string($0) }
        ) { node in
            node.scalar.flatMap { names.contains($0.string) ? $0.string : nil }
        }
        return table?.choice(among: names) ?? value
    }

    /// Returns the value that `parse` makes of a text. An error of `parse` becomes a problem.
    ///
    /// - Parameter isSecret: True if the text must not be printed.
    package func parsed<Value>(
        _ key: String,
        default fallback: Value,
        isSecret: Bool = false,
        parse: (String) throws -> Value
    ) -> Value {
        describe(key, as: .string)
        guard let node = readNode(key) else { return fallback }
        guard let text = node.text else {
            problems.add(
                at: file.location(of: node, key: keyPath(key)),
                message: "must be a string; found \(node.kind)"
            )
            return fallback
        }
        inForce.append((key, .string(isSecret ? "<secret>" : text)))
        do { return try parse(text) } catch {
            problems.add(at: file.location(of: node, key: keyPath(key)), message: "\(error)")
            return fallback
        }
    }

    /// Returns the path of a file, relative to the folder of the configuration.
    package func optionalPath(_ key: String) -> String? { optionalString(key).map { file.resolve($0) } }

    /// Returns the path of a file that must be named.
    package func requiredPath(_ key: String) -> String {
        let name = requiredString(key)
        return name.isEmpty ? "" : file.resolve(name)
    }

    /// Returns a secret text: the value itself, or the content of `{ file: PATH }` or `{ env: NAME }`.
    package func secret(_ key: String) -> Secret? {
        describe(key, as: .secret)
        guard let node = readNode(key) else {
            inForce.append((key, .null))
            return nil
        }
        inForce.append((key, .string("<secret>")))
        if let text = node.text { return Secret(text) }
        guard node.mapping != nil else {
            problems.add(
                at: file.location(of: node, key: keyPath(key)),
                message: "must be a string in quotes, or a mapping with either file or env; found \(node.kindOnly)"
            )
            return nil
        }
        let source = part(node, path: keyPath(key))
        defer { source.finish() }
        switch (source.optionalString("file"), source.optionalString("env")) {
        case (let name?, nil):
            do throws(FileFault) {
                let path = file.resolve(name)
                let origin = Secret.File(path: path, stamp: FileStamp(path))
                let text = try path.contentsOfFile(limit: 64 * 1024)
                return Secret(String(text.trimmingTrailingLineEnds), file: origin)
            } catch { source.note(at: "file", message: "\(name): \(error.reason)") }
        case (nil, let name?):
            if let value = ProcessEnvironment.value(name) { return Secret(value) }
            source.note(at: "env", message: "the environment variable \(name) is not set")
        default: note(at: key, message: "must be a string, or a mapping with either file or env")
        }
        return nil
    }

    // MARK: Lists and sections

    /// Returns a list of texts; a single text is a list of one.
    package func strings(_ key: String) -> [String]? {
        describe(key, as: .strings)
        guard let node = readNode(key) else {
            inForce.append((key, .null))
            return nil
        }
        if let text = node.text {
            inForce.append((key, .array([.string(text)])))
            return [text]
        }
        guard let sequence = node.sequence else {
            problems.add(
                at: file.location(of: node, key: keyPath(key)),
                message: "must be a list of strings; found \(node.kind)"
            )
            return []
        }
        var texts: [String] = []
        for (number, element) in sequence.enumerated() {
            if let text = element.text {
                texts.append(text)
            } else {
                problems.add(
                    at: file.location(of: element, key: "\(keyPath(key))[\(number)]"),
                    message: "must be a string; found \(element.kind)"
                )
            }
        }
        inForce.append((key, .array(texts.map { .string($0) })))
        return texts
    }

    /// Returns a list of values of `Value`, by their raw values, or `nil` if the file has none; a single text is a list of one.
    package func choices<Value: RawRepresentable<String> & CaseIterable>(_ key: String, of _: Value.Type) -> [Value]? {
        let names = Value.allCases.map(\.rawValue)
        describe(key, as: .choices(names))
        return strings(key)?.compactMap { text in
            let value = Value(rawValue: text)
            if value == nil { note(at: key, message: "\(text) is not one of \(names.joined(separator: ", "))") }
            return value
        }
    }

    /// Returns a list of sections.
    package func list<Value>(_ key: String, read: (ConfigurationSection) -> Value) -> [Value] {
        describe(key, as: .list)
        if table != nil { return [read(part(nil, path: keyPath(key) + "[]"))] }
        guard let node = readNode(key) else {
            inForce.append((key, .array([])))
            return []
        }
        guard let sequence = node.sequence else {
            problems.add(at: file.location(of: node, key: keyPath(key)), message: "must be a list; found \(node.kind)")
            return []
        }
        var items: [JSON] = []
        let values = sequence.enumerated().map { number, element in
            let section = part(element, path: "\(keyPath(key))[\(number)]")
            let value = read(section)
            section.finish()
            items.append(section.effective)
            return value
        }
        inForce.append((key, .array(items)))
        return values
    }

    /// Returns a section; its defaults if the file has none.
    package func section<Value>(_ key: String, read: (ConfigurationSection) -> Value) -> Value {
        describe(key, as: .section)
        return section(key, of: readNode(key), read: read)
    }

    private func section<Value>(_ key: String, of node: Node?, read: (ConfigurationSection) -> Value) -> Value {
        let section = part(node, path: keyPath(key))
        let value = read(section)
        section.finish()
        inForce.append((key, section.effective))
        return value
    }

    /// Returns what only experts change: the part `advanced` of this section.
    ///
    /// A key of the part that stands beside it gets an error that says so.
    package func advanced<Value>(_ read: (ConfigurationSection) -> Value) -> Value {
        let key = "advanced"
        return section(key) { part in
            let value = read(part)
            for name in part.known where renamed[name] == nil { rename(name, to: "\(key): { \(name): … }") }
            return value
        }
    }

    /// Returns a section, or `nil` if the file has none.
    package func optionalSection<Value>(_ key: String, read: (ConfigurationSection) -> Value) -> Value? {
        guard table != nil || has(key) else {
            known.append(key)
            inForce.append((key, .null))
            return nil
        }
        return section(key, read: read)
    }

    /// Returns a section, or `nil` if the file has none. A text in its stead is the value of one of its keys.
    ///
    /// - Parameter main: The key whose value may stand for the section.
    package func optionalSection<Value>(
        _ key: String,
        orTextOf main: String,
        read: (ConfigurationSection) -> Value
    ) -> Value? {
        describe(key, as: .sectionOrText)
        guard let text = value(key), text.text != nil else { return optionalSection(key, read: read) }
        known.append(key)
        let mapping = Node.Mapping([(Node(main), text)], Tag(.map), .any, text.mark)
        return section(key, of: .mapping(mapping), read: read)
    }

    /// Returns a whole number, or else the texts of a list; `nil` if the file has neither.
    ///
    /// - Parameter what: The name of the texts in messages.
    package func integerOrStrings(
        _ key: String,
        in range: ClosedRange<Int>,
        what: String
    ) -> (integer: Int?, strings: [String])? {
        if let node = value(key), node.sequence != nil || node.text != nil { return (nil, strings(key) ?? []) }
        let number: Int? = scalar(
            key,
            as: .integerOrStrings(range),
            what: "a whole number from \(range.lowerBound) to \(range.upperBound), or a list of \(what)",
            default: nil,
            show: { $0.map { .number(Int64($0)) } ?? .null },
            read: { node in
                guard node.scalarTag == .int, let value = node.int, range.contains(value) else { return nil }
                return .some(value)
            }
        )
        return number.map { ($0, []) }
    }

    /// Returns the sections of a mapping from names to sections, in the order of the file.
    package func named<Value>(_ key: String, read: (String, ConfigurationSection) -> Value) -> [Value] {
        describe(key, as: .named)
        if table != nil { return [read("name", part(nil, path: keyPath(key) + ".NAME"))] }
        return section(key) { section in section.names.map { name in section.section(name) { read(name, $0) } } }
    }

    /// Returns a mapping of texts to secret texts, in the order of the file.
    package func secrets(_ key: String) -> [(key: String, value: Secret)] {
        describe(key, as: .secrets)
        if table != nil { return [] }
        return section(key) { section in section.names.compactMap { name in section.secret(name).map { (name, $0) } } }
    }

    /// Returns a mapping of texts to lists of texts, in the order of the file. A single text is a list of one.
    package func lists(_ key: String) -> [(key: String, values: [String])] {
        describe(key, as: .lists)
        if table != nil { return [] }
        return section(key) { section in section.names.compactMap { name in section.strings(name).map { (name, $0) } } }
    }

    /// The keys in the order of the file.
    private var names: [String] { (node?.mapping).map { $0.compactMap { name, _ in name.scalar?.string } } ?? [] }

    /// Returns a mapping of texts to texts, truth values and numbers, as they are written. The values may be secret.
    package func scalars(_ key: String) -> [(key: String, value: String)] {
        describe(key, as: .scalars)
        let scalars = mapping(key) { $0.scalar?.string }
        inForce.append((key, .object(scalars.map { ($0.key, .string("<set>")) })))
        return scalars
    }

    /// Returns a mapping of texts to texts.
    package func texts(_ key: String) -> [(key: String, value: String)] {
        describe(key, as: .texts)
        let texts = mapping(key, read: \.text)
        inForce.append((key, .object(texts.map { ($0.key, .string($0.value)) })))
        return texts
    }

    private func mapping(_ key: String, read: (Node) -> String?) -> [(key: String, value: String)] {
        guard let node = readNode(key) else { return [] }
        guard let mapping = node.mapping else {
            problems.add(
                at: file.location(of: node, key: keyPath(key)),
                message: "must be a mapping (key: value); found \(node.kind)"
            )
            return []
        }
        var texts: [(key: String, value: String)] = []
        for (name, value) in mapping {
            if let name = name.scalar?.string, let text = read(value) {
                texts.append((name, text))
            } else {
                problems.add(
                    at: file.location(of: value, key: keyPath(key)),
                    message: "must be a string; found \(value.kind)"
                )
            }
        }
        return texts
    }

    /// Records a problem for every key that was never read.
    package func finish() {
        guard let mapping = node?.mapping else { return }
        for (key, _) in mapping {
            guard let name = key.scalar?.string else {
                problems.add(
                    at: file.location(of: key, key: path),
                    message: "a key must be a string; found \(key.kind)"
                )
                continue
            }
            guard !known.contains(name) else { continue }
            if let (new, usual) = renamed[name] {
                let isUsual = usual != nil && value(name)?.scalar?.string == usual
                let message = isUsual ? "is gone: \(usual ?? "") is the default, so remove the line" : "is \(new) now"
                problems.add(at: file.location(of: key, key: keyPath(name)), message: message)
                continue
            }
            let near = known.min { $0.distance(to: name) < $1.distance(to: name) }
            // A third of the letters may be wrong: any two short keys are three letters apart.
            let meant = near.flatMap { $0.distance(to: name) <= max(1, name.count / 3) ? $0 : nil }
            if let meant { problems.noteMeant(keyPath(meant)) }
            let hint = meant.map { "; did you mean \($0)?" }
            problems.add(
                at: file.location(of: key, key: keyPath(name.isPlainKey ? name : "?")),
                message: "unknown key\(hint ?? "; known keys: \(Set(known).sorted().joined(separator: ", "))")"
            )
        }
    }
}

extension String {
    /// True for what can be a key: another text may be a value, and secret.
    fileprivate var isPlainKey: Bool {
        utf8.count <= 64
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

extension Node {
    /// The description of the node in messages.
    fileprivate var kind: String {
        switch self {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .alias: return "an alias, which is not supported"
        case .scalar(let scalar):
            switch scalarTag {
            case .null: return "an empty value"
            case .bool: return "the Boolean \(scalar.string)"
            case .int, .float: return "the number \(scalar.string)"
            default: return "\"\(scalar.string.prefix(60))\""
            }
        }
    }

    /// The description of the node without its text, which may be secret.
    fileprivate var kindOnly: String {
        switch scalarTag {
        case .null?: "an empty value"
        case .bool?: "a Boolean"
        case .int?, .float?: "a number"
        case nil: kind
        default: "a text"
        }
    }

    /// A number or a truth value in quotes, as a text is written; `nil` for other nodes.
    fileprivate var quoted: String? {
        switch scalarTag {
        case .bool, .int, .float: scalar.map { "\"\($0.string)\"" }
        default: nil
        }
    }

    /// The tag of a scalar by the rules of YAML; `nil` for other nodes.
    fileprivate var scalarTag: Tag.Name? { scalar == nil ? nil : Resolver.default.resolveTag(of: self) }

    /// The text of a scalar that YAML resolves to a string or a date. Numbers and truth values need quotes to be texts.
    fileprivate var text: String? { scalarTag == .str || scalarTag == .timestamp ? scalar?.string : nil }
}
