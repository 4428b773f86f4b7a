// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
package import EdgeChecks
package import HTTPServer
internal import MediaTokens
package import PlaybackGate
internal import RequestTargets

extension GateConfiguration.Edge {
    package init(
        _ section: ConfigurationSection,
        tokensOfEntries: [PlaybackGate.Catalogue.Entry: [TokenSource]],
        profiles: [GrantProfile],
        limits: HTTPLimits
    ) {
        for kind in ["spoe", "grpc"] { section.rename(kind, to: "in the list listen: \(kind):HOST:PORT") }
        let all = GateConfiguration.Listener.list(
            section,
            default: (EdgeProtocol.http, .tcp(host: "127.0.0.1", port: 8081)),
            limits: limits
        ) { (text) throws(ParseFault) in try EdgeProtocol.address(text) }
        func listeners(_ kind: EdgeProtocol) -> [GateConfiguration.Listener] {
            all.filter { $0.kind == kind }.map(\.listener)
        }
        (self.listeners, offloads, grpc) = (listeners(.http), listeners(.spoe), listeners(.grpc))
        #if !GRPC
            if !grpc.isEmpty {
                section.note(at: "listen", message: "this build has no gRPC: build with the trait GRPC, or drop grpc:")
            }
        #endif
        peers = TrustedPeers(section, tls: all.first?.listener.tls)
        let answering = EdgeDialect.allCases.filter { $0.endpoint != nil }
        let ages = Duration.zero ... .seconds(3600)
        let age: Duration
        (dialects, redirects, age) = section.advanced { part in
            let redirecting = EdgeDialect.allCases.filter(\.row.passesRedirects)
            return (
                EdgeDialect.readSet("dialects", from: part, of: answering, default: answering),
                EdgeDialect.readSet("redirects", from: part, of: redirecting, default: []),
                part.duration("maxCacheAge", in: ages, default: .seconds(5))
            )
        }
        maxCacheAge = age.components.seconds
        section.rename("cacheCeiling", to: "advanced: { maxCacheAge: … }")
        if !offloads.isEmpty { dialects.insert(.spoe) }
        if !grpc.isEmpty { dialects.insert(.grpc) }
        forwardedFor = ForwardedFor(section)
        sources = TokenSources(section, tokensOfEntries: tokensOfEntries, profiles: profiles)
    }
}

/// The protocol that a listener for edges speaks: the beginning of its address.
private enum EdgeProtocol: String, CaseIterable {
    /// Sub-requests over HTTP; addresses do not name it.
    case http
    /// HAProxy's stream processing offload.
    case spoe
    /// Envoy's checks over gRPC.
    case grpc

    /// Parses an address, which may begin with a protocol and a colon.
    static func address(_ text: String) throws(ParseFault) -> (kind: EdgeProtocol, address: ListenerAddress) {
        let named = allCases.first { $0 != .http && text.hasPrefix($0.rawValue + ":") }
        guard let named else { return (.http, try ListenerAddress(text)) }
        return (named, try ListenerAddress(String(text.dropFirst(named.rawValue.count + 1))))
    }
}

extension ForwardedFor {
    /// Reads `forwardedFor` of a listener: a number of proxies, or their networks.
    package init(_ section: ConfigurationSection) {
        let key = "forwardedFor"
        guard let (hops, texts) = section.integerOrStrings(key, in: 1...16, what: "networks of the proxies") else {
            self = .oneAddress
            return
        }
        if let hops {
            self = .hops(hops)
        } else {
            if texts.isEmpty, !section.isFaulty {
                section.note(at: key, message: "must be the number of trusted proxies, or name a network of theirs")
            }
            self = .networks(section.networks(key, texts: texts))
        }
    }
}

extension ConfigurationSection {
    /// Reads the texts of a key as networks. Each invalid one is noted.
    fileprivate func networks(_ key: String, texts: [String]) -> [IPNetwork] {
        let also = key == "peers" ? "; or loopback, or sha256: and a digest" : ""
        return texts.compactMap { text in
            let network = IPNetwork(text)
            if network == nil {
                note(
                    at: key,
                    message: "\(text): must be an address or a network such as 10.0.0.0/8, and not every address\(also)"
                )
            }
            return network
        }
    }
}

extension TrustedPeers {
    private static let loopback = "loopback"
    private static let digest = "sha256:"

    /// Reads the peers that a listener trusts: networks, `loopback`, and the digests of client certificates.
    ///
    /// - Parameter tls: The TLS settings of the listener; `nil` for plain text.
    package init(_ section: ConfigurationSection, tls: GateConfiguration.Listener.TLS?) {
        let key = "peers"
        for old in ["trustedPeers", "clientCertificates"] {
            section.rename(old, to: "peers: [loopback, 10.0.0.0/8, \"sha256:…\"]")
        }
        section.rename("trustLoopback", to: "peers without loopback, such as peers: [],", unless: "true")
        let texts = section.strings(key) ?? [Self.loopback]
        let digests = texts.filter { $0.hasPrefix(Self.digest) }
        self.init(
            trustsLoopback: texts.contains(Self.loopback),
            networks: section.networks(key, texts: texts.filter { $0 != Self.loopback && !digests.contains($0) }),
            certificates: digests.compactMap { text in
                let digits = text.dropFirst(Self.digest.count).filter { $0 != ":" }
                let digest = TokenFingerprint(hexadecimal: digits)?.bytes
                if digest == nil {
                    section.note(at: key, message: "\(text): must be sha256: and 64 hexadecimal digits")
                }
                return digest
            }
        )
        if !certificates.isEmpty, tls?.clientAuthorities == nil {
            section.note(at: key, message: "sha256: requires tls.authorities, to request client certificates")
        }
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
                    message: "\(name) has no endpoint: it has an address of its own in listen, \(name):HOST:PORT"
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
