// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Cryptography
internal import Encodings
internal import GateStores
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import PlaybackGate

extension GateConfiguration {
    /// Reads a configuration file.
    ///
    /// - Throws: ``ConfigurationError`` with all problems.
    init(file path: String) throws(ConfigurationError) {
        let file = ConfigurationFile(path: path)
        try self.init(file.text, file: file)
    }

    /// Parses the text of a configuration file.
    init(_ text: String, file: ConfigurationFile) throws(ConfigurationError) {
        let problems = ProblemList()
        let root = try ConfigurationSection(text, file: file, problems: problems)
        self.file = file
        // A requestor of the wrong type is reported once, not again for every entry.
        let requestor = root.optionalString("requestor") ?? (root.has("requestor") ? "?" : nil)
        if requestor == "" { root.note("requestor", "must not be empty") }
        trust = root.section("trust", Trust.init)
        let catalogue = root.section("catalogue") { Catalogue($0, requestor: requestor) }
        self.catalogue = catalogue
        // The cache is on by default only if an entry lets a token be shown repeatedly.
        let isRepeated = catalogue.entries.contains { $0.value.use == .withinTTL }
        verification = root.section("verification") { Verification($0, cacheCapacity: isRepeated ? 16_384 : 0) }
        policies = root.list("policies", PlaybackPolicy.init)
        let isShadow = root.bool("shadow", default: false)
        use = root.section("use") { Use($0, isShadow: isShadow) }
        self.isShadow = isShadow
        api = root.section("api", API.init)
        edge = root.optionalSection("edge") { Edge($0, tokensOfEntries: catalogue.tokens) }
        (admin, adminHosts) = root.section("admin") { section in
            let listener = Listener(section, default: .tcp(host: "127.0.0.1", port: 9090))
            return (listener, section.hostNames("hosts").map { String($0.text) })
        }
        log = root.section("log", Log.init)
        shutdownGrace = root.section("shutdown") {
            $0.duration("grace", in: .milliseconds(100) ... .seconds(600), default: .seconds(10))
        }
        watchInterval = root.section("reload") { section in
            let interval = section.duration("interval", in: .milliseconds(100) ... .seconds(3600), default: .seconds(2))
            return section.bool("watch", default: true) ? interval : nil
        }
        root.finish()
        effective = root.effective
        let others = [("api", api.listener.address), ("admin", admin.address)]
        for (name, address) in others.filter({ $0.0 != "admin" }) where address.collides(with: admin.address) {
            root.note("admin", "has the same address as \(name): \(address)")
        }
        if let edge, let (name, address) = others.first(where: { $0.1.collides(with: edge.listener.address) }) {
            root.note("edge", "has the same address as \(name): \(address)")
        }
        if edge == nil, !catalogue.tokens.isEmpty {
            root.note("catalogue", "tokens of an entry require an edge listener")
        }
        try problems.throwIfAny()
    }
}

// MARK: Trust and verification

extension GateConfiguration.Trust {
    init(_ section: ConfigurationSection) {
        keys = section.list("keys", Key.init)
        if keys.isEmpty, !section.isFaulty {
            section.note("keys", "keys is missing: name at least one file with a certificate or public key")
        }
        anchors = (section.strings("anchors") ?? []).map {
            Located(value: section.resolve($0), place: section.place("anchors"))
        }
        switch section.choice("minimumKeySize", default: KeySize.standard) {
        case .standard: minimumKeySize = .standard
        case .three: minimumKeySize = .atLeast(3072)
        case .four: minimumKeySize = .atLeast(4096)
        case .legacy: minimumKeySize = .legacy1024
        }
    }

    private enum KeySize: String, CaseIterable {
        case standard = "rsa2048"
        case three = "rsa3072"
        case four = "rsa4096"
        case legacy = "legacy-rsa1024"
    }
}

