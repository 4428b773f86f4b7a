// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import SystemPackage

/// Standard output or standard error.
package struct Terminal: Sendable {
    private let descriptor: FileDescriptor

    /// Standard input: only for whether a person is there.
    package static let input = Terminal(descriptor: .standardInput)
    package static let output = Terminal(descriptor: .standardOutput)
    package static let error = Terminal(descriptor: .standardError)

    /// Whether a person is looking.
    package var isInteractive: Bool { isatty(descriptor.rawValue) == 1 }

    /// Whether text may have colour: for a person who has not said no (<https://no-color.org>).
    package var hasColour: Bool { unsafe isInteractive && getenv("NO_COLOR") == nil }

    package func write(_ text: String) { write([UInt8](text.utf8)) }

    /// Writes all of `bytes`. What cannot be written is lost: there is nobody left to tell.
    package func write(_ bytes: [UInt8]) { _ = try? descriptor.writeAll(bytes) }
}

/// A style of text on a terminal.
package enum Style: String {
    case bold = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// `text` in this style, where `terminal` has colour.
    package func callAsFunction(_ text: String, on terminal: Terminal = .output) -> String {
        terminal.hasColour ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}
