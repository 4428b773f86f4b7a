// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateStores
internal import HTTPServer
internal import PlaybackGate

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
