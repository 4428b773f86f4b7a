// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import MediaResources

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
        section.noteUnknown("requestor", [requestor], among: requestors, what: "requestor")
        items = section.list("items", Item.init)
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
                section.note("resource", "resource is missing: \(advice)")
            }
        }
    }
}
