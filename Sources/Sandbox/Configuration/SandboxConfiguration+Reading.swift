// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Cryptography
internal import Encodings
internal import Entitlements
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

extension SandboxConfiguration {
    /// The default configuration as YAML.
    package static let defaultText = String(decoding: PackageResources.default_yaml, as: UTF8.self)

    /// Creates the default configuration.
    ///
    /// - Throws: ``ConfigurationError``. The built-in text is valid.
    package init() throws(ConfigurationError) {
        try self.init(Self.defaultText, file: ConfigurationFile(path: "default.yaml"))
    }

    /// Reads a configuration file.
    ///
    /// - Throws: ``ConfigurationError`` with every problem that was found.
    package init(file path: String) throws(ConfigurationError) {
        let file = ConfigurationFile(path: path)
        try self.init(file.text, file: file)
    }

    /// Parses the text of a configuration file. Problems name `file`, and other files are looked up beside it.
    ///
    /// - Throws: ``ConfigurationError`` with every problem that was found.
    package init(_ text: String, file: ConfigurationFile) throws(ConfigurationError) {
        let problems = ProblemList()
        let root = try ConfigurationSection(text, file: file, problems: problems)
        let providers = root.list("mvpds", Provider.init)
        let packages = root.list("packages", Package.init)
        let households = root.list("households") { Household($0, packages: packages) }
        let requestors = root.list("requestors") { Requestor($0, providers: providers.map(\.id)) }
        self.providers = providers
        self.packages = packages
        self.households = households
        self.requestors = requestors
        degradation = root.list("degradation") {
            DegradationRule($0, requestors: requestors.map(\.id), providers: providers.map(\.id))
        }
        throttling = root.optionalSection("throttling", Throttling.init)
        mediaTokenLifetime = root.section("mediaToken") {
            let limit = Duration.seconds(900)
            return $0.duration("timeToLive", in: .seconds(1)...limit, default: .seconds(420)).milliseconds
        }
        concurrency = root.section("concurrency", Concurrency.init)
        demo = root.section("demo") { Demo($0, requestors: requestors.map(\.id)) }
        hosts = root.strings("hosts") ?? []
        root.finish()
        root.noteRepeated("mvpds", providers.map(\.id))
        root.noteRepeated("packages", packages.map(\.id))
        root.noteRepeated("households", households.map(\.id))
        root.noteRepeated("requestors", requestors.map(\.id))
        root.noteRepeated("households", households.flatMap { $0.users.map(\.name) }, what: "user")
        root.noteRepeated("households", households.flatMap { $0.users.map(\.id) }, what: "userID")
        if requestors.isEmpty, !root.has("requestors") {
            root.note("requestors", "requestors is missing: name at least one programmer")
        }
        if providers.isEmpty, !root.has("mvpds") {
            root.note("mvpds", "mvpds is missing: name at least one TV provider")
        }
        try problems.throwIfAny()
    }
}

extension ConfigurationSection {
    /// Reads a mandatory id, which appears in tokens, paths and logs.
    fileprivate func id(_ key: String = "id") -> String {
        let id = requiredString(key)
        if id.utf8.count > 128 || !id.isLegalXML || id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            note(key, "must have at most 128 bytes and no control characters")
        }
        return id
    }

    fileprivate func noteRepeated(_ key: String, _ names: [String], what: String = "id") {
        var seen: Set<[UInt8]> = []
        for name in names where !seen.insert([UInt8](name.utf8)).inserted {
            note(key, "duplicate \(what) \(name)")
        }
    }

    /// Reads a mandatory name, which must be among `known`.
    fileprivate func name(_ key: String, among known: [String], what: String) -> String {
        let name = requiredString(key)
        noteUnknown(key, [name], among: known, what: what)
        return name
    }

    fileprivate func noteUnknown(_ key: String, _ names: [String], among known: [String], what: String) {
        for name in names where !name.isEmpty && name != " " && !known.contains(name) {
            note(key, "unknown \(what) \(name); known: \(known.joined(separator: ", "))")
        }
    }

    fileprivate func ratings(_ key: String) -> [Rating] {
        let ratings = texts(key).map { Rating(scheme: $0.key, value: $0.value) }
        for rating in ratings where !rating.isAtMost(rating) {
            note(
                key,
                """
                \(rating.scheme) \(rating.value): unknown rating; \
                known: urn:v-chip (TV-Y to TV-MA) and urn:mpaa (G to NC-17)
                """
            )
        }
        return ratings
    }

    fileprivate func lifetime(_ key: String, default fallback: Duration) -> Int64 {
        duration(key, in: .seconds(1) ... .seconds(400 * 86_400), default: fallback).milliseconds
    }
}

