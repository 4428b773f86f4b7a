// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import CommonAccessTokens
package import ConfigurationReading
internal import Encodings
package import KeySources
package import Keys
package import Platform
package import PlaybackGate
internal import ReplayStores
internal import RequestTargets
package import VendorTokens

extension GateConfiguration {
    /// The settings for grants, from the sections `keys` and `grants`.
    package struct Grants: Sendable {
        /// The key that makes session ids and the tags of revocations.
        package var subjectKey: Located<[UInt8]>
        package var keys: [Key]
        package var profiles: [Located<GrantProfile>]
        package var issuers: [Issuer]
        /// The settings of vendors' formats by the names of their profiles.
        package var vendors: [String: VendorProfile]
        /// A key of the section `keys`. Its name is the key id in tokens.
        package struct Key: Sendable {
            package var id: String
            package var material: Material
            package var algorithm: KeyAlgorithm?
            /// The first time at which tokens are verified by it.
            package var notBefore: Timestamp?
            /// The first time at which it signs.
            package var signFrom: Timestamp?
            /// The last time at which it signs; later grants are refused an issue.
            package var signUntil: Timestamp?
            /// The last time at which tokens are verified by it.
            package var verifyUntil: Timestamp?
            /// The file that it was read from.
            package var file: Secret.File?
            package var location: ConfigurationLocation

            package enum Material: Sendable {
                /// A file with keys that follow each other: see ``Keys/KeyRing``.
                case set(Located<String>)
                /// The bytes of a symmetric key.
                case secret([UInt8])
                /// A secret in the form that a vendor hands out, only for the vendor's format.
                case vendors(SigningSecret)
                /// A key that encrypts claims of signed URIs, and does nothing else.
                case encryption(EncryptionKey)
                /// A private or public key, or a certificate, in PEM.
                case pem(Secret)
            }
        }

        /// An issuer whose grants are accepted.
        package struct Issuer: Sendable {
            package var name: String
            package var format: AcceptedFormat
            package var keys: [String]
            /// A file with the issuer's public keys (JWK Set or COSE key set).
            package var keySet: Located<String>?
            /// The issuer's key set that is fetched.
            package var remote: RemoteKeySet?
            /// The only algorithms of its key sets; empty for any.
            package var algorithms: Set<KeyAlgorithm>
            package var audience: [String]
            package var accepted: AcceptedIssuer
            /// The rules for signed URIs.
            package var signed: SignedIssuer
            package var location: ConfigurationLocation

            /// Creates an issuer of its members.
            package init(
                name: String,
                format: AcceptedFormat = .cat,
                keys: [String],
                keySet: Located<String>? = nil,
                remote: RemoteKeySet? = nil,
                algorithms: Set<KeyAlgorithm>,
                audience: [String],
                accepted: AcceptedIssuer,
                signed: SignedIssuer = SignedIssuer(),
                location: ConfigurationLocation
            ) {
                self.name = name
                self.format = format
                self.keys = keys
                self.keySet = keySet
                self.remote = remote
                self.algorithms = algorithms
                self.audience = audience
                self.accepted = accepted
                self.signed = signed
                self.location = location
            }
        }
    }
}

extension GateConfiguration.Grants {
    /// Reads the sections `keys` and `grants` of a file.
    ///
    /// - Parameters:
    ///   - state: The folder of the subject key, unless the file names one.
    ///   - keySets: The rules of key sets that are fetched.
    ///   - countsRenewals: True to find grants that more than one hold.
    package init(
        root: ConfigurationSection,
        section: ConfigurationSection,
        state: StateFolder,
        keySets: KeySetRules,
        countsRenewals: Bool,
        problems: ProblemList
    ) {
        let location = section.location("subjectKey")
        let bytes =
            section.has("subjectKey")
            ? Self.secretBytes("subjectKey", in: section) ?? []
            : state.secret(GateConfiguration.StreamDefaults.subjectKeyFile, at: location, problems: problems).bytes
        subjectKey = Located(value: bytes, location: location)
        keys = root.named("keys", read: Key.init)
        var (vendors, tooLong): ([String: VendorProfile], [String]) = ([:], [])
        profiles = section.named("profiles") { name, section in
            let profile = GrantProfile(name, in: section, countsRenewals: countsRenewals)
            vendors[name] = VendorProfile(profile.format, in: section)
            if name.utf8.count > GrantProfile.longestName { tooLong.append(name) }
            return Located(value: profile, location: section.location)
        }
        self.vendors = vendors
        for name in tooLong {
            let limit = GrantProfile.longestName
            section.note(at: "profiles", message: "\(name): a name has at most \(limit) bytes, because grants carry it")
        }
        issuers = section.list("issuers") { Issuer($0, keySets: keySets) }
        section.rename("cacheCapacity", to: "advanced: { cache: … }")
        section.rename("keySetFolder", to: "advanced: { keySets: { folder: … } }")
        noteUnknownKeys(section)
        noteMisusedKeys(section)
    }

