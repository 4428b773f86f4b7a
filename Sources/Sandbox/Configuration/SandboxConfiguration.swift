// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Encodings
internal import Entitlements
internal import MediaResources
internal import Platform
internal import XML

/// The configuration of the sandbox: programmers, providers, households and their packages.
package struct SandboxConfiguration: Sendable {
    let requestors: [Requestor]
    let providers: [Provider]
    let packages: [Package]
    let households: [Household]
    let degradation: [DegradationRule]
    /// The initial throttling; `nil` if requests are not throttled.
    let throttling: Throttling?
    /// The lifetime of a media token in milliseconds, from 1 s to 900 s.
    let mediaTokenLifetime: Int64
    let concurrency: Concurrency
    let demo: Demo
    /// The host names of the service besides the loopback names.
    let hosts: [String]

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
        let providers = root.list("mvpds", read: Provider.init)
        let packages = root.list("packages", read: Package.init)
        let households = root.list("households") { Household($0, packages: packages) }
        let requestors = root.list("requestors") { Requestor($0, providers: providers.map(\.id)) }
        self.providers = providers
        self.packages = packages
        self.households = households
        self.requestors = requestors
        degradation = root.list("degradation") {
            DegradationRule($0, requestors: requestors.map(\.id), providers: providers.map(\.id))
        }
        throttling = root.optionalSection("throttling", read: Throttling.init)
        mediaTokenLifetime = root.section("mediaToken") {
            let limit = Duration.seconds(900)
            return $0.duration("timeToLive", in: .seconds(1)...limit, default: .seconds(420)).milliseconds
        }
        concurrency = root.section("concurrency", read: Concurrency.init)
        demo = root.section("demo") { Demo($0, requestors: requestors.map(\.id)) }
        hosts = root.strings("hosts") ?? []
        root.finish()
        let users = households.flatMap(\.users)
        for (key, what, names) in [
            ("mvpds", "id", providers.map(\.id)), ("packages", "id", packages.map(\.id)),
            ("households", "id", households.map(\.id)), ("requestors", "id", requestors.map(\.id)),
            ("households", "user", users.map(\.name)), ("households", "userID", users.map(\.id)),
        ] {
            var seen: Set<[UInt8]> = []
            for name in names where !seen.insert([UInt8](name.utf8)).inserted {
                root.note(at: key, message: "duplicate \(what) \(name)")
            }
        }
        for (key, what) in [("requestors", "programmer"), ("mvpds", "TV provider")] where !root.has(key) {
            root.note(at: key, message: "\(key) is missing: name at least one \(what)")
        }
        try problems.throwIfAny()
    }
}

extension SandboxConfiguration {
    func requestor(_ id: String) -> Requestor? { requestors.first { $0.id.hasSameBytes(as: id) } }

    func provider(_ id: String) -> Provider? { providers.first { $0.id.hasSameBytes(as: id) } }

    /// Returns the provider with that id, if it works with `requestor`.
    func provider(_ id: String, of requestor: Requestor) -> Provider? {
        providers(of: requestor).first { $0.id.hasSameBytes(as: id) }
    }

    func user(_ name: String) -> (user: User, household: Household)? {
        for household in households {
            if let user = household.users.first(where: { $0.name.hasSameBytes(as: name) }) { return (user, household) }
        }
        return nil
    }

    /// Returns the providers that work with a requestor.
    func providers(of requestor: Requestor) -> [Provider] {
        guard let ids = requestor.providers else { return providers }
        return ids.compactMap { provider($0) }
    }

    /// Returns the configuration of a requestor for clients.
    ///
    /// - Parameter origin: The base URL of the service, which has the logos of providers without one.
    func description(of requestor: Requestor, at origin: String) -> ServiceConfiguration {
        ServiceConfiguration(
            id: requestor.id,
            name: requestor.name,
            domains: requestor.domains.map { ServiceConfiguration.Domain(name: $0) },
            mvpds: providers(of: requestor).map { provider in
                var description = provider.description
                description.logoURL = provider.logoPath.map { origin + $0 } ?? description.logoURL
                return description
            }
        )
    }
}