extension SandboxConfiguration.Requestor {
    fileprivate init(_ section: ConfigurationSection, providers known: [String]) {
        id = section.id()
        name = section.string("name", default: id)
        domains = section.strings("domains") ?? []
        providers = section.strings("mvpds")
        section.noteUnknown("mvpds", providers ?? [], among: known, what: "MVPD")
        statements = section.strings("softwareStatements")
        unapprovedStatements = section.strings("unapprovedSoftwareStatements") ?? []
        for text in (statements ?? []) + unapprovedStatements where SoftwareStatement(text) == nil {
            section.note("softwareStatements", "a software statement must be a JWT: three Base64url parts with dots")
        }
        explainsDenials = section.bool("enhancedErrors", default: true)
        maximumPreauthorizedResources = section.integer("maximumPreauthorizedResources", in: 1...100, default: 5)
        encryption = section.optionalSection("encryptedMetadata", Encryption.read).flatMap(\.self)
    }
}

extension SandboxConfiguration.Requestor.Encryption {
    fileprivate static func read(_ section: ConfigurationSection) -> Self? {
        let keys = section.strings("keys") ?? []
        if keys.isEmpty { section.note("keys", "keys is missing: name the metadata keys to encrypt, such as zip") }
        let path = section.requiredPath("certificate")
        guard !section.isFaulty else { return nil }
        do throws(FileFault) {
            guard let certificate = MetadataCertificate(pem: try path.contentsOfFile(limit: 1 << 20)) else {
                section.note("certificate", "has no PEM certificate with an RSA key")
                return nil
            }
            return Self(certificate: certificate, keys: keys)
        } catch {
            section.note("certificate", "\(path): \(error.reason)")
            return nil
        }
    }
}

extension SandboxConfiguration.Provider {
    fileprivate init(_ section: ConfigurationSection) {
        let id = section.id()
        let access = section.optionalSection("tempPass", SandboxConfiguration.TemporaryAccess.init)
        let status: BoardingStatus? =
            section.has("boardingStatus")
            ? section.choice("boardingStatus", default: BoardingStatus.supported) : nil
        description = MVPD(
            id: id,
            displayName: section.string("displayName", default: id),
            logoURL: section.optionalString("logo"),
            enablePlatformServices: section.bool("enablePlatformServices", default: false),
            boardingStatus: status.map { MVPD.BoardingStatus(rawValue: $0.rawValue) },
            isTempPass: access != nil,
            isProxy: section.bool("isProxy", default: false),
            platformMappingID: section.optionalString("platformMappingId")
        )
        proxy = section.optionalString("proxy")
        temporaryAccess = access
        authenticationLifetime = section.lifetime("authenticationLifetime", default: .seconds(30 * 86_400))
        authorizationLifetime = section.lifetime("authorizationLifetime", default: .seconds(6 * 3600))
        isChannelOnly = section.bool("channelOnly", default: false)
        logsOutInBrowser = section.bool("logoutInBrowser", default: true)
        if description.boardingStatus != nil, !description.enablePlatformServices {
            section.note("boardingStatus", "requires enablePlatformServices: true")
        }
        if description.enablePlatformServices, description.platformMappingID == nil {
            section.note("platformMappingId", "platformMappingId is missing: it identifies the MVPD on the platform")
        }
    }