    /// Notes references to keys that the file does not have, and profiles whose key cannot sign.
    private func noteUnknownKeys(_ section: ConfigurationSection) {
        let known = keys.map(\.id).joined(separator: ", ")
        for profile in profiles.map(\.value) {
            for id in profile.keyIDs where !keys.contains(where: { $0.id == id }) {
                section.note(at: "profiles", message: "\(profile.name): key \(id) is not in keys (\(known))")
            }
            if profile.keyIDs.isEmpty, profile.format.isVendors {
                section.note(
                    at: "profiles",
                    message: "\(profile.name): key is missing: the secret that the vendor's network has"
                )
            } else if profile.keyIDs.isEmpty, !issuers.contains(where: { $0.name == profile.issuer }) {
                section.note(at: "profiles", message: "\(profile.name): without key, its issuer must be one of issuers")
            }
        }
        for (number, issuer) in issuers.enumerated() {
            if issuer.remote != nil, issuers[..<number].contains(where: { $0.remote != nil && $0.name == issuer.name })
            {
                section.note(at: "issuers", message: "\(issuer.name): has a key set to fetch twice")
            }
            for id in issuer.keys where !keys.contains(where: { $0.id == id }) {
                section.note(at: "issuers", message: "\(issuer.name): key \(id) is not in keys (\(known))")
            }
        }
    }

    /// Reads a secret of at least 32 bytes, in Base64 of either alphabet.
    private static func secretBytes(_ key: String, in section: ConfigurationSection) -> [UInt8]? {
        guard section.has(key), let secret = section.secret(key) else { return nil }
        return secretBytes(key, in: section, from: secret)
    }

    fileprivate static func secretBytes(
        _ key: String,
        in section: ConfigurationSection,
        from secret: Secret
    ) -> [UInt8]? {
        let text = secret.text
        guard let bytes = Base64.decode([UInt8](text.utf8)), bytes.count >= 32 else {
            section.note(at: key, message: "must be at least 32 bytes in Base64: playgate grant keys makes such")
            return nil
        }
        return bytes
    }
}

extension GateConfiguration.Grants.Key {
    /// Creates a symmetric key without times.
    init(id: String, secret: [UInt8], file: Secret.File?, location: ConfigurationLocation) {
        self.id = id
        material = .secret(secret)
        self.file = file
        self.location = location
    }

    package init(_ id: String, in section: ConfigurationSection) {
        self.id = id
        location = section.location
        if KeyID(id) == nil { section.note(at: "", message: "a key id has 1 to 64 bytes") }
        let use = Algorithm(section)
        algorithm = use.signing
        func time(_ key: String) -> Timestamp? { section.parsed(key, default: nil) { try Timestamp.parse($0) } }
        notBefore = time("notBefore")
        signFrom = time("signFrom")
        signUntil = time("signUntil")
        verifyUntil = time("verifyUntil")
        let names = ["secret", "private", "public", "set"].filter { section.has($0) }
        let secret = section.has("secret") ? section.secret("secret") : nil
        let vendors = GateConfiguration.Grants.vendorSecret(secret, in: section)
        let isVendors = section.has("encoding")
        let encryption = use.encryption.flatMap { Self.encryptionKey(id, use: $0, secret: secret, in: section) }
        let isSigning = !isVendors && use.encryption == nil
        let bytes =
            isSigning ? secret.flatMap { GateConfiguration.Grants.secretBytes("secret", in: section, from: $0) } : nil
        let (privateKey, publicKey) = (section.secret("private"), section.secret("public"))
        let pem = privateKey ?? publicKey
        let set = section.optionalPath("set").map { Located(value: $0, location: section.location("set")) }
        file = (secret ?? pem)?.file
        switch names.count {
        case 1:
            material =
                set.map { .set($0) } ?? encryption.map { .encryption($0) } ?? vendors.map { .vendors($0) }
                ?? bytes.map { .secret($0) }
                ?? .pem(pem ?? Secret(""))
        default:
            section.note(
                at: "secret",
                message: "exactly one of secret, private, public and set is required, such as { file: grant.key }"
            )
            material = .secret([])
        }
        noteConflicts(section)
    }

