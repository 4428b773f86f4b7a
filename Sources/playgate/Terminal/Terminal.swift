// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import SystemPackage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Standard output or standard error.
struct Terminal: Sendable {
    private let descriptor: FileDescriptor

    /// Standard input: only for whether a person is there.
    static let input = Terminal(descriptor: .standardInput)
    static let output = Terminal(descriptor: .standardOutput)
    static let error = Terminal(descriptor: .standardError)

    /// Whether a person is looking.
    var isInteractive: Bool { isatty(descriptor.rawValue) == 1 }

    /// Whether text may have colour: for a person who has not said no (<https://no-color.org>).
    var hasColour: Bool { unsafe isInteractive && getenv("NO_COLOR") == nil }

    func write(_ text: String) { write([UInt8](text.utf8)) }

    /// Writes all of `bytes`. What cannot be written is lost: there is nobody left to tell.
    func write(_ bytes: [UInt8]) { _ = try? descriptor.writeAll(bytes) }
}

/// A style of text on a terminal.
enum Style: String {
    case bold = "1"
    case faint = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// `text` in this style, where `terminal` has colour.
    func callAsFunction(_ text: String, on terminal: Terminal = .output) -> String {
        terminal.hasColour ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}
