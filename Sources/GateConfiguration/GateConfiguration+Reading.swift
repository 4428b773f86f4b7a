// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import HTTPServer
internal import Platform
internal import PlaybackGate

extension GateConfiguration {
    /// Reads a configuration file.
    ///
    /// - Throws: ``ConfigurationError`` with all problems.
    package init(file path: String) throws(ConfigurationError) {
        let file = ConfigurationFile(path: path)
        try self.init(file.text, file: file)
    }

    /// Parses the text of a configuration again, with the present content of the files that it names.
    ///
    /// - Throws: ``ConfigurationError`` with all problems.
    package init(again configuration: GateConfiguration) throws(ConfigurationError) {
        try self.init(configuration.text, file: configuration.file.unwatched)
    }

    /// Parses the text of a configuration file.
    package init(_ text: String, file: ConfigurationFile) throws(ConfigurationError) {
        let problems = ProblemList()
        try self.init(ConfigurationSection(text, file: file, problems: problems), text: text, problems: problems)
    }

    /// Reads the root of a configuration file.
    init(_ root: ConfigurationSection, text: String, problems: ProblemList) throws(ConfigurationError) {
        self.text = text
        file = root.file
        // A requestor of the wrong type is reported once, not again for every entry.
        let requestor = root.optionalString("requestor") ?? (root.has("requestor") ? "?" : nil)
        if requestor == "" { root.note(at: "requestor", message: "must not be empty") }
        let hasStarts = root.has("starts")
        trust = root.section("trust") { Trust($0, hasStarts: hasStarts) }
        let isShadow = root.bool("shadow", default: false)
        root.rename("use", to: "replayStore")
        let use = root.section("replayStore") { Use($0, isShadow: isShadow) }
        self.use = use
        self.isShadow = isShadow
        let state = StateFolder(root, store: use.store)
        self.state = state
        let advanced = root.advanced(Advanced.init)
        self.advanced = advanced
        let keySets = advanced.keySets
        let starts = root.list("starts") { Start($0, keySets: keySets) }
        self.starts = starts
        root.rename("shutdown", to: "advanced: { shutdownGrace: … }")
        root.rename("reload", to: "watch: files, configuration or \"false\"; advanced: { watchInterval: … }")
        let leaks = root.section("leaks", read: Leaks.init)
        self.leaks = leaks
        let countsRenewals = leaks.action != nil
        var grants = root.optionalSection("grants") {
            Grants(
                root: root,
                section: $0,
                state: state,
                keySets: advanced.keySets,
                countsRenewals: countsRenewals,
                problems: problems
            )
        }
        if grants == nil, root.has("keys") { _ = root.named("keys", read: Grants.Key.init) }
        if root.hasElement(of: "streams", without: "grant") {
            #if Redis
                if case .redis = use.store, !root.has("stateFolder") {
                    let reason = "gates that share Redis need the same keys of streams, so name their folder"
                    root.note(at: "stateFolder", message: "stateFolder is missing: \(reason)")
                }
            #endif
            Self.addStreamGrants(
                to: &grants,
                in: root,
                state: state,
                countsRenewals: countsRenewals,
                hasLicences: root.hasElement(of: "streams", with: "licences"),
                problems: problems
            )
        }
        self.grants = grants
        let profiles = grants?.profiles.map(\.value) ?? []
        licenceTokens = root.named("licenceTokens", read: LicenceTokens.init)
        let licensed = licenceTokens.map(\.rules.name)
        var catalogue = root.section("catalogue") {
            Catalogue($0, requestor: requestor, profiles: profiles, licensed: licensed)
        }
        let streams = root.list("streams") {
            Stream($0, requestor: requestor, profiles: profiles, licensed: licensed)
        }
        for stream in streams {
            for entry in stream.entries { catalogue.contents[entry.value] = stream.content }
        }
        catalogue.entries = streams.flatMap(\.entries) + catalogue.entries
        self.catalogue = catalogue
        // The cache is on by default only if an entry lets a token be presented repeatedly.
        let isRepeated = catalogue.entries.contains { $0.value.use == .withinTTL }
        root.rename("verification", to: "trust: { match: …, advanced: { earlyLeeway: …, maximumTimeToLive: … } }")
        cacheCapacity = (tokens: isRepeated ? advanced.cache : 0, grants: advanced.cache)
        policies = root.list("policies", read: PlaybackPolicy.init)
        api = root.section("api") { API($0, limits: advanced.limits) }
        edge = root.optionalSection("edge") {
            Edge($0, tokensOfEntries: catalogue.tokens, profiles: profiles, limits: advanced.limits)
        }
        let edgeSources = edge?.sources
        manifest = root.optionalSection("manifest") {
            Manifest($0, tokensOfEntries: catalogue.tokens, profiles: profiles, edge: edgeSources, advanced: advanced)
        }
        (admin, adminHosts, adminCallers) = root.section("admin") { Self.admin($0, limits: advanced.limits) }
        log = root.section("log", read: Log.init)
        traces = root.optionalSection("traces", read: Traces.init)
        watch = root.choice("watch", default: WatchedFiles.files)
        root.finish()
        effective = root.effective
        noteConflicts(root)
        // Without an error here, each file is read soon, and tells more.
        if !problems.problems.isEmpty { noteUnreadableFiles(problems) }
        try problems.throwIfAny()
    }

