// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import KeySources

extension GateConfiguration.Grants {
    /// The key set of an issuer that is fetched.
    package struct RemoteKeySet: Sendable {
        package var address: KeySetAddress
        package var rules: KeySetRules
        package var networks: PermittedAddresses
        /// A file with the certificate authorities of the server; `nil` for those of the system.
        package var authorities: Located<String>?
        package var location: ConfigurationLocation
    }
}

extension GateConfiguration.Grants.RemoteKeySet {
    /// Reads the URL of a key set.
    ///
    /// - Parameter rules: The rules of all key sets.
    fileprivate init?(_ section: ConfigurationSection, rules: KeySetRules) {
        let address = section.parsed("url", default: KeySetAddress?.none) { text in try KeySetAddress(text) }
        networks = .usual
        do throws(PermittedAddresses.NotANetwork) {
            networks = try PermittedAddresses(section.strings("networks") ?? [])
        } catch { section.note(at: "networks", message: "\(error)") }
        authorities = section.optionalPath("authorities").map {
            Located(value: $0, location: section.location("authorities"))
        }
        guard let address else { return nil }
        self.address = address
        self.rules = rules
        location = section.location("url")
    }
}

extension GateConfiguration.Grants {
    /// The key set of an issuer: a file, or one that is fetched.
    enum KeySetSource {
        case file(Located<String>)
        case remote(RemoteKeySet)

        /// Reads `source` of an issuer: the URL or the path, or a section with either. Returns `nil` if it has none.
        static func read(_ section: ConfigurationSection, rules: KeySetRules) -> KeySetSource? {
            for old in ["jwks", "coseKeys", "keySet"] { section.rename(old, to: "source") }
            section.rename("fetch", to: "source: { url: …, networks: …, authorities: … }")
            if let text = section.text(of: "source"), !text.contains("://") {
                let path = section.optionalPath("source") ?? ""
                return .file(Located(value: path, location: section.location("source")))
            }
            return section.optionalSection("source", orTextOf: "url") { section in
                if !section.has("url") {
                    section.note(at: "url", message: "url is missing, such as https://keys.example/jwks.json")
                }
                return RemoteKeySet(section, rules: rules).map { .remote($0) }
            } ?? nil
        }
    }
}

extension GateConfiguration {
    /// The folder for the last good copies of key sets: the configured one, or that of the store's file; `nil` if there is
    /// neither.
    package var keySetFolder: String? {
        if let folder = advanced.keySetFolder { return folder }
        guard case .sqlite(let file) = use.store, let slash = file.value.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return nil
        }
        return String(file.value[..<slash])
    }
}
