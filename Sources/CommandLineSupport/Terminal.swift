// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import SystemPackage

/// Standard input, output or error.
package struct Terminal: Sendable {
    private let descriptor: FileDescriptor

    /// Standard input: only for ``isInteractive``.
    package static let input = Terminal(descriptor: .standardInput)
    package static let output = Terminal(descriptor: .standardOutput)
    package static let error = Terminal(descriptor: .standardError)

    /// True if the descriptor is a terminal.
    package var isInteractive: Bool { isatty(descriptor.rawValue) == 1 }

    /// True if text may have colour: on a terminal without `NO_COLOR` in the environment (<https://no-color.org>).
    package var hasColour: Bool { unsafe isInteractive && getenv("NO_COLOR") == nil }

    /// Writes all of `text`, as the bytes of its UTF-8.
    package func write(_ text: String) { write([UInt8](text.utf8)) }

    /// Writes all of `bytes`. Errors are ignored, because there is no other output for them.
    package func write(_ bytes: [UInt8]) { _ = try? descriptor.writeAll(bytes) }
}

/// A style of text on a terminal.
package enum Style: String {
    case bold = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// Returns `text` in this style if `terminal` has colour; otherwise unchanged.
    package func callAsFunction(_ text: String, on terminal: Terminal = .output) -> String {
        terminal.hasColour ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}
