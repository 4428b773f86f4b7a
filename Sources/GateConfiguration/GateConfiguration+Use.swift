// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import HTTPServer
internal import PlaybackGate
internal import RedisStore
internal import ReplayStores

extension GateConfiguration.Use {
    private enum WhenUnavailable: String, CaseIterable {
        case refuse, allow
    }

    package init(_ section: ConfigurationSection, isShadow: Bool) {
        // The key that is there says which store it is.
        section.rename("store", to: "the store by the key that is there: sqlite, redis, or none for memory")
        section.rename("memory", to: "advanced: { capacity: … }")
        let file = section.optionalString("sqlite").map { name in
            if name.isEmpty { section.note(at: "sqlite", message: "must name the file of the store") }
            return Located(value: section.resolve(name), location: section.location("sqlite"))
        }
        let deadline = section.duration(
            "deadline",
            in: .milliseconds(1) ... .seconds(10),
            default: .milliseconds(250)
        )
        let others = ["sqlite", "redis"].filter { section.has($0) }
        let (capacity, maximumUses, whenUnavailable) = section.advanced { part in
            if part.has("capacity"), !others.isEmpty {
                part.note(at: "capacity", message: "is for the store in memory: \(others[0]) is named")
            }
            return (
                part.integer("capacity", in: 1...100_000_000, default: 1_000_000),
                part.integer("maximumUses", in: 1...TokenUse.maximumUsesLimit, default: 1),
                part.choice("whenUnavailable", default: WhenUnavailable.refuse)
            )
        }
        if others.count > 1 { section.note(at: "redis", message: "sqlite and redis exclude each other") }
        store = file.map { .sqlite($0) } ?? .memory(capacity: capacity)
        #if Redis
            let redis = section.optionalSection("redis", orTextOf: "url") { RedisSettings($0, deadline: deadline) }
            if let redis, file == nil { store = .redis(redis) }
        #else
            if section.has("redis") {
                section.note(at: "redis", message: "this build of playgate has no Redis support")
            }
        #endif
        rules = Gate.Rules(
            maximumUses: maximumUses,
            storeDeadline: deadline,
            allowsUnknownUse: whenUnavailable == .allow,
            isShadow: isShadow
        )
    }
}