extension GateConfiguration.Trust.Key {
    init(_ section: ConfigurationSection) {
        file = Located(value: section.requiredPath("file"), place: section.place("file"))
        name = section.optionalString("name")
        requestors = section.strings("requestors")
        if requestors?.isEmpty ?? false {
            section.note("requestors", "must not be empty; omit it for all requestors")
        }
        let earliest = Timestamp(millisecondsSince1970: .min)
        let start = section.parsed("notBefore", default: earliest, Timestamp.parse)
        let end = section.parsed("notAfter", default: Timestamp(millisecondsSince1970: .max), Timestamp.parse)
        if start > end {
            section.note("notAfter", "is before notBefore")
        } else if section.has("notBefore") || section.has("notAfter") {
            validity = start...end
        }
    }
}

extension GateConfiguration.Verification {
    init(_ section: ConfigurationSection, cacheCapacity fallback: Int) {
        earlyLeeway = section.duration("earlyLeeway", in: .zero ... .seconds(120), default: .seconds(60))
        lateLeeway = section.duration("lateLeeway", in: .zero ... .seconds(120), default: .zero)
        maximumTimeToLive = section.duration(
            "maximumTimeToLive",
            in: .milliseconds(1) ... .seconds(86_400),
            default: .seconds(900)
        )
        matchOptions = section.section("match", MediaResource.MatchOptions.init)
        cacheCapacity = section.integer("cache", in: 0...1_000_000, default: fallback)
    }
}

extension MediaResource.MatchOptions {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        channelCoversAssets = section.bool("channelCoversAssets", default: false)
        ignoreRating = section.bool("ignoreRating", default: false)
        schemeAliases = section.bool("schemeAliases", default: false)
        ignoreCase = section.bool("ignoreCase", default: false)
        collapseWhitespace = section.bool("collapseWhitespace", default: false)
        videoNamespaceAlias = section.bool("videoNamespaceAlias", default: true)
    }
}

extension Timestamp {
    fileprivate static func parse(_ text: String) throws(ParseFault) -> Timestamp {
        guard let time = Timestamp(iso8601: text) else {
            throw ParseFault("must be a time in ISO 8601 with a zone, such as 2031-01-02T10:04:05Z")
        }
        return time
    }
}

/// The reason why a text cannot be parsed.
struct ParseFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

// MARK: Catalogue and policies

extension GateConfiguration.Catalogue {
    init(_ section: ConfigurationSection, requestor: String?) {
        var tokens: [PlaybackGate.Catalogue.Entry: [TokenSource]] = [:]
        entries = section.list("entries") { entry in
            let value = PlaybackGate.Catalogue.Entry.read(entry, requestor: requestor)
            let own = entry.has("tokens") ? entry.list("tokens", TokenSource.read).compactMap { $0 } : nil
            if let own, let value { tokens[value] = own }
            return Located(value: value, place: entry.place)
        }.compactMap { located in located.value.map { Located(value: $0, place: located.place) } }
        self.tokens = tokens
        feeds = section.list("feeds") { Feed($0, requestor: requestor) }
    }
}

extension GateConfiguration.Catalogue.Feed {
    fileprivate init(_ section: ConfigurationSection, requestor: String?) {
        file = Located(value: section.requiredPath("file"), place: section.place("file"))
        self.requestor = section.requestor(default: requestor) ?? ""
        channel = section.optionalString("channel")
        paths = section.choice("paths", default: FeedPathScope.file)
    }
}

extension ConfigurationSection {
    /// Reads the requestor of an entry, or else that of the whole file.
    fileprivate func requestor(default fallback: String?) -> String? {
        let requestor = optionalString("requestor") ?? fallback
        if requestor?.isEmpty ?? true {
            note("requestor", "requestor is missing: set it here, or for all entries at the top of the file")
        }
        return requestor
    }

    func resolve(_ name: String) -> String { file.resolve(name) }

    /// Reads a list of hosts without ports.
    fileprivate func hostNames(_ key: String) -> [HostName] {
        (strings(key) ?? []).compactMap { name in
            if let host = HostName(name[...]), host.text.utf8.elementsEqual(name.lowercased().utf8) { return host }
            note(key, "\(name) must be a host without a port, such as live.example.com")
            return nil
        }
    }
}

