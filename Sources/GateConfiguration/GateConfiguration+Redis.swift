// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import ConfigurationReading
    internal import Encodings
    internal import HTTPServer
    internal import RedisStore
    internal import RequestTargets

    extension RedisSettings {
        /// Reads the section `redis`.
        ///
        /// - Parameter deadline: The time limit of a store operation, within which replicas must acknowledge.
        init(_ section: ConfigurationSection, deadline: Duration) {
            for old in ["address", "sentinels", "primary", "cluster", "user", "database"] {
                section.rename(old, to: "url: \(RedisURL.forms)")
            }
            section.rename("tls", to: "authorities, with a url that begins with rediss")
            let url = section.secret("url").flatMap { secret -> RedisURL? in
                do throws(ParseFault) { return try RedisURL(secret.text, in: section) } catch {
                    section.note(at: "url", message: error.description)
                    return nil
                }
            }
            let password = section.secret("password").map { RedisPassword($0.text) }
            let authorities = section.optionalPath("authorities")
            let isOfSentinels = if case .sentinels = url?.servers { true } else { false }
            let lacksPassword = url?.user != nil && password == nil && url?.password == nil && !section.isFaulty
            let (sentinels, keyPrefix, replicas) = section.advanced { part in
                (
                    SentinelAccount(part, isUsed: isOfSentinels || url == nil, isKnown: url != nil),
                    part.string("keyPrefix", default: "playgate:"), part.integer("wait", in: 0...16, default: 0)
                )
            }
            if !section.has("url") { section.note(at: "url", message: "url is missing: \(RedisURL.forms)") }
            if password != nil, url?.password != nil {
                section.note(at: "password", message: "is in the url too")
            }
            // Redis would take the user for the default one.
            if lacksPassword {
                section.note(at: "url", message: "has a user, who needs a password: in the url, or as password")
            }
            if authorities != nil, let url, !url.isEncrypted {
                section.note(at: "authorities", message: "needs a url that begins with rediss")
            }
            var servers = url?.servers ?? .one(.tcp(host: "", port: 0))
            if case .sentinels(var named) = servers {
                (named.user, named.password) = (sentinels.user, sentinels.password)
                servers = .sentinels(named)
            }
            self.init(
                servers,
                user: url?.user,
                password: password ?? url?.password.map { RedisPassword($0) },
                database: url?.database ?? 0,
                keyPrefix: keyPrefix,
                tls: url?.isEncrypted ?? false ? TLS(authorities: authorities) : nil
            )
            // The rest of the deadline is for the write itself.
            if replicas > 0 { wait = Wait(replicas: replicas, timeout: min(deadline / 2, .seconds(1))) }
        }
    }

    /// The account of sentinels that need one.
    private struct SentinelAccount {
        let user: String?
        let password: RedisPassword?

        /// - Parameters:
        ///   - isUsed: True if the URL may name sentinels.
        ///   - isKnown: True if the URL could be read.
        init(_ section: ConfigurationSection, isUsed: Bool, isKnown: Bool) {
            user = section.optionalString("sentinelUser")
            password = section.secret("sentinelPassword").map { RedisPassword($0.text) }
            if user != nil, password == nil, isKnown, !section.isFaulty {
                section.note(at: "sentinelUser", message: "needs sentinelPassword")
            }
            for key in ["sentinelUser", "sentinelPassword"] where section.has(key) && !isUsed {
                section.note(at: key, message: "needs a url that begins with redis-sentinel:// or rediss-sentinel://")
            }
        }
    }

    /// The URL of a Redis server, of the sentinels of a primary, or of a cluster.
    struct RedisURL {
        let servers: RedisSettings.Servers
        var user: String?
        var password: String?
        var database = 0
        /// True for TLS.
        let isEncrypted: Bool

        /// The forms, for people.
        static let forms =
            "redis://HOST:PORT/DATABASE, redis-sentinel://HOST,HOST/PRIMARY, redis-cluster://HOST,HOST, or unix:PATH; rediss for TLS"

        private enum Kind: String, CaseIterable {
            case server = ""
            case sentinel = "-sentinel"
            case cluster = "-cluster"

            var port: UInt16 { self == .sentinel ? 26_379 : 6379 }
        }

        /// Parses a URL. Messages have no part of it that may be secret.
        ///
        /// - Parameter section: The section whose folder relative paths of sockets begin in.
        init(_ text: String, in section: ConfigurationSection) throws(ParseFault) {
            if text.hasPrefix("unix:") {
                let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
                guard case .unix(let path) = try ListenerAddress(String(parts[0])) else {
                    throw ParseFault("must be unix:PATH")
                }
                servers = .one(.unix(path: section.resolve(path)))
                isEncrypted = false
                for parameter in parts.count > 1 ? parts[1].split(separator: "&") : [] {
                    let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    switch (pair[0], pair.count) {
                    case ("user", 2): user = pair[1].percentDecoded
                    case ("database", 2): database = try Self.database(pair[1])
                    default: throw ParseFault("has a parameter that is not user=NAME or database=NUMBER")
                    }
                }
                return
            }
            let forms = Kind.allCases.flatMap { kind in
                [(kind, false, "redis\(kind.rawValue)://"), (kind, true, "rediss\(kind.rawValue)://")]
            }
            guard let (kind, isEncrypted, scheme) = forms.first(where: { text.hasPrefix($0.2) }) else {
                throw ParseFault("must be \(Self.forms)")
            }
            self.isEncrypted = isEncrypted
            let rest = text.dropFirst(scheme.count)
            guard !rest.utf8.contains(where: { "?#".utf8.contains($0) }) else {
                throw ParseFault("must have no ? and no #: encode them in a password, as %3F and %23")
            }
            let slash = rest.firstIndex(of: "/") ?? rest.endIndex
            var hosts = rest[..<slash]
            let path = rest[slash...].dropFirst()
            if let at = hosts.lastIndex(of: "@") {
                (user, password) = try Self.credentials(hosts[..<at])
                hosts = hosts[hosts.index(after: at)...]
            }
            let addresses = try Self.addresses(hosts, port: kind.port)
            switch kind {
            case .server:
                guard addresses.count == 1 else { throw ParseFault("must name one server: \(Self.forms)") }
                servers = .one(addresses[0])
                database = try Self.database(path)
            case .sentinel:
                let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
                guard let primary = parts.first.flatMap({ $0.percentDecoded }), !primary.isEmpty else {
                    throw ParseFault("must have the name of the primary: redis-sentinel://HOST,HOST/PRIMARY")
                }
                servers = .sentinels(.init(addresses: addresses, primary: primary))
                database = try Self.database(parts.count > 1 ? parts[1] : "")
            case .cluster:
                guard path.isEmpty else { throw ParseFault("must have no database: a Redis Cluster has one only") }
                servers = .cluster(addresses)
            }
        }

        private static func credentials(_ text: Substring) throws(ParseFault) -> (user: String?, password: String?) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let user = parts.first.flatMap({ $0.percentDecoded }) else {
                throw ParseFault("has a user that is not percent-encoded UTF-8")
            }
            guard parts.count == 2 else { return (user.isEmpty ? nil : user, nil) }
            guard let password = parts[1].percentDecoded else {
                throw ParseFault("has a password that is not percent-encoded UTF-8")
            }
            return (user.isEmpty ? nil : user, password)
        }

        private static func addresses(
            _ text: Substring,
            port: UInt16
        ) throws(ParseFault) -> [RedisSettings.Address] {
            var addresses: [RedisSettings.Address] = []
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let authority = URIAuthority(part) else {
                    throw ParseFault("must name its servers as HOST or HOST:PORT, separated by commas")
                }
                let host = authority.host
                let isAddress = host.utf8.first == UInt8(ascii: "[")
                if isAddress, IPAddress(host.dropFirst().dropLast()) == nil {
                    throw ParseFault("must name its servers as HOST or HOST:PORT, separated by commas; [ ] is for IPv6")
                }
                addresses.append(
                    .tcp(
                        host: String(isAddress ? host.dropFirst().dropLast() : host),
                        port: Int(authority.port ?? port)
                    )
                )
            }
            return addresses
        }

        private static func database(_ text: Substring) throws(ParseFault) -> Int {
            guard !text.isEmpty else { return 0 }
            guard text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text), 0...1023 ~= number else {
                throw ParseFault("must end with the number of a database, 0 to 1023, or without one")
            }
            return number
        }
    }
#endif