    /// Reads the section `admin`: the listener, its names, and its callers.
    package static func admin(
        _ section: ConfigurationSection,
        limits: HTTPLimits = HTTPLimits()
    ) -> (listener: Listener, hosts: [String], callers: [Caller]) {
        let listener = Listener(section, default: .tcp(host: "127.0.0.1", port: 9090), limits: limits)
        let callers = Caller.list(in: section, of: listener, scopes: Scope.ofAdmin)
        return (listener, section.hostNames("hosts").map { String($0.text) }, callers)
    }

    /// Notes sections that contradict each other.
    private func noteConflicts(_ root: ConfigurationSection) {
        if root.has("keys"), !root.has("grants") {
            root.note(at: "keys", message: "requires grants: it has the keys that sign and check grants")
        }
        let others = [("api", api.listener.address), ("admin", admin.address)]
        for (name, address) in others.filter({ $0.0 != "admin" }) where address.collides(with: admin.address) {
            root.note(at: "admin", message: "has the same address as \(name): \(address)")
        }
        let listeners = edge.map { $0.listeners + $0.offloads + $0.grpc } ?? []
        noteAddresses(of: "edge", listeners: listeners, others: others, in: root)
        let edges = listeners.map { ("edge", $0.address) }
        noteAddresses(of: "manifest", listeners: manifest?.listeners ?? [], others: others + edges, in: root)
        if catalogue.entries.isEmpty, catalogue.feeds.isEmpty, !root.isFileFaulty {
            let example = "streams: [{ folder: /live/tnt/, resource: TNT }]"
            root.note(
                at: "streams",
                message: "streams is missing, and catalogue: nothing can be played; such as \(example)"
            )
        }
        for (index, start) in starts.enumerated()
        where starts[..<index].contains(where: { $0.issuer.identifier == start.issuer.identifier }) {
            root.note(at: "starts", message: "names an issuer twice: \(start.issuer.identifier)")
        }
        if starts.count(where: { $0.introspection != nil }) > 1 {
            root.note(at: "starts", message: "only one issuer can have introspection: its tokens do not name it")
        }
        if edge == nil, manifest == nil, !catalogue.tokens.isEmpty {
            root.note(at: "catalogue", message: "tokens of an entry require an edge listener")
        }
    }

    /// Notes listeners of a section that share an address with another section or with each other.
    private func noteAddresses(
        of section: String,
        listeners: [Listener],
        others: [(String, ListenerAddress)],
        in root: ConfigurationSection
    ) {
        let addresses = listeners.map(\.address)
        for (number, address) in addresses.enumerated() {
            if let (name, _) = others.first(where: { $0.1.collides(with: address) }) {
                root.note(at: section, message: "has the same address as \(name): \(address)")
            }
            if addresses[..<number].contains(where: { $0.collides(with: address) }) {
                root.note(at: section, message: "names an address twice: \(address)")
            }
        }
    }
}

extension ListenerAddress {
    /// True if two listeners cannot both listen. Port 0 never collides: the system chooses another port each time.
    fileprivate func collides(with other: ListenerAddress) -> Bool {
        if case .tcp(_, 0) = self { return false }
        return self == other
    }
}

extension GateConfiguration.Log {
    fileprivate init(_ section: ConfigurationSection) {
        format = section.choice("format", default: LogFormat.json)
        level = section.choice("level", default: LogLevel.info)
        (checks, salt) = section.advanced { ($0.choice("checks", default: CheckLog.decisive), $0.secret("salt")) }
    }
}

// The files that a configuration names.

extension GateConfiguration {
    /// The files that are read after the configuration, each where it is named.
    var namedFiles: [Located<String>] {
        trust.keys.map(\.file) + trust.anchors + catalogue.feeds.map(\.file)
            + listenersWithTLS.flatMap { $0.tls?.files ?? [] } + (grants?.files ?? []) + starts.flatMap(\.files)
            + licenceTokens.compactMap(\.claims) + catalogue.contents.values.compactMap(\.cpix)
    }