extension PlaybackGate.Catalogue.Entry {
    /// Reads an entry; `nil` if it has no valid key or resource.
    fileprivate static func read(_ section: ConfigurationSection, requestor: String?) -> Self? {
        let isShadow = section.bool("shadow", default: false)
        let isProtected = section.bool("protected", default: true)
        let key = readKey(section)
        let (methods, hosts) = (readMethods(section), readHosts(section))
        guard isProtected else {
            if section.optionalString("resource") != nil {
                section.note("resource", "must be absent if protected is false")
            }
            return key.map { Self(key: $0, protection: .none, isShadow: isShadow, methods: methods, hosts: hosts) }
        }
        let requestor = section.requestor(default: requestor) ?? ""
        guard section.has("resource") else {
            section.note("resource", "resource is missing: name the required resource, or set protected: false")
            return nil
        }
        let resource: MediaResource? = section.parsed("resource", default: nil) { try MediaResource($0) }
        let use = section.choice("use", default: Use.once)
        guard let key, let resource else { return nil }
        return Self(
            key: key,
            protection: .resource(resource, requestor: requestor),
            isShadow: isShadow,
            use: use,
            methods: methods,
            hosts: hosts
        )
    }

    private static func readMethods(_ section: ConfigurationSection) -> [PlaybackRequest.Method] {
        guard let names = section.strings("methods") else { return [.get, .head] }
        if names.isEmpty { section.note("methods", "must name at least one method; omit it for GET and HEAD") }
        return names.compactMap { name in
            if let method = PlaybackRequest.Method(rawValue: name), method != .other { return method }
            let known = PlaybackRequest.Method.allCases.map(\.rawValue).filter { !$0.isEmpty }.joined(separator: ", ")
            section.note("methods", "\(name) is not a supported method; supported: \(known)")
            return nil
        }
    }

    private static func readHosts(_ section: ConfigurationSection) -> [HostName] {
        guard section.has("hosts") else { return section.hostNames("hosts") }
        if section.has("media") { section.note("hosts", "requires path: a media id has no host") }
        let hosts = section.hostNames("hosts")
        // An empty list would match every host.
        if hosts.isEmpty, !section.isFaulty { section.note("hosts", "must name at least one host") }
        return hosts
    }

    private static func readKey(_ section: ConfigurationSection) -> Key? {
        let pattern: PathPattern? = section.parsed("path", default: nil) { try PathPattern($0) }
        let media = section.optionalString("media")
        switch (media, section.has("path")) {
        case (let media?, false):
            if media.isEmpty { section.note("media", "must not be empty") }
            return .media(media)
        case (nil, true): return pattern.map { .path($0) }
        default:
            section.note("media", "exactly one of media (an id) and path (a path, a folder/ or a glob) is required")
            return nil
        }
    }
}

extension PlaybackPolicy {
    fileprivate init(_ section: ConfigurationSection) {
        let requestors = section.strings("requestors")
        let (allowed, denied) = section.section("mvpds") { ($0.strings("allow"), $0.strings("deny") ?? []) }
        let ratings = section.texts("maximumRatings").map { Rating(scheme: $0.key, value: $0.value) }
        for rating in ratings where !rating.isAtMost(rating) {
            section.note(
                "maximumRatings",
                "\(rating.scheme) \(rating.value): unknown rating; known: urn:v-chip (TV-Y to TV-MA) and urn:mpaa (G to NC-17)"
            )
        }
        self.init(
            requestors: requestors,
            allowedMVPDs: allowed,
            deniedMVPDs: denied,
            maximumRatings: ratings,
            allowsUnrated: section.bool("allowUnrated", default: false)
        )
    }
}

// MARK: Use

extension GateConfiguration.Use {
    private enum StoreName: String, CaseIterable {
        case memory, sqlite, redis
    }

    private enum WhenUnavailable: String, CaseIterable {
        case refuse, allow
    }

