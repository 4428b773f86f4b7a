// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Platform
internal import Yams

/// A mapping of a configuration file while it is read, strictly: what is not asked for by its key is a problem.
///
/// A value that is wrong is noted, and its default is returned, so that reading goes on and finds the other problems.
/// What is in force in the end, defaults too, is kept for people to look at, without secrets.
package final class ConfigurationSection {
    package let file: ConfigurationFile
    private let path: String
    private let node: Node?
    private let problems: ProblemList
    private var known: [String] = []
    private var inForce: [(String, JSONText)] = []

    /// - Parameter node: The mapping; nil where the file has none, and defaults are in force.
    init(_ node: Node?, path: String, file: ConfigurationFile, problems: ProblemList) {
        self.node = node
        self.path = path
        self.file = file
        self.problems = problems
        if let node, node.mapping == nil {
            problems.add(file.place(node, path), "must be a mapping (key: value), and is \(node.kind)")
        }
    }

    /// The root of a file with this text.
    ///
    /// - Throws: ``ConfigurationError`` where the text is not YAML.
    package convenience init(
        _ text: String,
        file: ConfigurationFile,
        problems: ProblemList
    ) throws(ConfigurationError) {
        self.init(try file.compose(text), path: "", file: file, problems: problems)
    }

    /// What is in force.
    package var effective: JSONText { .object(inForce) }

    /// Where this section stands.
    package var place: ConfigurationPlace { file.place(node, path) }

    /// Where the value of `key` stands, or the section where there is none.
    package func place(_ key: String) -> ConfigurationPlace { file.place(value(key) ?? node, keyPath(key)) }

    /// Notes a problem with `key`.
    package func note(_ key: String, _ message: String) { problems.add(place(key), message) }

    /// Whether something in this section is wrong already: what follows from that need not be told too.
    package var isFaulty: Bool { problems.contains(below: path) }

    /// Whether the file has this key.
    package func has(_ key: String) -> Bool { value(key) != nil }

    private func keyPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func value(_ key: String) -> Node? {
        node?.mapping?.first { $0.key.scalar?.string == key }?.value
    }

    /// The value of `key`, which is known from now on.
    private func take(_ key: String) -> Node? {
        known.append(key)
        return value(key)
    }

    // MARK: Scalars

    private func scalar<Value>(
        _ key: String,
        _ what: String,
        default fallback: Value,
        show: (Value) -> JSONText,
        read: (Node) -> Value?
    ) -> Value {
        guard let node = take(key) else {
            inForce.append((key, show(fallback)))
            return fallback
        }
        guard let value = read(node) else {
            problems.add(file.place(node, keyPath(key)), "must be \(what), and is \(node.kind)")
            return fallback
        }
        inForce.append((key, show(value)))
        return value
    }

    package func optionalString(_ key: String) -> String? {
        scalar(key, "a text", default: nil, show: { .optional($0) }, read: { $0.text.map { .some($0) } })
    }

    package func string(_ key: String, default fallback: String) -> String {
        scalar(key, "a text", default: fallback, show: { .string($0) }, read: { $0.text })
    }

    /// A text that must be there and must not be empty.
    package func requiredString(_ key: String) -> String {
        guard has(key) else {
            known.append(key)
            problems.add(place, "\(key) is missing")
            return ""
        }
        let text = string(key, default: " ")
        if text.isEmpty { note(key, "must not be empty") }
        return text
    }

    package func bool(_ key: String, default fallback: Bool) -> Bool {
        scalar(key, "true or false", default: fallback, show: { .bool($0) }) { node in
            node.scalarTag == .bool ? node.bool : nil
        }
    }

    package func integer(_ key: String, in range: ClosedRange<Int>, default fallback: Int) -> Int {
        scalar(
            key,
            "a whole number from \(range.lowerBound) to \(range.upperBound)",
            default: fallback,
            show: { .number(Int64($0)) }
        ) { node in
            guard node.scalarTag == .int, let value = node.int, range.contains(value) else { return nil }
            return value
        }
    }

    package func duration(_ key: String, in range: ClosedRange<Duration>, default fallback: Duration) -> Duration {
        scalar(
            key,
            "a duration from \(range.lowerBound.text) to \(range.upperBound.text), such as \(fallback.text)",
            default: fallback,
            show: { .string($0.text) }
        ) { node in
            node.text.flatMap { Duration(text: $0) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    package func choice<Value: RawRepresentable<String> & CaseIterable>(_ key: String, default fallback: Value) -> Value
    {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return scalar(key, "one of \(names)", default: fallback, show: { .string($0.rawValue) }) { node in
            node.text.flatMap { Value(rawValue: $0) }
        }
    }

    /// A text that is turned into a value, or found to be none.
    ///
    /// - Parameter isSecret: Whether the text must not be shown.
    package func parsed<Value>(
        _ key: String,
        default fallback: Value,
        isSecret: Bool = false,
        _ parse: (String) throws -> Value
    ) -> Value {
        guard let node = take(key) else { return fallback }
        guard let text = node.text else {
            problems.add(file.place(node, keyPath(key)), "must be a text, and is \(node.kind)")
            return fallback
        }
        inForce.append((key, .string(isSecret ? "<secret>" : text)))
        do { return try parse(text) } catch {
            problems.add(file.place(node, keyPath(key)), "\(error)")
            return fallback
        }
    }

    /// The path of a file, from the folder of the configuration on.
    package func optionalPath(_ key: String) -> String? { optionalString(key).map { file.resolve($0) } }

    /// The path of a file that must be named.
    package func requiredPath(_ key: String) -> String { file.resolve(requiredString(key)) }

    /// A text that must not be shown: as it stands, or from `{ file: PATH }` or `{ env: NAME }`.
    package func secret(_ key: String) -> Secret? {
        guard let node = take(key) else {
            inForce.append((key, .null))
            return nil
        }
        inForce.append((key, .string("<secret>")))
        if let text = node.text { return Secret(text) }
        let source = ConfigurationSection(node, path: keyPath(key), file: file, problems: problems)
        guard node.mapping != nil else { return nil }
        defer { source.finish() }
        switch (source.optionalString("file"), source.optionalString("env")) {
        case (let name?, nil):
            do throws(FileFault) {
                let text = try file.resolve(name).contentsOfFile(limit: 64 * 1024)
                return Secret(String(text.trimmingTrailingLineEnds))
            } catch { source.note("file", "\(name): \(error.reason)") }
        case (nil, let name?):
            if let value = ProcessEnvironment.value(name) { return Secret(value) }
            source.note("env", "the environment has no variable \(name)")
        default: note(key, "must be a text, or have either file or env")
        }
        return nil
    }

    // MARK: Lists and sections

    /// A list of texts, or one text.
    package func strings(_ key: String) -> [String]? {
        guard let node = take(key) else {
            inForce.append((key, .null))
            return nil
        }
        if let text = node.text {
            inForce.append((key, .array([.string(text)])))
            return [text]
        }
        guard let sequence = node.sequence else {
            problems.add(file.place(node, keyPath(key)), "must be a list of texts, and is \(node.kind)")
            return []
        }
        var texts: [String] = []
        for (number, element) in sequence.enumerated() {
            if let text = element.text {
                texts.append(text)
            } else {
                problems.add(
                    file.place(element, "\(keyPath(key))[\(number)]"),
                    "must be a text, and is \(element.kind)"
                )
            }
        }
        inForce.append((key, .array(texts.map { .string($0) })))
        return texts
    }

    /// A list of sections.
    package func list<Value>(_ key: String, _ read: (ConfigurationSection) -> Value) -> [Value] {
        guard let node = take(key) else {
            inForce.append((key, .array([])))
            return []
        }
        guard let sequence = node.sequence else {
            problems.add(file.place(node, keyPath(key)), "must be a list, and is \(node.kind)")
            return []
        }
        var shown: [JSONText] = []
        let values = sequence.enumerated().map { number, element in
            let section = ConfigurationSection(
                element,
                path: "\(keyPath(key))[\(number)]",
                file: file,
                problems: problems
            )
            let value = read(section)
            section.finish()
            shown.append(section.effective)
            return value
        }
        inForce.append((key, .array(shown)))
        return values
    }

    /// A section, with its defaults where the file has none.
    package func section<Value>(_ key: String, _ read: (ConfigurationSection) -> Value) -> Value {
        let section = ConfigurationSection(take(key), path: keyPath(key), file: file, problems: problems)
        let value = read(section)
        section.finish()
        inForce.append((key, section.effective))
        return value
    }

    /// A section, or nil where the file has none.
    package func optionalSection<Value>(_ key: String, _ read: (ConfigurationSection) -> Value) -> Value? {
        guard has(key) else {
            known.append(key)
            inForce.append((key, .null))
            return nil
        }
        return section(key, read)
    }

    /// A mapping of texts to texts.
    package func texts(_ key: String) -> [(key: String, value: String)] {
        guard let node = take(key) else { return [] }
        guard let mapping = node.mapping else {
            problems.add(file.place(node, keyPath(key)), "must be a mapping (key: value), and is \(node.kind)")
            return []
        }
        var texts: [(key: String, value: String)] = []
        for (name, value) in mapping {
            if let name = name.scalar?.string, let text = value.text {
                texts.append((name, text))
            } else {
                problems.add(file.place(value, keyPath(key)), "must be a text, and is \(value.kind)")
            }
        }
        inForce.append((key, .object(texts.map { ($0.key, .string($0.value)) })))
        return texts
    }

    /// Notes every key that nobody asked for.
    package func finish() {
        guard let mapping = node?.mapping else { return }
        for (key, _) in mapping {
            guard let name = key.scalar?.string else {
                problems.add(file.place(key, path), "a key must be a text, and is \(key.kind)")
                continue
            }
            guard !known.contains(name) else { continue }
            let near = known.min { $0.distance(to: name) < $1.distance(to: name) }
            let hint = near.flatMap { $0.distance(to: name) <= 3 ? "; did you mean \($0)?" : nil }
            problems.add(
                file.place(key, keyPath(name)),
                "unknown key\(hint ?? "; known here: \(known.sorted().joined(separator: ", "))")"
            )
        }
    }
}

extension Node {
    /// What a person calls this.
    fileprivate var kind: String {
        switch self {
        case .mapping: return "a mapping"
        case .sequence: return "a list"
        case .alias: return "an alias, which is not supported"
        case .scalar(let scalar):
            switch scalarTag {
            case .null: return "empty"
            case .bool: return "the truth value \(scalar.string)"
            case .int, .float: return "the number \(scalar.string)"
            default: return "\"\(scalar.string.prefix(60))\""
            }
        }
    }

    /// The tag of a scalar by the rules of YAML; nil for anything else.
    fileprivate var scalarTag: Tag.Name? { scalar == nil ? nil : Resolver.default.resolveTag(of: self) }

    /// The text of a scalar that YAML takes for text or a date: numbers and truth values must be in quotes to be text.
    fileprivate var text: String? { scalarTag == .str || scalarTag == .timestamp ? scalar?.string : nil }
}

extension String {
    /// The number of letters that must be added, removed or replaced to make `other` of this.
    fileprivate func distance(to other: String) -> Int {
        let (mine, its) = (Array(lowercased().utf8), Array(other.lowercased().utf8.prefix(64)))
        var row = Array(0...its.count)
        for (line, letter) in mine.enumerated() {
            var corner = row[0]
            row[0] = line + 1
            for (column, wanted) in its.enumerated() {
                let replaced = corner + (letter == wanted ? 0 : 1)
                corner = row[column + 1]
                row[column + 1] = Swift.min(replaced, corner + 1, row[column] + 1)
            }
        }
        return row[its.count]
    }
}
