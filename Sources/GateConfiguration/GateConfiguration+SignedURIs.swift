// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import Keys
internal import PlaybackGate
package import URISigning

// The settings of signed URIs (RFC 9246): what a profile writes into them, and what an issuer may leave out.

extension GateConfiguration.Grants {
    /// The rules for signed URIs of an issuer.
    package struct SignedIssuer: Sendable {
        /// False if tokens without `iss` are accepted by the issuer's keys.
        package var requiresName = true
        /// False if tokens without `cdniuc` are accepted.
        package var requiresContainer = true
        package var match = URIPatternMatch.whole
        /// The header of tokens without one.
        package var header: Located<JWSHeader>?
        /// The names of the keys that decrypt claims.
        package var decryptionKeys: [String] = []

        /// Creates the rules of an issuer that the file does not list.
        init() {}

        /// Reads the rules, and notes them if grants of the format cannot have them.
        ///
        /// - Parameter missing: The claims that grants may lack.
        init(_ section: ConfigurationSection, format: AcceptedFormat, missing: Set<Issuer.OptionalClaim>) {
            requiresName = !missing.contains(.iss)
            requiresContainer = !missing.contains(.cdniuc)
            match = section.choice("match", default: match)
            let parsed = section.parsed("jwtHeader", default: nil) { text in
                do throws(JOSERefusal) { return JWSHeader?.some(try JWSHeader(text)) } catch {
                    throw ParseFault("is no encoded JOSE header with the algorithm of a key (\(error.rawValue))")
                }
            }
            header = parsed.map { Located(value: $0, location: section.location("jwtHeader")) }
            decryptionKeys = section.strings("decrypt") ?? []
            guard format != .uriSigning else { return }
            for key in ["match", "jwtHeader", "decrypt"] where section.has(key) {
                section.note(at: key, message: "is for the format uri-signing")
            }
            if !requiresName || !requiresContainer {
                section.note(at: "optionalClaims", message: "iss and cdniuc are for the format uri-signing")
            }
        }
    }

    /// Notes keys for encryption that are used as keys for signing, and the reverse. Also notes algorithms that a
    /// format does not have.
    func noteMisusedKeys(_ section: ConfigurationSection) {
        for profile in profiles.map(\.value) {
            noteMisused(
                profile.keyIDs,
                key: "profiles",
                owner: profile.name,
                isCAT: profile.format == .cat,
                in: section
            )
            guard let id = profile.rules.signing.encryptionKey else { continue }
            noteNotEncrypting([id], key: "profiles", use: "\(profile.name): encrypt", in: section)
        }
        for issuer in issuers {
            noteMisused(issuer.keys, key: "issuers", owner: issuer.name, isCAT: issuer.format == .cat, in: section)
            noteNotEncrypting(issuer.signed.decryptionKeys, key: "issuers", use: "\(issuer.name): decrypt", in: section)
        }
    }

    private func noteMisused(
        _ names: [String],
        key: String,
        owner: String,
        isCAT: Bool,
        in section: ConfigurationSection
    ) {
        for found in keys where names.contains(found.id) {
            if found.encryptionKey != nil {
                section.note(at: key, message: "\(owner): key \(found.id) is for encryption alone")
            }
            if isCAT, let algorithm = found.algorithm, algorithm.coseIdentifier == nil {
                section.note(
                    at: key,
                    message: "\(owner): key \(found.id): \(algorithm.rawValue) is not for Common Access Tokens"
                )
            }
        }
    }

    private func noteNotEncrypting(_ names: [String], key: String, use: String, in section: ConfigurationSection) {
        for name in names where keys.first(where: { $0.id == name })?.encryptionKey == nil {
            let known = EncryptionKey.Use.allCases.map(\.rawValue).joined(separator: ", ")
            section.note(
                at: key,
                message: "\(use): \(name) is not a key of keys with an algorithm for encryption: \(known)"
            )
        }
    }
}

extension GateConfiguration.Grants.Key {
    /// The key for encryption; `nil` for another key.
    package var encryptionKey: EncryptionKey? {
        if case .encryption(let key) = material { key } else { nil }
    }

    /// An algorithm of a key.
    package enum Algorithm {
        case signing(KeyAlgorithm)
        case encryption(EncryptionKey.Use)
        case none

        /// Reads `algorithm`.
        package init(_ section: ConfigurationSection) {
            self = section.parsed("algorithm", default: Algorithm.none) { name in
                if let algorithm = KeyAlgorithm(name: name) { return .signing(algorithm) }
                if let use = EncryptionKey.Use(rawValue: name) { return .encryption(use) }
                let signing = KeyAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                let encryption = EncryptionKey.Use.allCases.map(\.rawValue).joined(separator: ", ")
                throw ParseFault("must be one of \(signing); or for encryption one of \(encryption)")
            }
        }

        package var signing: KeyAlgorithm? {
            if case .signing(let algorithm) = self { algorithm } else { nil }
        }

        package var encryption: EncryptionKey.Use? {
            if case .encryption(let use) = self { use } else { nil }
        }
    }
}

extension GrantProfile.SignedURIs {
    /// Reads the settings of a profile for signed URIs.
    package init(_ section: ConfigurationSection) {
        self.init()
        container = section.choice("container", default: container)
        subject = section.choice("subject", default: subject)
        encryptionKey = section.optionalString("encrypt")
        omitsHeader = section.bool("omitHeader", default: false)
    }
}

extension ConfigurationSection {
    /// Notes settings of signed URIs that a profile of another format has.
    func noteSignedURISettings() {
        for key in ["container", "subject", "encrypt", "omitHeader"] where has(key) {
            note(at: key, message: "is for the format uri-signing")
        }
    }

    /// Notes common rules of a profile that signed URIs cannot follow.
    func noteConflictsOfSignedURIs(_ rules: GrantProfile.Rules) {
        if !rules.binding.headers.isEmpty {
            note(at: "bind", message: "headers: signed URIs have no claim for header fields")
        }
        if rules.binding.address != .none, rules.signing.encryptionKey == nil {
            let reason = "cdniip is encrypted for those who check it"
            note(at: "bind", message: "address: requires advanced: { encrypt: … }: \(reason)")
        }
        if let way = rules.renewal?.way, way != .cookie, way != .query {
            note(
                at: "renew",
                message: "type: signed URIs are renewed by cookie or query; none turns it off"
            )
        }
    }

    /// Notes settings of signed URIs that contradict each other or the rest of their profile.
    func noteConflictsOfSigning(_ rules: GrantProfile.Rules) {
        let signing = rules.signing
        if signing.subject != .none, signing.encryptionKey == nil {
            note(at: "subject", message: "requires encrypt: sub is never in clear")
        }
        if signing.subject == .viewer, !rules.isRevocable {
            note(at: "subject", message: "viewer requires revocation: tags, which name the viewer")
        }
        if signing.encryptionKey != nil, signing.subject == .none, rules.binding.address == .none {
            note(at: "encrypt", message: "encrypts nothing: give bind: { address: exact } or subject: session")
        }
        if signing.container == .hash, rules.host == nil {
            note(at: "container", message: "hash requires host: it is of a whole URL")
        }
    }
}