    init(_ section: ConfigurationSection, isShadow: Bool) {
        let name = section.choice("store", default: StoreName.memory)
        let capacity = section.section("memory") {
            $0.integer("capacity", in: 1...100_000_000, default: 1_000_000)
        }
        let file = section.optionalSection("sqlite") { sqlite in
            Located(value: sqlite.requiredPath("file"), place: sqlite.place("file"))
        }
        #if Redis
            let redis = section.optionalSection("redis", RedisSettings.init)
        #else
            _ = section.optionalSection("redis") { _ in }
        #endif
        switch name {
        case .memory: store = .memory(capacity: capacity)
        case .sqlite:
            if file == nil { section.note("sqlite", "sqlite.file is missing: name the database file") }
            store = .sqlite(file ?? Located(value: "", place: section.place))
        case .redis:
            #if Redis
                if redis == nil { section.note("redis", "redis.address is missing: name the address of Redis") }
                store = redis.map { .redis($0) } ?? .memory(capacity: capacity)
            #else
                section.note("store", "this build of playgate has no Redis support")
                store = .memory(capacity: capacity)
            #endif
        }
        rules = Gate.Rules(
            maximumUses: section.integer("maximumUses", in: 1...TokenUse.maximumUsesLimit, default: 1),
            storeDeadline: section.duration(
                "deadline",
                in: .milliseconds(1) ... .seconds(10),
                default: .milliseconds(250)
            ),
            allowsUnknownUse: section.choice("whenUnavailable", default: WhenUnavailable.refuse) == .allow,
            isShadow: isShadow
        )
    }
}

#if Redis
    extension RedisSettings {
        fileprivate init(_ section: ConfigurationSection) {
            if !section.has("address") { section.note("address", "address is missing, such as 127.0.0.1:6379") }
            let address = section.parsed("address", default: Address.tcp(host: "", port: 0)) { text in
                switch try ListenerAddress(text) {
                case .tcp(let host, let port): Address.tcp(host: host, port: port)
                case .unix(let path): Address.unix(path: section.resolve(path))
                case .descriptor: throw ParseFault("must be HOST:PORT, [IPV6]:PORT or unix:PATH")
                }
            }
            self.init(
                address: address,
                user: section.optionalString("user"),
                password: section.secret("password").map { RedisPassword($0.text) },
                database: section.integer("database", in: 0...1023, default: 0),
                keyPrefix: section.string("keyPrefix", default: "playgate:"),
                tls: section.optionalSection("tls") { tls in
                    TLS(
                        authorities: tls.bool("systemAuthorities", default: false)
                            ? nil : tls.requiredPath("authorities")
                    )
                }
            )
        }
    }
#endif

// MARK: Listeners

extension ListenerAddress {
    /// Parses `HOST:PORT`, `[IPv6]:PORT`, `unix:PATH` or `fd:NUMBER`.
    init(_ text: String) throws(ParseFault) {
        if text.hasPrefix("fd:") {
            // Passed sockets are numbered from 3 on (sd_listen_fds(3)).
            guard let number = Int32(text.dropFirst(3)), 3...1023 ~= number else {
                throw ParseFault("fd: requires the number of a socket, 3 to 1023")
            }
            self = .descriptor(number)
            return
        }
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count < 104 else {
                throw ParseFault("unix: requires a socket path of at most 103 bytes")
            }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw ParseFault(
                "\"\(text)\" must be HOST:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER, such as 127.0.0.1:8080"
            )
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw ParseFault("\"\(text)\" has no host; 0.0.0.0 is every IPv4 address of this machine")
        }
        self = .tcp(host: String(host), port: Int(port))
    }
}