    /// Returns a key for encryption; `nil` if there is a problem.
    private static func encryptionKey(
        _ id: String,
        use: EncryptionKey.Use,
        secret: Secret?,
        in section: ConfigurationSection
    ) -> EncryptionKey? {
        for key in ["private", "public", "set", "encoding", "notBefore", "signFrom", "signUntil", "verifyUntil"]
        where section.has(key) {
            section.note(at: key, message: "is not for encryption: \(use.rawValue) has a secret alone")
        }
        guard let secret else { return nil }
        guard let bytes = Base64.decode([UInt8](secret.text.utf8)), bytes.count == use.size,
            let key = try? EncryptionKey(secret: bytes, id: KeyID(id), use: use)
        else {
            section.note(at: "secret", message: "must be \(use.size) bytes in Base64 for \(use.rawValue)")
            return nil
        }
        return key
    }

    private func noteConflicts(_ section: ConfigurationSection) {
        let start = Timestamp(millisecondsSince1970: .min)
        let times = [("signFrom", signFrom), ("signUntil", signUntil), ("verifyUntil", verifyUntil)]
        var last = ("notBefore", notBefore ?? start)
        for case (let name, let time?) in times {
            if time < last.1 { section.note(at: name, message: "must not be before \(last.0)") }
            last = (name, time)
        }
        guard case .set = material else { return }
        for key in ["algorithm", "notBefore", "signFrom", "signUntil", "verifyUntil"] where section.has(key) {
            section.note(at: key, message: "is stated in the set, for each of its keys")
        }
    }
}

extension GateConfiguration.Grants.Issuer {
    /// The claims that issuers may leave out of their grants.
    enum OptionalClaim: String, CaseIterable {
        case exp, iss, cdniuc
    }

    fileprivate init(_ section: ConfigurationSection, keySets: KeySetRules) {
        name = section.requiredString("issuer")
        format = section.choice("format", default: AcceptedFormat.cat)
        keys = section.strings("keys") ?? []
        switch GateConfiguration.Grants.KeySetSource.read(section, rules: keySets) {
        case .file(let file): keySet = file
        case .remote(let set): remote = set
        case nil: break
        }
        for (old, claim) in [("requireExpiry", "exp"), ("requireIssuer", "iss"), ("requireContainer", "cdniuc")] {
            section.rename(old, to: "advanced: { optionalClaims: [\(claim)] }", unless: "true")
        }
        algorithms = Self.algorithms(in: section, for: format)
        audience = section.strings("audience") ?? []
        location = section.location
        let (name, format) = (name, format)
        (accepted, signed) = section.advanced { part in
            let missing = Set(part.choices("optionalClaims", of: OptionalClaim.self) ?? [])
            return (
                AcceptedIssuer(name, in: part, missing: missing),
                GateConfiguration.Grants.SignedIssuer(part, format: format, missing: missing)
            )
        }
        if keys.isEmpty, keySet == nil, remote == nil, !section.isFaulty {
            section.note(at: "keys", message: "keys is missing, and source: name the keys of the issuer")
        }
    }

    private static func algorithms(in section: ConfigurationSection, for format: AcceptedFormat) -> Set<KeyAlgorithm> {
        var algorithms: Set<KeyAlgorithm> = []
        for name in section.strings("algorithms") ?? [] {
            if let algorithm = KeyAlgorithm(name: name), algorithm.coseIdentifier != nil || format == .uriSigning {
                algorithms.insert(algorithm)
            } else {
                section.note(at: "algorithms", message: "\(name) is not an algorithm of grants, such as ES256")
            }
        }
        return algorithms
    }
}

