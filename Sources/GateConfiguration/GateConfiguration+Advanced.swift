// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
package import HTTPServer
package import KeySources
internal import Platform

extension GateConfiguration {
    /// The section `advanced`: values that fit every installation but a few.
    package struct Advanced: Sendable {
        /// The limits of each listener's clients.
        package var limits: HTTPLimits
        /// The most requests in flight, of API and edges together; a batch counts once for each playback.
        package var concurrency: Int
        /// The number of grants that each event loop caches, and of media tokens that may be presented again; 0 for none.
        package var cache: Int
        /// The time for which edges may use a policy without having it confirmed.
        package var bundleMaxAge: Duration
        /// The prefix of the links to explanations of codes.
        package var helpURL: String
        /// The rules of key sets that are fetched.
        package var keySets: KeySetRules
        /// The folder for copies of fetched key sets; `nil` if none is named.
        package var keySetFolder: String?
        /// The limits of fetched manifests.
        package var manifests: ManifestLimits
        /// The longest time from SIGTERM to the end of the process.
        package var shutdownGrace: Duration
        /// The interval at which watched files are checked.
        package var watchInterval: Duration
    }

    /// The limits of the manifests that are fetched from an origin.
    package struct ManifestLimits: Hashable, Sendable {
        /// The most fetches at a time.
        package var fetches: Int
        /// The largest manifest, in bytes, as the origin delivers it and as it is rewritten.
        package var bytes: Int
        /// The time for a connection to the origin.
        package var connect: Duration
        /// The time from the request to the head of the response, in which an origin may hold a blocking reload.
        package var response: Duration
        /// The time from the head of the response to its last byte.
        package var body: Duration
    }
}

extension GateConfiguration.Advanced {
    init(_ section: ConfigurationSection) {
        limits = section.section("limits", read: HTTPLimits.init)
        concurrency = section.integer("concurrency", in: 1...1_000_000, default: 1024)
        cache = section.integer("cache", in: 0...1_000_000, default: 16_384)
        let month = Duration.seconds(30 * 86_400)
        bundleMaxAge = section.duration("bundleMaxAge", in: .seconds(5)...month, default: .seconds(30))
        helpURL = section.string("helpURL", default: "/v1/codes/")
        (keySets, keySetFolder) = section.section("keySets") { (KeySetRules($0), $0.optionalPath("folder")) }
        manifests = section.section("manifests", read: GateConfiguration.ManifestLimits.init)
        shutdownGrace = section.duration(
            "shutdownGrace",
            in: .milliseconds(100) ... .seconds(600),
            default: .seconds(10)
        )
        watchInterval = section.duration(
            "watchInterval",
            in: .milliseconds(100) ... .seconds(3600),
            default: .seconds(2)
        )
    }
}

extension GateConfiguration.ManifestLimits {
    fileprivate init(_ section: ConfigurationSection) {
        let times = Duration.milliseconds(10) ... .seconds(600)
        fetches = section.integer("fetches", in: 1...65_536, default: 128)
        bytes = section.integer("bytes", in: 1024...67_108_864, default: 8 << 20)
        connect = section.duration("connect", in: times, default: .seconds(2))
        response = section.duration("response", in: times, default: .seconds(30))
        body = section.duration("body", in: times, default: .seconds(10))
    }
}

extension HTTPLimits {
    fileprivate init(_ section: ConfigurationSection) {
        let usual = HTTPLimits()
        let connections = section.integer("connections", in: 1...1_000_000, default: usual.connections)
        self.init(
            connections: connections,
            connectionsPerPeer: section.integer(
                "connectionsPerPeer",
                in: 1...1_000_000,
                default: HTTPLimits(connections: connections).connectionsPerPeer
            ),
            headerBytes: section.integer("headerBytes", in: 1024...1_048_576, default: usual.headerBytes),
            bodyBytes: section.integer("bodyBytes", in: 1024...67_108_864, default: usual.bodyBytes),
            requestTimeout: section.duration(
                "requestTimeout",
                in: .milliseconds(100) ... .seconds(600),
                default: usual.requestTimeout
            ),
            idleTimeout: section.duration(
                "idleTimeout",
                in: .milliseconds(100) ... .seconds(3600),
                default: usual.idleTimeout
            )
        )
    }
}

extension KeySetRules {
    fileprivate init(_ section: ConfigurationSection) {
        self.init()
        maximumStale = section.duration(
            "maximumStale",
            in: .seconds(300) ... .seconds(30 * 86_400),
            default: maximumStale
        )
        unknownKeyInterval = section.duration(
            "unknownKeyInterval",
            in: .seconds(10) ... .seconds(3600),
            default: unknownKeyInterval
        )
    }
}
