// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import SystemPackage

/// Standard output or standard error.
struct Terminal: Sendable {
    private let descriptor: FileDescriptor

    static let output = Terminal(descriptor: .standardOutput)
    static let error = Terminal(descriptor: .standardError)

    /// Writes all of `text`. What cannot be written is lost: there is nobody left to tell.
    func write(_ text: String) { _ = try? descriptor.writeAll(text.utf8) }
}