    /// Notes named files that cannot be read, so that they are in one list with the errors of the configuration itself.
    func noteUnreadableFiles(_ problems: ProblemList) {
        for file in namedFiles where !file.value.isEmpty && !problems.contains(below: file.location.key) {
            do throws(FileFault) { _ = try file.value.bytesOfFile(limit: 64 << 20) } catch {
                problems.add(at: file.location, message: "\(file.value): \(error.reason)")
            }
        }
    }
}

extension GateConfiguration.Listener.TLS {
    fileprivate var files: [Located<String>] { [certificate, key, clientAuthorities].compactMap(\.self) }
}

extension GateConfiguration.Grants {
    fileprivate var files: [Located<String>] {
        let sets = keys.compactMap { key -> Located<String>? in
            if case .set(let file) = key.material { file } else { nil }
        }
        return sets + issuers.flatMap { [$0.keySet, $0.remote?.authorities].compactMap(\.self) }
    }
}

extension GateConfiguration.Start {
    fileprivate var files: [Located<String>] {
        [keySet, remote?.authorities, introspection?.authorities].compactMap(\.self)
    }
}

extension GateConfiguration {
    /// Settings that work but are unwanted in production: for `playgate check`.
    package var advice: [String] {
        [openMemory, keysToCome, keysOfOneGate].compactMap(\.self) + closedSockets + foldersOfOneFile + looseEntries
    }

    /// Keys that the first start makes.
    private var keysToCome: String? {
        let paths = state.newKeys.map(\.path)
        return paths.isEmpty
            ? nil : "the first start makes \(paths.joined(separator: " and ")); keep them with the store"
    }

    /// Gates that share a store need the same keys.
    private var keysOfOneGate: String? {
        #if Redis
            guard case .redis = use.store, !state.newKeys.isEmpty else { return nil }
            return "gates that share Redis need the same keys of streams: copy stateFolder (\(state.path)) to each"
        #else
            return nil
        #endif
    }

    /// Folders of which only one file can ever be played: the token of an entry that admits once is consumed by it.
    private var foldersOfOneFile: [String] {
        catalogue.entries.compactMap { entry in
            guard case .path(let pattern) = entry.value.key, pattern.isFolder, entry.value.use == .once,
                entry.value.grants == nil, case .resource = entry.value.protection
            else { return nil }
            return
                "line \(entry.location.line): \(pattern.text) admits a token once, so that one of its files plays and the rest is "
                + "refused (token_already_used); for a stream, use streams: [{ folder: \(pattern.text), resource: … }]"
        }
    }

    /// Paths that were meant as folders, and names with blanks around them.
    private var looseEntries: [String] {
        catalogue.entries.flatMap { entry -> [String] in
            var advice: [String] = []
            let line = "line \(entry.location.line): "
            if case .path(let pattern) = entry.value.key, pattern.hasNoExtension, entry.value.licence == nil {
                advice.append(line + "\(pattern.text) is one file; a folder with all its files is \(pattern.text)/")
            }
            if case .resource(_, let requestor) = entry.value.protection, requestor.hasBlanksAround {
                advice.append(
                    line + "the requestor \"\(requestor)\" has blanks around it, which tokens have to have too"
                )
            }
            return advice
        }
    }

    /// An API without keys in front of a store that forgets.
    private var openMemory: String? {
        guard api.callers == nil, case .memory = use.store else { return nil }
        return
            "api.anonymous with a replayStore in memory: every process of this machine can consume tokens and fill the store, and a "
            + "restart forgets what was consumed; in production, set api.keys (playgate keys api NAME) and replayStore.sqlite or replayStore.redis"
    }

    /// Sockets for edges that only the gate's user can open: a connection needs the right to write.
    private var closedSockets: [String] {
        guard let edge else { return [] }
        return (edge.listeners + edge.offloads + edge.grpc).compactMap { listener in
            guard case .unix = listener.address, let mode = listener.socketMode, mode & 0o022 == 0 else { return nil }
            return
                "edge.socketMode \"0\(String(mode, radix: 8))\": only the gate's own user can open \(listener.address); "
                + "for an edge of another user, set socketMode to \"0660\" and socketGroup to a group of both"
        }
    }
}

extension PathPattern {
    /// True for a path of one file whose name has no dot, as a folder's.
    fileprivate var hasNoExtension: Bool {
        guard !isFolder, !text.utf8.contains(where: { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }) else {
            return false
        }
        return !(text.split(separator: "/").last ?? "").utf8.contains(UInt8(ascii: "."))
    }
}

extension String {
    fileprivate var hasBlanksAround: Bool { first?.isWhitespace ?? false || last?.isWhitespace ?? false }
}
