// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import PlaybackGate

extension ConfigurationSection {
    /// Reads the requestor of an entry, or else that of the whole file.
    package func requestor(default fallback: String?) -> String? {
        let requestor = optionalString("requestor") ?? fallback
        if requestor?.isEmpty ?? true {
            note(
                at: "requestor",
                message: "requestor is missing: set it here, or for all entries at the top of the file"
            )
        }
        return requestor
    }

    package func resolve(_ name: String) -> String { file.resolve(name) }

    /// Reads a list of hosts without ports.
    func hostNames(_ key: String) -> [HostName] {
        (strings(key) ?? []).compactMap { name in
            if let host = HostName(name[...]), host.text.utf8.elementsEqual(name.lowercased().utf8) { return host }
            note(at: key, message: "\(name) must be a host without a port, such as live.example.com")
            return nil
        }
    }
}

/// The reason why a text cannot be parsed.
package struct ParseFault: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
