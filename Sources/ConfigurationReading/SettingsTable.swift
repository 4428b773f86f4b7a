// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings

/// A key of a configuration file, as its reader knows it.
package struct Setting: Sendable {
    /// The keys from the root, separated by dots. `[]` stands for each element of a list, `NAME` for each name.
    package let path: String
    package let kind: Kind
    /// The value without the key; null if that is for the program to find, or if there is none.
    package let `default`: JSON
    /// True if a section without the key is refused.
    package let isRequired: Bool

    /// The values that a setting may have.
    package enum Kind: Sendable {
        case string
        case bool
        case integer(ClosedRange<Int>)
        case duration(ClosedRange<Duration>)
        case choice([String])
        /// A text, or a list of texts.
        case strings
        /// One of these texts, or a list of them.
        case choices([String])
        /// A whole number, or a text, or a list of texts.
        case integerOrStrings(ClosedRange<Int>)
        /// A text, or `{ file: PATH }`, or `{ env: NAME }`.
        case secret
        /// A mapping of texts to texts.
        case texts
        /// A mapping of texts to texts or lists of texts.
        case lists
        /// A mapping of texts to secrets.
        case secrets
        /// A mapping of texts to texts, truth values and numbers.
        case scalars
        /// A mapping with keys of its own.
        case section
        /// A mapping with keys of its own, or a text that is the value of one of them.
        case sectionOrText
        /// A list of mappings.
        case list
        /// A mapping of names to mappings.
        case named
    }

    /// Creates a setting of its members.
    package init(path: String, kind: Kind, default fallback: JSON, isRequired: Bool) {
        self.path = path
        self.kind = kind
        self.default = fallback
        self.isRequired = isRequired
    }

    /// The last key of the path.
    package var name: Substring { path.split(separator: ".").last ?? "" }
}

/// The settings of a configuration file, recorded by the reader itself as it reads no file: no list can differ from it.
///
/// Some settings are read only if others are there, or have a certain value. So the reader reads several times, each time
/// with other answers, until it has read everything.
package final class SettingsTable {
    /// The settings in the order in which they are read.
    package private(set) var settings: [Setting] = []
    private var indices: [String: Int] = [:]
    private var round = 0

    /// Creates an empty table.
    package init() {}

    /// The number of rounds in which every answer is given: twice the length of the longest list of values, at least.
    package static let rounds = 32

    /// Calls a reader once for each round.
    package func record(_ read: (SettingsTable) -> Void) {
        for round in 0..<Self.rounds {
            self.round = round
            read(self)
        }
    }

    /// The answer of this round to whether optional settings are there.
    var hasOptionalSettings: Bool { round % 2 == 1 }

    /// The value of this round among some.
    func choice(among names: [String]) -> String { names[(round / 2) % names.count] }

    func add(_ setting: Setting) {
        if let index = indices[setting.path] {
            // A required text is read as any other too.
            guard setting.isRequired, !settings[index].isRequired else { return }
            return settings[index] = setting
        }
        indices[setting.path] = settings.count
        settings.append(setting)
    }
}
