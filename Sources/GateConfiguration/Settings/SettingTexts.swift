// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading

/// The descriptions of settings, for people: the content of `settings.yaml`, which the program contains.
package struct SettingTexts {
    private let texts: [String: Text]

    /// The meaning of a setting.
    package struct Text: Hashable, Sendable {
        /// One to three sentences.
        package let text: String
        /// The value without the key, if the program finds it by other keys; `nil` otherwise.
        package let usual: String?
        /// An example of a value, in YAML; `nil` for a mapping or a truth value, which needs none.
        package let example: String?
    }

    /// Reads the texts.
    ///
    /// - Throws: ``ConfigurationError`` with all problems.
    package init() throws(ConfigurationError) {
        let problems = ProblemList()
        let file = ConfigurationFile(path: "settings.yaml")
        let text = String(decoding: PackageResources.settings_yaml, as: UTF8.self)
        let root = try ConfigurationSection(text, file: file, problems: problems)
        let named = root.named("settings") { name, section in
            let text = Text(
                text: section.requiredString("text"),
                usual: section.optionalString("default"),
                example: section.optionalString("example")
            )
            return (name, text)
        }
        root.finish()
        try problems.throwIfAny()
        texts = Dictionary(named) { first, _ in first }
    }

    /// The names in the file.
    package var names: Set<String> { Set(texts.keys) }

    /// Returns the meaning of a setting, and the name that it has in the file; `nil` if there is none.
    package func text(of setting: Setting) -> (name: String, text: Text)? {
        let path = setting.path
        var names = [path]
        // Listeners have keys in common, and so have elements of lists.
        if let dot = path.firstIndex(of: ".") { names.append("*" + path[dot...]) }
        if path.hasSuffix("[]." + setting.name) { names.append("*[]." + setting.name) }
        for name in names { if let text = texts[name] { return (name, text) } }
        return nil
    }
}