extension GateConfiguration.Listener {
    init(_ section: ConfigurationSection, default fallback: ListenerAddress) {
        place = section.place("listen")
        let address = section.parsed("listen", default: fallback) { try ListenerAddress($0) }
        if case .unix(let path) = address {
            self.address = .unix(path: section.resolve(path))
        } else {
            self.address = address
        }
        socketMode = section.optionalString("socketMode").map { text in
            guard let mode = Int(text, radix: 8), 1...0o777 ~= mode else {
                section.note("socketMode", "must be permissions in octal digits, such as \"0660\"")
                return 0o600
            }
            return mode
        }
        tls = section.optionalSection("tls", TLS.init)
        limits = section.section("limits", HTTPLimits.init)
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate init(_ section: ConfigurationSection) {
        certificate = Located(value: section.requiredPath("certificate"), place: section.place("certificate"))
        key = Located(value: section.requiredPath("key"), place: section.place("key"))
        clientAuthorities = section.optionalPath("clientAuthorities").map {
            Located(value: $0, place: section.place("clientAuthorities"))
        }
    }
}

extension HTTPLimits {
    fileprivate init(_ section: ConfigurationSection) {
        let connections = section.integer("connections", in: 1...1_000_000, default: 4096)
        self.init(
            connections: connections,
            // Half, rounded up: one peer at its quota leaves half for all others, and two such peers get half each.
            connectionsPerPeer: section.integer(
                "connectionsPerPeer",
                in: 1...1_000_000,
                default: max(1, (connections + 1) / 2)
            ),
            headerBytes: section.integer("headerBytes", in: 1024...1_048_576, default: 32 * 1024),
            bodyBytes: section.integer("bodyBytes", in: 1024...67_108_864, default: 2 * 1024 * 1024),
            requestTimeout: section.duration(
                "requestTimeout",
                in: .milliseconds(100) ... .seconds(600),
                default: .seconds(10)
            ),
            idleTimeout: section.duration(
                "idleTimeout",
                in: .milliseconds(100) ... .seconds(3600),
                default: .seconds(60)
            )
        )
    }
}

extension GateConfiguration.API {
    fileprivate init(_ section: ConfigurationSection) {
        let listener = GateConfiguration.Listener(section, default: .tcp(host: "127.0.0.1", port: 8080))
        let isOpen = section.bool("open", default: false)
        let keys = section.list("keys") { Caller($0, credentialKey: "sha256") { .key(sha256: $0) } }
        let certificates = section.list("clientCertificates") {
            Caller($0, credentialKey: "sha256") { .certificate(sha256: $0) }
        }
        if !certificates.isEmpty, listener.tls?.clientAuthorities == nil {
            section.note("clientCertificates", "requires tls.clientAuthorities to request client certificates")
        }
        let callers = keys + certificates
        let names = callers.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            section.note("keys", "two callers have the name \(twice)")
        }
        if isOpen {
            if !callers.isEmpty { section.note("open", "must be false if there are keys or clientCertificates") }
            if !listener.address.isLocal {
                section.note(
                    "open",
                    "is allowed only on loopback addresses and unix sockets; create keys with: playgate keys api NAME"
                )
            }
        } else if callers.isEmpty, !section.isFaulty {
            section.note(
                "keys",
                "no caller is allowed: add keys (playgate keys api NAME) or clientCertificates, or open: true on loopback"
            )
        }
        self.listener = listener
        self.callers = isOpen ? nil : callers
        concurrency = section.integer("concurrency", in: 1...1_000_000, default: 1024)
        helpURL = section.string("helpURL", default: "/v1/codes/")
    }
}

extension GateConfiguration.Edge {
    fileprivate init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]]
    ) {
        listener = GateConfiguration.Listener(section, default: .tcp(host: "127.0.0.1", port: 8081))
        peers = TrustedPeers(
            trustsLoopback: section.bool("trustLoopback", default: true),
            networks: (section.strings("trustedPeers") ?? []).compactMap { text in
                let network = TrustedPeers.Network(text)
                if network == nil {
                    section.note(
                        "trustedPeers",
                        "\(text): must be an address or a network such as 10.0.0.0/8, and not every address"
                    )
                }
                return network
            },
            certificates: (section.strings("clientCertificates") ?? []).compactMap { text in
                let digest = TokenFingerprint(hexadecimal: text.filter { $0 != ":" })?.bytes
                if digest == nil { section.note("clientCertificates", "must be SHA-256: 64 hexadecimal digits") }
                return digest
            }
        )
        if !peers.certificates.isEmpty, listener.tls?.clientAuthorities == nil {
            section.note("clientCertificates", "requires tls.clientAuthorities to request client certificates")
        }
        dialects = []
        for name in section.strings("dialects") ?? EdgeDialect.allCases.map(\.rawValue) {
            if let dialect = EdgeDialect(rawValue: name) {
                dialects.insert(dialect)
            } else {
                let known = EdgeDialect.allCases.map(\.rawValue).joined(separator: ", ")
                section.note("dialects", "\(name) is not a dialect; known: \(known)")
            }
        }
        tokens = section.list("tokens", TokenSource.read).compactMap { $0 }
        if tokens.isEmpty, !section.isFaulty {
            section.note("tokens", "tokens is missing: name the sources of the token, such as: - query: token")
        }
        if tokens.count > PresentedToken.maximumSources {
            section.note("tokens", "must have at most \(PresentedToken.maximumSources) entries")
        }
        self.tokensOfEntries = tokensOfEntries
        let sources = Set(tokens).union(tokensOfEntries.values.joined())
        segments = sources.compactMap { if case .segment(let prefix) = $0 { prefix } else { nil } }.sorted()
        tokenHeaders = Set(sources.compactMap(\.headerName)).sorted().joined(separator: ", ")
        let ceiling = section.duration("cacheCeiling", in: .zero ... .seconds(3600), default: .seconds(5))
        cacheCeiling = ceiling.components.seconds
    }
}

