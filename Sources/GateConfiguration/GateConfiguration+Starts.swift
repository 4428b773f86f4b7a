// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import AccessTokens
package import ConfigurationReading
package import KeySources
internal import Keys
internal import MediaResources

// The section `starts`: identity providers whose tokens start playbacks, and what they may start.

extension GateConfiguration {
    /// An identity provider of the section `starts`.
    package struct Start: Sendable {
        package var issuer: AccessTokenIssuer
        /// A file with the provider's public keys.
        package var keySet: Located<String>?
        /// The provider's key set that is fetched, or the document that names it.
        package var remote: Grants.RemoteKeySet?
        /// The server that knows the provider's opaque tokens; `nil` if there are none.
        package var introspection: Introspection?
        package var location: ConfigurationLocation
    }

    /// A server that knows opaque tokens (RFC 7662), with the credentials of this gate.
    package struct Introspection: Sendable {
        package var address: KeySetAddress
        package var client: String
        package var secret: Secret
        package var authorities: Located<String>?
        /// The longest wait for an answer.
        package var deadline: Duration
        /// The longest time for which an answer is used again.
        package var life: Duration
    }
}

extension KeySetAddress {
    /// The end of the URL of a discovery document (OpenID Connect Discovery 1.0 §4).
    package static let discoveryPath = "/.well-known/openid-configuration"

    /// True for a document that names the key set: that of OpenID Connect, or that of OAuth (RFC 8414 §3).
    package var isDiscoveryDocument: Bool {
        url.hasSuffix(Self.discoveryPath) || url.contains("/.well-known/oauth-authorization-server")
    }
}

extension GateConfiguration.Start {
    /// How tokens may be used again.
    private enum Reuse: String, CaseIterable {
        case expiry
    }

    init(_ section: ConfigurationSection, keySets: KeySetRules) {
        location = section.location
        let identifier = section.requiredString("issuer")
        let rules = section.list("allow", read: ResourceRule.init(_:)).compactMap(\.self)
        issuer = AccessTokenIssuer(identifier, audience: section.strings("audience") ?? [], rules: rules)
        issuer.name = section.string("name", default: identifier)
        if let algorithms = Self.algorithms(section) { issuer.algorithms = algorithms }
        if let types = Self.types(section) { issuer.types = types }
        issuer.requiredClaims = Self.requiredClaims(section)
        issuer.leeway = section.duration("leeway", in: .zero ... .seconds(120), default: issuer.leeway)
        issuer.maximumAge = section.duration(
            "maximumAge",
            in: .seconds(10) ... .seconds(30 * 86_400),
            default: issuer.maximumAge
        )
        issuer.viewer = section.claim("viewer") ?? issuer.viewer
        issuer.streamLimit = section.claim("streams")
        issuer.sessionEnd = section.claim("until")
        issuer.isReusable = section.optionalSection("reuse") { $0.choice("until", default: Reuse.expiry) } != nil
        introspection = section.optionalSection("introspection", read: GateConfiguration.Introspection.init(_:)) ?? nil
        issuer.isIntrospected = introspection != nil
        switch GateConfiguration.Grants.KeySetSource.read(section, rules: keySets) {
        case .file(let file): keySet = file
        case .remote(let set): remote = set
        case nil: remote = Self.discovered(by: identifier, in: section, rules: keySets)
        }
        noteMissing(section)
    }

    /// Returns the discovery document of an issuer that is a URL; `nil` for another one.
    private static func discovered(
        by identifier: String,
        in section: ConfigurationSection,
        rules: KeySetRules
    ) -> GateConfiguration.Grants.RemoteKeySet? {
        guard !section.has("source") else { return nil }
        let base = identifier.hasSuffix("/") ? String(identifier.dropLast()) : identifier
        guard let address = try? KeySetAddress(base + KeySetAddress.discoveryPath) else { return nil }
        return GateConfiguration.Grants.RemoteKeySet(
            address: address,
            rules: rules,
            networks: .usual,
            authorities: nil,
            location: section.location("issuer")
        )
    }

    private func noteMissing(_ section: ConfigurationSection) {
        guard !section.isFaulty else { return }
        if issuer.rules.isEmpty {
            section.note(
                at: "allow",
                message: "allow is missing: say which claim names the resources, such as - claim: entitlements"
            )
        }
        if keySet == nil, remote == nil, introspection == nil {
            section.note(
                at: "source",
                message: "source is missing: the file or the https URL of the key set, since issuer is no https URL"
            )
        }
        let recipients = ["aud", "azp", "client_id", "cid", "appid"]
        let isNamed = issuer.requiredClaims.contains { recipients.contains($0.claim.text) && $0.values != nil }
        if issuer.audience.isEmpty, !isNamed {
            section.note(
                at: "audience",
                message:
                    "audience is missing: without it, tokens for any other application would start playbacks; "
                    + "if the tokens have no aud, name the client, such as claims: { client_id: tv-app }"
            )
        }
    }

