// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import HTTPServer
internal import PlaybackGate
internal import RedisStore
internal import ReplayStores

extension GateConfiguration.Use {
    private enum StoreName: String, CaseIterable {
        case memory, sqlite, redis
    }

    private enum WhenUnavailable: String, CaseIterable {
        case refuse, allow
    }

    package init(_ section: ConfigurationSection, isShadow: Bool) {
        // The section that is there says which store it is.
        let named = [StoreName.sqlite, .redis].filter { section.has($0.rawValue) }
        let name = section.choice("store", default: named.first ?? .memory)
        if named.count > 1, !section.has("store") {
            section.note(at: "store", message: "store is missing: name sqlite or redis, as both are configured")
        }
        let capacity = section.section("memory") {
            $0.integer("capacity", in: 1...100_000_000, default: 1_000_000)
        }
        let file = section.optionalSection("sqlite") { sqlite in
            Located(value: sqlite.requiredPath("file"), location: sqlite.location("file"))
        }
        let deadline = section.duration(
            "deadline",
            in: .milliseconds(1) ... .seconds(10),
            default: .milliseconds(250)
        )
        #if Redis
            let redis = section.optionalSection("redis") { RedisSettings($0, deadline: deadline) }
        #else
            _ = section.optionalSection("redis") { _ in }
        #endif
        switch name {
        case .memory: store = .memory(capacity: capacity)
        case .sqlite:
            if file == nil { section.note(at: "sqlite", message: "sqlite.file is missing: name the database file") }
            store = .sqlite(file ?? Located(value: "", location: section.location))
        case .redis:
            #if Redis
                if redis == nil {
                    section.note(at: "redis", message: "redis.address is missing: name the address of Redis")
                }
                store = redis.map { .redis($0) } ?? .memory(capacity: capacity)
            #else
                section.note(at: "store", message: "this build of playgate has no Redis support")
                store = .memory(capacity: capacity)
            #endif
        }
        rules = Gate.Rules(
            maximumUses: section.integer("maximumUses", in: 1...TokenUse.maximumUsesLimit, default: 1),
            storeDeadline: deadline,
            allowsUnknownUse: section.choice("whenUnavailable", default: WhenUnavailable.refuse) == .allow,
            isShadow: isShadow
        )
    }
}

#if Redis
    extension RedisSettings {
        /// - Parameter deadline: The time limit of a store operation, within which replicas must acknowledge.
        fileprivate init(_ section: ConfigurationSection, deadline: Duration) {
            self.init(
                Servers(section),
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
            let replicas = section.integer("wait", in: 0...16, default: 0)
            // The rest of the deadline is for the write itself.
            if replicas > 0 { wait = Wait(replicas: replicas, timeout: min(deadline / 2, .seconds(1))) }
        }
    }

    extension RedisSettings.Servers {
        fileprivate init(_ section: ConfigurationSection) {
            let named = ["address", "sentinels", "cluster"].filter { section.has($0) }
            if named.isEmpty {
                section.note(
                    at: "address",
                    message: "address is missing, such as 127.0.0.1:6379; or name sentinels or a cluster"
                )
            }
            if named.count > 1 { section.note(at: named[1], message: "\(named[0]) and \(named[1]) exclude each other") }
            let address = section.parsed("address", default: RedisSettings.Address.none) {
                try RedisSettings.Address($0, in: section)
            }
            let sentinels = section.addresses("sentinels")
            let isOfSentinels = section.has("sentinels")
            for key in ["primary", "sentinelUser", "sentinelPassword"] where section.has(key) && !isOfSentinels {
                section.note(at: key, message: "needs sentinels")
            }
            let user = section.optionalString("sentinelUser")
            let password = section.secret("sentinelPassword").map { RedisPassword($0.text) }
            let primary = isOfSentinels ? section.requiredString("primary") : section.string("primary", default: "")
            let cluster = section.addresses("cluster")
            if section.has("cluster"), section.has("database") {
                section.note(at: "database", message: "a Redis Cluster has one database only")
            }
            if isOfSentinels {
                self = .sentinels(.init(addresses: sentinels, primary: primary, user: user, password: password))
            } else {
                self = section.has("cluster") ? .cluster(cluster) : .one(address)
            }
        }
    }

    extension RedisSettings.Address {
        /// Stands for an address that cannot be read.
        fileprivate static let none = RedisSettings.Address.tcp(host: "", port: 0)

        fileprivate init(_ text: String, in section: ConfigurationSection) throws(ParseFault) {
            switch try ListenerAddress(text) {
            case .tcp(let host, let port): self = .tcp(host: host, port: port)
            case .unix(let path): self = .unix(path: section.resolve(path))
            case .descriptor: throw ParseFault("must be HOST:PORT, [IPV6]:PORT or unix:PATH")
            }
        }
    }

    extension ConfigurationSection {
        /// Returns a list of addresses of servers, which the section must not leave empty if it has the key.
        fileprivate func addresses(_ key: String) -> [RedisSettings.Address] {
            guard let texts = strings(key) else { return [] }
            if texts.isEmpty, !isFaulty { note(at: key, message: "must name at least one server, as HOST:PORT") }
            var addresses: [RedisSettings.Address] = []
            for text in texts {
                do throws(ParseFault) { addresses.append(try RedisSettings.Address(text, in: self)) } catch {
                    note(at: key, message: error.description)
                }
            }
            return addresses
        }
    }
#endif
