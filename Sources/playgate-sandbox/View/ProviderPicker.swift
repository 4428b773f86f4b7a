// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommandLineSupport
internal import Encodings
internal import Entitlements

/// The choice of a TV provider: that of the command line, or a list on the terminal.
struct ProviderPicker: Sendable {
    /// The provider of the command line.
    let provider: String?
    /// True if no dialog may be displayed to the user.
    let isSilent: Bool

    /// Returns the chosen id, which may be none of `mvpds`; `nil` if none is chosen.
    ///
    /// - Parameter other: The last line of the list, for a provider that is not in it; it returns an empty id.
    func choose(_ mvpds: [MVPD], other: String? = nil) -> String? {
        if let provider { return provider }
        guard !isSilent, Terminal.input.isInteractive else { return nil }
        let names = mvpds.map { "\($0.displayName.printable(limit: 60)) (\($0.id.printable(limit: 60)))" }
        for (number, name) in (names + [other].compactMap { $0 }).enumerated() {
            Terminal.error.write("  \(number + 1)  \(name)\n")
        }
        Terminal.error.write("The number of your TV provider: ")
        guard let number = readLine().flatMap({ Int($0) }) else { return nil }
        if mvpds.indices.contains(number - 1) { return mvpds[number - 1].id }
        return other != nil && number == mvpds.count + 1 ? "" : nil
    }
}