extension ConfigurationSection {
    /// Reads a mandatory id, which appears in tokens, paths and logs.
    func id(_ key: String = "id") -> String {
        let id = requiredString(key)
        if id.utf8.count > 128 || !id.isLegalXML || id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            note(at: key, message: "must have at most 128 bytes and no control characters")
        }
        return id
    }

    /// Reads a mandatory name, which must be among `known`.
    func name(_ key: String, among known: [String], what: String) -> String {
        let name = requiredString(key)
        noteUnknown(at: key, names: [name], among: known, what: what)
        return name
    }

    func noteUnknown(at key: String, names: [String], among known: [String], what: String) {
        for name in names where !name.isEmpty && name != " " && !known.contains(name) {
            note(at: key, message: "unknown \(what) \(name); known: \(known.joined(separator: ", "))")
        }
    }

    func ratings(_ key: String) -> [Rating] {
        let ratings = texts(key).map { Rating(scheme: $0.key, value: $0.value) }
        for rating in ratings where !rating.isAtMost(rating) {
            let known = "urn:v-chip (TV-Y to TV-MA) and urn:mpaa (G to NC-17)"
            note(at: key, message: "\(rating.scheme) \(rating.value): unknown rating; known: \(known)")
        }
        return ratings
    }

    func lifetime(_ key: String, default fallback: Duration) -> Int64 {
        duration(key, in: .seconds(1) ... .seconds(400 * 86_400), default: fallback).milliseconds
    }
}

/// A rule that replaces a provider's decisions during an outage.
struct DegradationRule: Sendable {
    let requestor: String
    let provider: String
    let kind: Kind

    enum Kind: String, CaseIterable, Sendable {
        /// Every viewer is authenticated and authorized.
        case authNAll
        /// Every authenticated viewer is authorized.
        case authZAll
        /// No viewer is authorized.
        case authZNone
    }

    init(_ section: ConfigurationSection, requestors: [String], providers: [String]) {
        requestor = section.name("requestor", among: requestors, what: "requestor")
        provider = section.name("mvpd", among: providers, what: "MVPD")
        kind = section.choice("rule", default: Kind.authZNone)
    }
}

/// The token bucket of each device.
struct Throttling: Sendable {
    /// The number of requests that the bucket gains each second.
    let rate: Int
    /// The number of requests that the bucket holds.
    let burst: Int

    init(_ section: ConfigurationSection) {
        rate = section.integer("rate", in: 1...10_000, default: 1)
        burst = section.integer("burst", in: 1...10_000, default: 10)
    }
}

/// The limit of concurrent streams of a household.
struct Concurrency: Sendable {
    let limit: Int
    let strategy: Strategy
    /// The names of the metadata that a stream must have.
    let requiredMetadata: [String]

    enum Strategy: String, CaseIterable, Sendable {
        /// The new stream starts, and the oldest stream is ended.
        case evictOldest
        /// The new stream does not start.
        case rejectNew
    }

    init(_ section: ConfigurationSection) {
        limit = section.integer("limit", in: 1...100, default: 2)
        strategy = section.choice("strategy", default: Strategy.rejectNew)
        requiredMetadata = section.strings("requiredMetadata") ?? []
    }
}

/// The content of the demo page.
struct Demo: Sendable {
    let title: String
    let requestor: String
    let items: [Item]

    init(_ section: ConfigurationSection, requestors: [String]) {
        title = section.string("title", default: "Playgate TV")
        requestor = section.string("requestor", default: requestors.first ?? "")
        section.noteUnknown(at: "requestor", names: [requestor], among: requestors, what: "requestor")
        items = section.list("items", read: Item.init)
    }

    struct Item: Sendable {
        let media: String
        let title: String
        let description: String
        let resource: String?
        let path: String
        let isProtected: Bool

        init(_ section: ConfigurationSection) {
            media = section.requiredString("media")
            title = section.requiredString("title")
            description = section.string("description", default: "")
            path = section.requiredString("path")
            isProtected = section.bool("protected", default: true)
            resource = section.parsed("resource", default: nil) { try MediaResource($0).text }
            if isProtected, resource == nil, !section.isFaulty {
                let advice = "name the required resource, or set protected: false"
                section.note(at: "resource", message: "resource is missing: \(advice)")
            }
        }
    }
}