    private static func algorithms(_ section: ConfigurationSection) -> Set<KeyAlgorithm>? {
        guard let names = section.strings("algorithms") else { return nil }
        var algorithms: Set<KeyAlgorithm> = []
        for name in names {
            if let algorithm = KeyAlgorithm(name: name), !algorithm.isMAC {
                algorithms.insert(algorithm)
            } else {
                section.note(
                    at: "algorithms",
                    message: "\(name) is no signature that others can only check, such as RS256 or ES256"
                )
            }
        }
        if names.isEmpty { section.note(at: "algorithms", message: "must not be empty; omit it for all") }
        return algorithms
    }

    /// Reads `types`: names of types, and `none` for tokens without one.
    private static func types(_ section: ConfigurationSection) -> JWSTypes? {
        guard let names = section.strings("types") else { return nil }
        if names.isEmpty { section.note(at: "types", message: "must not be empty; omit it for at+jwt") }
        for name in names where name.isEmpty || !name.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }) {
            section.note(at: "types", message: "must be types of tokens, such as at+jwt, JWT or none")
        }
        return JWSTypes(names.filter { $0 != "none" }, permitsNone: names.contains("none"))
    }

    private static func requiredClaims(_ section: ConfigurationSection) -> [AccessTokenIssuer.RequiredClaim] {
        section.lists("claims").compactMap { name, values in
            do throws(ClaimPathError) {
                let path = try ClaimPath(name)
                if values.isEmpty {
                    section.note(at: "claims", message: "\(name): must have a value, or \"*\" for any")
                }
                return AccessTokenIssuer.RequiredClaim(path, values: values.contains("*") ? nil : values)
            } catch {
                section.note(at: "claims", message: "\(name): \(error)")
                return nil
            }
        }
    }
}

extension ResourceRule {
    /// Reads an element of `allow`; `nil` if it has no claim.
    fileprivate init?(_ section: ConfigurationSection) {
        let claim = section.claim("claim")
        if claim == nil, !section.isFaulty {
            section.note(at: "claim", message: "claim is missing: the claim whose values name resources")
        }
        let prefix = section.string("prefix", default: "")
        let isSeparated = section.has("separated") ? section.bool("separated", default: false) : nil
        var table: [String: Entitlement] = [:]
        let values = section.lists("values")
        for (value, resources) in values {
            table[value] = resources.contains("*") ? .all : .some(Self.resources(resources, of: value, in: section))
        }
        guard let claim else { return nil }
        self.init(claim, prefix: prefix, resources: section.has("values") ? table : nil, isSeparated: isSeparated)
    }

    private static func resources(
        _ texts: [String],
        of value: String,
        in section: ConfigurationSection
    ) -> [MediaResource] {
        if texts.isEmpty { section.note(at: "values", message: "\(value): must name resources, or \"*\" for all") }
        return texts.compactMap { text in
            do throws(ResourceError) { return try MediaResource(text) } catch {
                section.note(at: "values", message: "\(value): \(error)")
                return nil
            }
        }
    }
}

extension GateConfiguration.Introspection {
    fileprivate init?(_ section: ConfigurationSection) {
        let address = section.parsed("url", default: KeySetAddress?.none) { text in try KeySetAddress(text) }
        if !section.has("url") {
            section.note(at: "url", message: "url is missing, such as https://id.example/oauth2/introspect")
        }
        client = section.requiredString("client")
        let secret = section.secret("secret")
        if secret == nil, !section.isFaulty {
            section.note(
                at: "secret",
                message: "secret is missing: that of the client, such as { file: client.secret }"
            )
        }
        authorities = section.optionalPath("authorities").map {
            Located(value: $0, location: section.location("authorities"))
        }
        deadline = section.duration("deadline", in: .milliseconds(50) ... .seconds(10), default: .seconds(1))
        life = section.duration("cache", in: .zero ... .seconds(3600), default: .seconds(30))
        guard let address, let secret else { return nil }
        self.address = address
        self.secret = secret
    }
}

extension ConfigurationSection {
    /// Reads the path of a claim; `nil` if there is none.
    fileprivate func claim(_ key: String) -> ClaimPath? {
        parsed(key, default: nil) { text in try ClaimPath(text) }
    }
}