extension AcceptedIssuer {
    fileprivate init(
        _ name: String,
        in section: ConfigurationSection,
        missing: Set<GateConfiguration.Grants.Issuer.OptionalClaim>
    ) {
        self.init(name)
        isOwn = section.bool("own", default: false)
        requiresExpiration = !missing.contains(.exp)
        let session = section.duration("maximumSession", in: .seconds(60) ... .seconds(30 * 86_400), default: .zero)
        if session > .zero { maximumSession = session }
    }
}

extension GrantProfile {
    fileprivate convenience init(_ name: String, in section: ConfigurationSection, countsRenewals: Bool) {
        let format = section.grantFormat()
        // Vendors' tokens name no issuer.
        let standard = GateConfiguration.StreamDefaults.issuer
        let named = section.string("issuer", default: standard)
        let issuer = format.isVendors ? name : named
        let keys = section.strings("key")
        var rules = Rules(section)
        section.advanced { rules.readAdvanced($0, format) }
        section.noteConflicts(of: &rules, format)
        if countsRenewals { rules.countRenewals(of: format, in: section) }
        self.init(name, format: format, issuer: issuer, keyIDs: keys ?? [], rules: rules)
    }
}

extension GrantProfile.Rules {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        audience = section.strings("audience") ?? []
        life = section.duration("life", in: .seconds(5) ... .seconds(86_400), default: life)
        session = section.duration("session", in: .seconds(5)...Revocation.longestSession, default: session)
        section.rename("renewable", to: "renew: { type: none }", unless: "true")
        renewal = section.section("renew", read: GrantProfile.Renewal.read)
        methods = Self.methods(section) ?? methods
        scope = Self.scope(section)
        host = section.optionalString("host")
        if let host, !host.isNormalAuthority {
            section.note(at: "host", message: "must be a host in lower case with an optional port, such as cdn.example")
        }
        binding = section.section("bind", read: GrantProfile.Binding.init)
        isSecure = section.choice("scheme", default: Scheme.https) == .https
        deliveries = Self.deliveries(section)
        cookie = section.section("cookie", read: GrantProfile.Cookie.init)
        isRevocable = section.choice("revocation", default: Revocability.tags) == .tags
        section.rename("streams", to: "maxConcurrentStreams")
        let limit = section.integer("maxConcurrentStreams", in: 0...StreamLease.maximumLimit, default: 0)
        streamLimit = limit > 0 ? limit : nil
        noteConflicts(section)
    }

    /// Reads what few profiles change.
    fileprivate mutating func readAdvanced(_ section: ConfigurationSection, _ format: GrantFormat) {
        coversUnverified = section.bool("unverified", default: false)
        isCheckedByOthers = section.choice("checkedBy", default: Checker.gates) == .others
        if format != .cat, section.has("checkedBy") {
            section.note(
                at: "checkedBy",
                message: "is for Common Access Tokens: others check \(format.name) anyway"
            )
        }
        signing = GrantProfile.SignedURIs(section)
        if format == .uriSigning { section.noteConflictsOfSigning(self) } else { section.noteSignedURISettings() }
    }

    private enum Scheme: String, CaseIterable { case https, http }
    private enum Revocability: String, CaseIterable { case tags, none }
    private enum Checker: String, CaseIterable { case gates, others }

    private func noteConflicts(_ section: ConfigurationSection) {
        if streamLimit != nil, !isRevocable {
            section.note(at: "maxConcurrentStreams", message: "requires revocation: tags, which name the viewer")
        }
        if session < life { section.note(at: "session", message: "must not be shorter than life") }
        if let renewal, renewal.deadline >= life {
            section.note(at: "renew", message: "deadline must be shorter than life (\(life.text))")
        }
        if !isSecure, cookie.sameSite == .none {
            section.note(
                at: "cookie",
                message: "sameSite None requires scheme https: browsers drop such a cookie without TLS"
            )
        }
    }

    private static func scope(_ section: ConfigurationSection) -> GrantProfile.Scope {
        let text = section.string("scope", default: "folder")
        if text == "folder" { return .folder }
        if text.utf8.first != UInt8(ascii: "/") || text.utf8.last != UInt8(ascii: "/") {
            section.note(at: "scope", message: "must be folder, or a path that begins and ends with /")
        } else if RequestURI(text[...])?.path.utf8.elementsEqual(text.utf8) != true {
            section.note(at: "scope", message: "must be a path in normal form, percent-encoded: RFC 3986 §6.2.2")
        }
        return .prefix(text)
    }

    /// Reads the methods that a grant permits; an empty list would permit every one.
    private static func methods(_ section: ConfigurationSection) -> [String]? {
        guard let names = section.strings("methods") else { return nil }
        let known = PlaybackRequest.Method.allCases.map(\.rawValue).filter { !$0.isEmpty }
        if names.isEmpty, !section.isFaulty { section.note(at: "methods", message: "must name at least one method") }
        for name in names where !known.contains(name) {
            section.note(
                at: "methods",
                message: "\(name) is not a supported method; supported: \(known.joined(separator: ", "))"
            )
        }
        return names
    }

    private static func deliveries(_ section: ConfigurationSection) -> Set<GrantProfile.Delivery> {
        var deliveries: Set<GrantProfile.Delivery> = []
        for name in section.strings("deliver") ?? ["cookie"] {
            if let delivery = GrantProfile.Delivery(rawValue: name) {
                deliveries.insert(delivery)
            } else {
                let known = GrantProfile.Delivery.allCases.map(\.rawValue).joined(separator: ", ")
                section.note(at: "deliver", message: "\(name) is not a way of delivery; known: \(known)")
            }
        }
        return deliveries
    }
}

