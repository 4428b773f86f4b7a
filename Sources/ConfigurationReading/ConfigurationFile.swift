// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform
internal import SystemPackage
internal import Yams

/// A configuration file: its name, and how to find what it names.
package struct ConfigurationFile: Sendable {
    package let path: String
    /// What it looked like before it was read.
    package let stamp: FileStamp?

    package init(path: String) {
        self.path = path
        stamp = FileStamp(path)
    }

    /// The folder that relative paths start from.
    private var folder: FilePath { FilePath(path).removingLastComponent() }

    /// Where `key` stands, where no line is known.
    package func place(_ key: String) -> ConfigurationPlace { place(nil, key) }

    /// A path in the file, from the file's folder on.
    package func resolve(_ name: String) -> String {
        let name = FilePath(name)
        return name.isAbsolute || folder.isEmpty ? name.string : folder.appending(name.components).string
    }

    func place(_ node: Node?, _ key: String) -> ConfigurationPlace {
        ConfigurationPlace(file: path, line: node?.mark?.line ?? 0, column: node?.mark?.column ?? 0, key: key)
    }

    /// The text of the file.
    ///
    /// - Throws: ``ConfigurationError`` where it cannot be read.
    package var text: String {
        get throws(ConfigurationError) {
            do throws(FileFault) { return try path.contentsOfFile(limit: 16 << 20) } catch {
                throw ConfigurationError(self, message: error.reason)
            }
        }
    }

    /// Reads `text` as YAML; nil where there is nothing in it.
    ///
    /// - Throws: ``ConfigurationError`` where it is none.
    func compose(_ text: String) throws(ConfigurationError) -> Node? {
        do { return try Yams.compose(yaml: text) } catch let error as YamlError {
            switch error {
            case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
                .composer(let context, let problem, let mark, _):
                let during = context.map { " (\($0.text))" } ?? ""
                throw ConfigurationError(self, line: mark.line, column: mark.column, message: "\(problem)\(during)")
            case .duplicatedKeysInMapping(let keys, let context):
                throw ConfigurationError(
                    self,
                    line: context.mark.line,
                    column: context.mark.column,
                    key: keys.joined(separator: ", "),
                    message: "is there twice"
                )
            default: throw ConfigurationError(self, message: "is not YAML: \(error)")
            }
        } catch { throw ConfigurationError(self, message: "is not YAML: \(error)") }
    }
}

extension ConfigurationError {
    fileprivate init(_ file: ConfigurationFile, line: Int = 0, column: Int = 0, key: String = "", message: String) {
        let place = ConfigurationPlace(file: file.path, line: line, column: column, key: key)
        self.init(problems: [ConfigurationProblem(place: place, message: message)])
    }
}
