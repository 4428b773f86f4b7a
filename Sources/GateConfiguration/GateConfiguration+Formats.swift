// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import Keys
package import PlaybackGate
package import VendorTokens

// The formats of grants. Common Access Tokens need no more than a profile; the others have conditions of their own.

/// A format of grants that the gate accepts.
package enum AcceptedFormat: String, CaseIterable, Sendable {
    /// Common Access Tokens (CTA-5007).
    case cat
    /// Signed URIs (RFC 9246).
    case uriSigning = "uri-signing"
}

extension GateConfiguration.Grants {
    /// The settings of a vendor's format by name, as a profile has them.
    package struct VendorProfile: Sendable {
        package let format: VendorFormat
        package let settings: [String: String]
        package let location: ConfigurationLocation

        /// Reads `settings`; `nil` if the format is not a vendor's.
        init?(_ format: GrantFormat, in section: ConfigurationSection) {
            let scalars = section.scalars("settings")
            guard case .vendor(let vendor) = format else {
                if section.has("settings") {
                    section.note(at: "settings", message: "is for a vendor's format: \(format.name) has its own keys")
                }
                return nil
            }
            self.format = vendor
            settings = Dictionary(scalars.map { ($0.key, $0.value) }) { _, last in last }
            location = section.location("settings")
        }
    }
}

extension GateConfiguration.Grants {
    /// Reads `encoding` of a secret in the form that a vendor hands out; `nil` if it has none.
    static func vendorSecret(_ secret: Secret?, in section: ConfigurationSection) -> SigningSecret? {
        guard section.has("encoding") else { return nil }
        let form = section.choice("encoding", default: SigningSecret.Form.text)
        guard let secret else {
            section.note(at: "encoding", message: "is for a secret alone")
            return nil
        }
        do throws(SigningError) { return try SigningSecret(secret.text, form: form) } catch {
            section.note(at: "secret", message: "is no secret of 1 to 1,024 bytes in this encoding: \(form.rawValue)")
            return nil
        }
    }
}

extension AcceptedFormat {
    /// The format of the keys.
    package var tokenFormat: TokenFormat { self == .cat ? .cat : .uriSigning }

    /// The format as profiles have it.
    package var grantFormat: GrantFormat { self == .cat ? .cat : .uriSigning }

    /// Creates the format of a profile; `nil` for a vendor's, which is not accepted.
    package init?(_ format: GrantFormat) {
        switch format {
        case .cat: self = .cat
        case .uriSigning: self = .uriSigning
        case .vendor: return nil
        }
    }
}

extension GrantFormat {
    var isVendors: Bool {
        if case .vendor = self { true } else { false }
    }
}

extension ConfigurationSection {
    /// Reads `format`, `cat` by default.
    package func grantFormat() -> GrantFormat {
        let name = choice("format", among: GrantFormat.all.map(\.name), default: GrantFormat.cat.name)
        return GrantFormat.all.first { $0.name == name } ?? .cat
    }

    /// Notes rules that a format cannot follow, and removes those that are defaults.
    func noteConflicts(of rules: inout GrantProfile.Rules, _ format: GrantFormat) {
        if format != .uriSigning {
            if rules.binding.address == .exact {
                note(at: "bind", message: "address: exact is for signed URIs, which encrypt it")
            }
            if rules.renewal?.way == .query { note(at: "renew", message: "type: query is for signed URIs") }
        }
        guard format != .cat else { return }
        if !rules.binding.headers.isEmpty, format.isVendors {
            note(at: "bind", message: "headers: \(format.name) has no header fields")
        }
        if rules.deliveries.contains(.header) {
            note(at: "deliver", message: "header: \(format.name) has no header field")
        }
        if has("cookie") {
            // Some attributes are for all formats, the name is not.
            if rules.cookie.name != GrantProfile.Cookie().name {
                note(at: "cookie", message: "name: the format names its cookies")
            }
        }
        if rules.host == nil, format.isVendors {
            note(at: "host", message: "host is missing: the vendor's URLs need it")
        }
        switch format {
        case .cat: break
        case .uriSigning: noteConflictsOfSignedURIs(rules)
        case .vendor:
            if has("renew") {
                note(at: "renew", message: "\(format.name) is not renewed here: ask for another with POST /v1/grants")
            }
            rules.renewal = nil
        }
    }
}