extension GrantProfile.Binding {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        address = section.choice("address", default: address)
        headers = (section.strings("headers") ?? []).map { $0.lowercased() }
        if headers.count > Self.maximumHeaders {
            section.note(at: "headers", message: "must name at most \(Self.maximumHeaders) header fields")
        }
        for name in headers where !name.isToken || !Self.permits(header: name) {
            section.note(
                at: "headers",
                message: "\(name): grants can be bound only to a field that edges neither change nor add"
            )
        }
        for name in headers where headers.count(where: { $0 == name }) > 1 {
            section.note(at: "headers", message: "\(name) is a duplicate")
            break
        }
    }
}

extension GrantProfile.Renewal {
    /// Reads `renew`; `nil` for grants that end with their life.
    fileprivate static func read(_ section: ConfigurationSection) -> Self? {
        var renewal = Self()
        let none = "none"
        let names = Way.allCases.map(\.rawValue) + [none]
        let name = section.choice("type", among: names, default: renewal.way.rawValue)
        renewal.deadline = section.duration(
            "deadline",
            in: .seconds(1) ... .seconds(86_400),
            default: renewal.deadline
        )
        guard name != none else {
            if section.has("deadline") { section.note(at: "deadline", message: "is for a type other than none") }
            return nil
        }
        renewal.way = Way(rawValue: name) ?? renewal.way
        return renewal
    }
}

extension GrantProfile.Cookie {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        name = section.string("name", default: name)
        if !name.isToken || name.hasPrefix("__Host-") {
            section.note(at: "name", message: "must be a cookie name, and not begin with __Host-, which forbids a path")
        }
        sameSite = section.choice("sameSite", default: sameSite)
        isPartitioned = section.bool("partitioned", default: false)
        domain = section.optionalString("domain")
        if let domain, HostName(domain[...]) == nil { section.note(at: "domain", message: "must be a host name") }
    }
}

extension String {
    /// True for a host in the form in which requests are compared, with or without a port.
    fileprivate var isNormalAuthority: Bool {
        guard let host = HostName(self[...])?.text, utf8.starts(with: host.utf8) else { return false }
        return utf8.count == host.utf8.count || utf8.dropFirst(host.utf8.count).first == UInt8(ascii: ":")
    }

    /// True if this can name a cookie (RFC 6265 §4.1.1) or a header field: a token of RFC 9110 §5.6.2.
    package var isToken: Bool { !isEmpty && utf8.allSatisfy(\.isTokenCharacter) }
}
