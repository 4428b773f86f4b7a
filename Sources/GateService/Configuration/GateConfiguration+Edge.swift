// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeTokens
internal import HTTPServer
internal import MediaTokens
internal import PlaybackGate

extension GateConfiguration.Edge {
    init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile]
    ) {
        let all = GateConfiguration.Listener.list(section, default: .tcp(host: "127.0.0.1", port: 8081))
        offloads = all.first.map { GateConfiguration.Listener.list(section, "spoe", like: $0) } ?? []
        // Whoever only wants HAProxy gets no other listener.
        listeners = offloads.isEmpty || section.has("listen") ? all : []
        peers = TrustedPeers(section)
        if !peers.certificates.isEmpty, all.first?.tls?.clientAuthorities == nil {
            section.note("clientCertificates", "requires tls.clientAuthorities to request client certificates")
        }
        grpc = section.optionalSection("grpc", GateConfiguration.Listener.overGRPC) ?? []
        if !peers.certificates.isEmpty, let tls = grpc.first?.tls, tls.clientAuthorities == nil {
            section.note("grpc", "clientCertificates requires tls.clientAuthorities here too")
        }
        let answering = EdgeDialect.allCases.filter { $0.endpoint != nil }
        dialects = EdgeDialect.readSet("dialects", section, of: answering, default: answering)
        if !offloads.isEmpty { dialects.insert(.spoe) }
        if !grpc.isEmpty { dialects.insert(.grpc) }
        redirects = EdgeDialect.readSet("redirects", section, of: EdgeDialect.redirecting, default: [])
        sources = CredentialSources(section, tokensOfEntries: tokensOfEntries, profiles: profiles)
        let ceiling = section.duration("cacheCeiling", in: .zero ... .seconds(3600), default: .seconds(5))
        cacheCeiling = ceiling.components.seconds
    }
}

extension GateConfiguration.Listener {
    fileprivate static func overGRPC(_ section: ConfigurationSection) -> [Self] {
        #if !GRPC
            section.note(
                "listen",
                "this build has no gRPC: build with the trait GRPC, or configure the edge without grpc"
            )
        #endif
        return list(section, default: .tcp(host: "127.0.0.1", port: 8083))
    }
}

extension TrustedPeers {
    /// Reads the peers that a listener trusts.
    init(_ section: ConfigurationSection) {
        self.init(
            trustsLoopback: section.bool("trustLoopback", default: true),
            networks: (section.strings("trustedPeers") ?? []).compactMap { text in
                let network = Network(text)
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
    }
}

extension EdgeDialect {
    /// Reads a set of dialects.
    fileprivate static func readSet(
        _ key: String,
        _ section: ConfigurationSection,
        of known: [EdgeDialect],
        default fallback: [EdgeDialect]
    ) -> Set<EdgeDialect> {
        var dialects: Set<EdgeDialect> = []
        for name in section.strings(key) ?? fallback.map(\.rawValue) {
            if let dialect = known.first(where: { $0.rawValue == name }) {
                dialects.insert(dialect)
            } else if key == "dialects", EdgeDialect(rawValue: name) != nil {
                section.note(key, "\(name) has no endpoint: it has addresses of its own, by the key \(name)")
            } else {
                let kind =
                    EdgeDialect(rawValue: name) == nil ? "is not a dialect" : "passes no redirect on to the client"
                section.note(key, "\(name) \(kind); known: \(known.map(\.rawValue).joined(separator: ", "))")
            }
        }
        return dialects
    }
}

extension TokenSource: CustomStringConvertible {
    var description: String {
        switch self {
        case .header(let name, _): "header \(name)"
        case .cookie(let name): "cookie \(name)"
        case .query(let name): "query \(name)"
        case .segment(let prefix): "segment \(prefix)"
        case .package(let attribute): "package \(attribute.name)"
        }
    }
}

extension TokenSource {
    /// The places in which grants are found unless the configuration names others: none without profiles.
    static func standard(for profiles: [GrantProfile]) -> [TokenSource] {
        let signed: [TokenSource] = profiles.contains { $0.format == .uriSigning } ? [.package(.standard)] : []
        let profiles = profiles.filter { $0.format == .cat }
        guard !profiles.isEmpty else { return signed }
        let cookies = Set(profiles.map(\.rules.cookie.name)).sorted().map { TokenSource.cookie($0) }
        return cookies + [
            .header(CATRenewal.standardName, scheme: nil), .segment(IssuedGrant.segmentPrefix),
            .query(IssuedGrant.queryName),
        ] + signed
    }

    /// Reads `query: NAME`, `cookie: NAME`, `header: NAME` (and `scheme`), `segment: PREFIX` or `package: NAME`; `nil` if it is
    /// none.
    static func read(_ section: ConfigurationSection) -> TokenSource? {
        if section.has("package") {
            let name = section.string("package", default: PackageAttribute.standardName)
            if let attribute = PackageAttribute(name) { return .package(attribute) }
            section.note("package", "must have 1 to 64 letters, digits, - and _, such as URISigningPackage")
            return nil
        }
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
