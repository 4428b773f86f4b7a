// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import KeySources
internal import Keys
internal import Platform

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
    /// Reads `jwks` or `coseKeys` of an issuer, with `fetch`. Returns `nil` if the issuer has neither.
    package static func read(_ section: ConfigurationSection) -> GateConfiguration.Grants.RemoteKeySet? {
        let settings = section.section("fetch") { Fetch($0) }
        let addresses = [("jwks", KeySetNotation.jwkSet), ("coseKeys", .coseKeySet)].compactMap { key, notation in
            section.parsed(key, default: KeySetAddress?.none) { text in try KeySetAddress(text, notation: notation) }
        }
        if section.has("jwks"), section.has("coseKeys") {
            section.note(at: "coseKeys", message: "a second key set beside jwks")
        }
        let key = section.has("jwks") ? "jwks" : "coseKeys"
        if !section.has(key), section.has("fetch") { section.note(at: "fetch", message: "requires jwks or coseKeys") }
        guard let address = addresses.first else { return nil }
        return Self(
            address: address,
            rules: settings.rules,
            networks: settings.networks,
            authorities: settings.authorities,
            location: section.location(key)
        )
    }

    /// The section `fetch`.
    private struct Fetch {
        var rules = KeySetRules()
        var networks: PermittedAddresses
        var authorities: Located<String>?

        init(_ section: ConfigurationSection) {
            rules.maximumStale = section.duration(
                "maximumStale",
                in: .seconds(300) ... .seconds(30 * 86_400),
                default: rules.maximumStale
            )
            rules.unknownKeyInterval = section.duration(
                "unknownKeyInterval",
                in: .seconds(10) ... .seconds(3600),
                default: rules.unknownKeyInterval
            )
            networks = .usual
            do throws(PermittedAddresses.NotANetwork) {
                networks = try PermittedAddresses(section.strings("networks") ?? [])
            } catch { section.note(at: "networks", message: "\(error)") }
            authorities = section.optionalPath("authorities").map {
                Located(value: $0, location: section.location("authorities"))
            }
        }
    }
}

extension GateConfiguration {
    /// The folder for the last good copies of key sets: the configured one, or that of the store's file; `nil` if there is
    /// neither.
    package var keySetFolder: String? {
        if let folder = grants?.keySetFolder { return folder }
        guard case .sqlite(let file) = use.store, let slash = file.value.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            return nil
        }
        return String(file.value[..<slash])
    }
}