    private enum BoardingStatus: String, CaseIterable {
        case picker = "PICKER"
        case supported = "SUPPORTED"
    }
}

extension SandboxConfiguration.TemporaryAccess {
    fileprivate init(_ section: ConfigurationSection) {
        duration = section.lifetime("duration", default: .seconds(600))
        maximumResources =
            section.has("maximumResources") ? section.integer("maximumResources", in: 1...1000, default: 1) : nil
        isPromotional = section.bool("promotional", default: false)
    }
}

extension SandboxConfiguration.Package {
    fileprivate init(_ section: ConfigurationSection) {
        id = section.id()
        channels = section.strings("channels") ?? []
        resources = (section.strings("resources") ?? []).compactMap { text in
            do throws(ResourceError) { return try MediaResource(text) } catch {
                section.note("resources", "\(error)")
                return nil
            }
        }
        if channels.isEmpty, resources.isEmpty, !section.isFaulty {
            section.note("channels", "a package must have channels or resources")
        }
    }
}

extension SandboxConfiguration.Household {
    fileprivate init(_ section: ConfigurationSection, packages known: [SandboxConfiguration.Package]) {
        id = section.id()
        zip = section.string("zip", default: "00000")
        let names = section.strings("packages") ?? []
        section.noteUnknown("packages", names, among: known.map(\.id), what: "package")
        packages = names.compactMap { name in known.first { $0.id == name } }
        maximumRatings = section.ratings("maximumRatings")
        users = section.list("users", SandboxConfiguration.User.init)
    }
}

extension SandboxConfiguration.User {
    fileprivate init(_ section: ConfigurationSection) {
        let name = section.id("name")
        self.name = name
        let password = section.secret("password")?.text ?? ""
        if password.isEmpty { section.note("password", "password is missing") }
        self.password = password
        id = section.string("userID", default: name)
        maximumRatings = section.ratings("maximumRatings")
        metadata = section.texts("metadata")
    }
}

extension SandboxConfiguration.DegradationRule {
    fileprivate init(_ section: ConfigurationSection, requestors: [String], providers: [String]) {
        requestor = section.name("requestor", among: requestors, what: "requestor")
        provider = section.name("mvpd", among: providers, what: "MVPD")
        kind = section.choice("rule", default: Kind.authZNone)
    }
}

extension SandboxConfiguration.Throttling {
    fileprivate init(_ section: ConfigurationSection) {
        rate = section.integer("rate", in: 1...10_000, default: 1)
        burst = section.integer("burst", in: 1...10_000, default: 10)
    }
}

extension SandboxConfiguration.Concurrency {
    fileprivate init(_ section: ConfigurationSection) {
        limit = section.integer("limit", in: 1...100, default: 2)
        strategy = section.choice("strategy", default: Strategy.rejectNew)
        requiredMetadata = section.strings("requiredMetadata") ?? []
    }
}

extension SandboxConfiguration.Demo {
    fileprivate init(_ section: ConfigurationSection, requestors: [String]) {
        title = section.string("title", default: "Playgate TV")
        requestor = section.string("requestor", default: requestors.first ?? "")
        section.noteUnknown("requestor", [requestor], among: requestors, what: "requestor")
        items = section.list("items", Item.init)
    }
}

extension SandboxConfiguration.Demo.Item {
    fileprivate init(_ section: ConfigurationSection) {
        media = section.requiredString("media")
        title = section.requiredString("title")
        description = section.string("description", default: "")
        path = section.requiredString("path")
        isProtected = section.bool("protected", default: true)
        let resource: String? = section.parsed("resource", default: nil) { try MediaResource($0).text }
        self.resource = resource
        if isProtected, resource == nil, !section.isFaulty {
            section.note("resource", "resource is missing: name the required resource, or set protected: false")
        }
    }
}
