// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeChecks
internal import HTTPServer
internal import MediaTokens
package import PlaybackGate
internal import RequestTargets

extension GateConfiguration.Edge {
    package init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile]
    ) {
        let all = GateConfiguration.Listener.list(section, default: .tcp(host: "127.0.0.1", port: 8081))
        offloads = all.first.map { GateConfiguration.Listener.list(in: section, key: "spoe", like: $0) } ?? []
        // Whoever only wants HAProxy gets no other listener.
        listeners = offloads.isEmpty || section.has("listen") ? all : []
        peers = TrustedPeers(section)
        if !peers.certificates.isEmpty, all.first?.tls?.clientAuthorities == nil {
            section.note(
                at: "clientCertificates",
                message: "requires tls.clientAuthorities to request client certificates"
            )
        }
        grpc = section.optionalSection("grpc", read: GateConfiguration.Listener.overGRPC) ?? []
        if !peers.certificates.isEmpty, let tls = grpc.first?.tls, tls.clientAuthorities == nil {
            section.note(at: "grpc", message: "clientCertificates requires tls.clientAuthorities here too")
        }
        let answering = EdgeDialect.allCases.filter { $0.endpoint != nil }
        dialects = EdgeDialect.readSet("dialects", from: section, of: answering, default: answering)
        if !offloads.isEmpty { dialects.insert(.spoe) }
        if !grpc.isEmpty { dialects.insert(.grpc) }
        redirects = EdgeDialect.readSet(
            "redirects",
            from: section,
            of: EdgeDialect.allCases.filter(\.row.passesRedirects),
            default: []
        )
        forwardedFor = ForwardedFor(section)
        sources = TokenSources(section, tokensOfEntries: tokensOfEntries, profiles: profiles)
        section.rename("cacheCeiling", to: "maxCacheAge")
        let age = section.duration("maxCacheAge", in: .zero ... .seconds(3600), default: .seconds(5))
        maxCacheAge = age.components.seconds
    }
}

extension GateConfiguration.Listener {
    fileprivate static func overGRPC(_ section: ConfigurationSection) -> [Self] {
        #if !GRPC
            section.note(
                at: "listen",
                message: "this build has no gRPC: build with the trait GRPC, or configure the edge without grpc"
            )
        #endif
        return list(section, default: .tcp(host: "127.0.0.1", port: 8083))
    }
}

extension ForwardedFor {
    /// Reads `forwardedFor` of a listener: `hops` or `networks`.
    package init(_ section: ConfigurationSection) {
        self =
            section.optionalSection("forwardedFor") { section in
                let named = section.strings("networks")
                guard section.has("hops") == section.has("networks") else {
                    if let named { return .networks(Self.networks(named, in: section)) }
                    return .hops(section.integer("hops", in: 1...16, default: 1))
                }
                section.note(at: "hops", message: "exactly one of hops and networks is required")
                return .oneAddress
            } ?? .oneAddress
    }

    private static func networks(_ named: [String], in section: ConfigurationSection) -> [IPNetwork] {
        if named.isEmpty, !section.isFaulty {
            section.note(at: "networks", message: "must name at least one, such as 10.0.0.0/8")
        }
        return section.networks("networks", texts: named)
    }
}

extension ConfigurationSection {
    /// Reads the texts of a key as networks. Each invalid one is noted.
    fileprivate func networks(_ key: String, texts: [String]) -> [IPNetwork] {
        texts.compactMap { text in
            let network = IPNetwork(text)
            if network == nil {
                note(
                    at: key,
                    message: "\(text): must be an address or a network such as 10.0.0.0/8, and not every address"
                )
            }
            return network
        }
    }
}

extension TrustedPeers {
    /// Reads the peers that a listener trusts.
    package init(_ section: ConfigurationSection) {
        self.init(
            trustsLoopback: section.bool("trustLoopback", default: true),
            networks: section.networks("trustedPeers", texts: section.strings("trustedPeers") ?? []),
            certificates: (section.strings("clientCertificates") ?? []).compactMap { text in
                let digest = TokenFingerprint(hexadecimal: text.filter { $0 != ":" })?.bytes
                if digest == nil {
                    section.note(at: "clientCertificates", message: "must be SHA-256: 64 hexadecimal digits")
                }
                return digest
            }
        )
    }
}

extension EdgeDialect {
    /// Reads a set of dialects.
    fileprivate static func readSet(
        _ key: String,
        from section: ConfigurationSection,
        of known: [EdgeDialect],
        default fallback: [EdgeDialect]
    ) -> Set<EdgeDialect> {
        var dialects: Set<EdgeDialect> = []
        for name in section.strings(key) ?? fallback.map(\.rawValue) {
            if let dialect = known.first(where: { $0.rawValue == name }) {
                dialects.insert(dialect)
            } else if key == "dialects", EdgeDialect(rawValue: name) != nil {
                section.note(
                    at: key,
                    message: "\(name) has no endpoint: it has addresses of its own, by the key \(name)"
                )
            } else {
                let kind =
                    EdgeDialect(rawValue: name) == nil ? "is not a dialect" : "passes no redirect on to the client"
                section.note(
                    at: key,
                    message: "\(name) \(kind); known: \(known.map(\.rawValue).joined(separator: ", "))"
                )
            }
        }
        return dialects
    }
}
