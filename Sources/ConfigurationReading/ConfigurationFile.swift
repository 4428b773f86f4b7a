// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform
internal import SystemPackage
internal import Yams

/// A configuration file: its path, and the resolution of the paths in it.
package struct ConfigurationFile: Sendable {
    package let path: String
    /// The stamp of the file before it was read; `nil` if there was none.
    package let stamp: FileStamp?

    package init(path: String) {
        self.path = path
        stamp = FileStamp(path)
    }

    private init(path: String, stamp: FileStamp?) { (self.path, self.stamp) = (path, stamp) }

    /// The same file without its stamp, for a text that was read from it long ago.
    package var unwatched: Self { Self(path: path, stamp: nil) }

    /// The base folder of relative paths.
    private var folder: FilePath { FilePath(path).removingLastComponent() }

    /// Returns the location of `key` without line and column.
    package func location(_ key: String) -> ConfigurationLocation { location(of: nil, key: key) }

    /// Resolves a path in the file, relative to the file's folder.
    package func resolve(_ name: String) -> String {
        let name = FilePath(name)
        return name.isAbsolute || folder.isEmpty ? name.string : folder.appending(name.components).string
    }

    func location(of node: Node?, key: String) -> ConfigurationLocation {
        ConfigurationLocation(file: path, line: node?.mark?.line ?? 0, column: node?.mark?.column ?? 0, key: key)
    }

    /// The text of the file, at most 16 MiB.
    ///
    /// - Throws: ``ConfigurationError`` if the file cannot be read.
    package var text: String {
        get throws(ConfigurationError) {
            do throws(FileFault) { return try path.contentsOfFile(limit: 16 << 20) } catch {
                throw ConfigurationError(self, message: error.reason)
            }
        }
    }

    /// Parses `text` as YAML; returns `nil` if it is empty.
    ///
    /// - Throws: ``ConfigurationError`` if it is not YAML.
    func compose(_ text: String) throws(ConfigurationError) -> Node? {
        do { return try Yams.compose(yaml: text) } catch let error as YamlError {
            switch error {
            case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
                .composer(let context, let problem, let mark, _):
                let fault = YAMLFault(problem, context: context?.text, in: text, line: mark.line, column: mark.column)
                throw ConfigurationError(
                    self,
                    line: mark.line,
                    column: mark.column,
                    message: fault.message,
                    excerpt: fault.excerpt
                )
            case .duplicatedKeysInMapping(let keys, let context):
                throw ConfigurationError(
                    self,
                    line: context.mark.line,
                    column: context.mark.column,
                    key: keys.joined(separator: ", "),
                    message: "is a duplicate key"
                )
            case .reader(let problem, _, let value, _):
                // Its own words have the whole line, in which there may be a secret.
                throw ConfigurationError(self, message: "is not YAML: \(problem) (U+\(String(value, radix: 16)))")
            default: throw ConfigurationError(self, message: "is not YAML")
            }
        } catch { throw ConfigurationError(self, message: "is not YAML: \(error)") }
    }
}

extension ConfigurationError {
    fileprivate init(
        _ file: ConfigurationFile,
        line: Int = 0,
        column: Int = 0,
        key: String = "",
        message: String,
        excerpt: String? = nil
    ) {
        let location = ConfigurationLocation(file: file.path, line: line, column: column, key: key)
        self.init(problems: [ConfigurationProblem(location: location, message: message, excerpt: excerpt)])
    }
}