extension TokenSource {
    /// Reads `query: NAME`, `cookie: NAME`, `header: NAME` (and `scheme`) or `segment: PREFIX`; `nil` if it is none.
    fileprivate static func read(_ section: ConfigurationSection) -> TokenSource? {
        let names = ["query", "cookie", "header", "segment"].filter { section.has($0) }
        let (query, cookie) = (section.optionalString("query"), section.optionalString("cookie"))
        let (header, segment) = (section.optionalString("header"), section.optionalString("segment"))
        let scheme = section.optionalString("scheme")
        guard names.count == 1, let key = names.first else {
            section.note(names.first ?? "query", "exactly one of query, cookie, header and segment is required")
            return nil
        }
        let name = query ?? cookie ?? header ?? segment ?? ""
        let isToken = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"(),/;<>?@[\\]{}%&#".utf8.contains($0) }
        let isPlain = !name.utf8.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
        guard !name.isEmpty, isToken, segment != nil || isPlain else {
            section.note(key, "must be a name of letters, digits, - and _")
            return nil
        }
        if scheme != nil, header == nil { section.note("scheme", "requires header") }
        if segment?.utf8.first == UInt8(ascii: ".") { section.note("segment", "must not begin with a dot") }
        if query != nil { return .query(name) }
        if cookie != nil { return .cookie(name) }
        return header != nil ? .header(name, scheme: scheme) : .segment(name)
    }
}

extension ListenerAddress {
    /// True if two listeners cannot both listen. Port 0 never collides: it is another port each time.
    fileprivate func collides(with other: ListenerAddress) -> Bool {
        if case .tcp(_, 0) = self { return false }
        return self == other
    }
}

extension Caller {
    fileprivate init(
        _ section: ConfigurationSection,
        credentialKey: String,
        _ credential: ([UInt8]) -> Credential
    ) {
        name = section.requiredString("name")
        let digest = section.parsed(credentialKey, default: [UInt8](), isSecret: true) { text throws(ParseFault) in
            guard let fingerprint = TokenFingerprint(hexadecimal: text.filter { $0 != ":" }) else {
                throw ParseFault("must be a SHA-256 digest: 64 hexadecimal digits")
            }
            return fingerprint.bytes
        }
        if !section.has(credentialKey) { section.note(credentialKey, "\(credentialKey) is missing") }
        self.credential = credential(digest)
        var scopes: Set<Scope> = []
        for name in section.strings("scopes") ?? [] {
            guard let scope = Scope(rawValue: name) else {
                let known = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                section.note("scopes", "\(name) is not a scope; known: \(known)")
                continue
            }
            scopes.insert(scope)
        }
        if !section.has("scopes") { section.note("scopes", "scopes is missing: name the allowed operations") }
        self.scopes = scopes
    }
}

extension GateConfiguration.Log {
    fileprivate init(_ section: ConfigurationSection) {
        format = section.choice("format", default: LogFormat.json)
        level = section.choice("level", default: LogLevel.info)
        checks = section.choice("checks", default: CheckLog.decisive)
        salt = section.secret("salt")
    }
}
