// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// Requests of players and of strangers, by a clock that is also set back: the sequences by which every cache of answers is held
/// against the check behind it.
package struct PlayerRequests {
    /// A request.
    package struct Request: CustomStringConvertible {
        package let time: Timestamp
        package let target: String
        package let method: String
        package let host: String
        /// The client's address; `nil` for an edge that does not say.
        package let client: String?
        /// The value of `User-Agent`.
        package let agent: String?
        /// The names of a grant and of a media token: see ``grants`` and ``tokens``.
        package let grant: String?
        package let token: String?

        package var description: String {
            "\(method) \(host)\(target) \(client ?? "-") \(agent ?? "-") \(grant ?? "-") \(token ?? "-") \(time)"
        }
    }

    /// The grants for a folder: good ones, ones that are bound to something else, ones that end, and one that is none.
    package static let grants = [
        "plain", "plain", "other", "file", "suffix", "query", "network", "agent", "get", "short", "late", "garbage",
    ]
    /// Media tokens: a good one, one that ends, one for another resource, and one that is none.
    package static let tokens = ["good", "minute", "tbs", "garbage"]

    private var random: SplitMix64
    private let folder: String
    private var now = GateSample.time

    /// - Parameter folder: The folder that grants are for, with its last slash.
    package init(seed: UInt64, folder: String) {
        random = SplitMix64(seed: seed)
        self.folder = folder
    }

    package mutating func next() -> Request {
        // Slowly, so that grants live for most of a sequence.
        if random.once(in: 6) { now = now.adding(seconds: random.pick([1, 1, 2, -1])) }
        let files = ["low/1.ts", "low/2.ts", "low/3.ts"]
        let names = ["1.ts", "2.ts", "2.ts?a=b", ".x", "%2e%2e/x", "a%20b", "low/1.ts?a=b", "low/.x", "low/", ""]
        let others = ["/segments/1.ts", "/segments/2.ts", "/segments/3.ts", "/plain/1", "/none"]
        let isOther = random.once(in: 3)
        return Request(
            time: now,
            target: isOther ? random.pick(others) : folder + random.pick(random.once(in: 3) ? names : files),
            method: random.once(in: 6) ? random.pick(["HEAD", "POST"]) : "GET",
            host: random.once(in: 6) ? random.pick(["cdn.example:443", "vod.example"]) : "cdn.example",
            client: random.once(in: 6) ? random.pick(["198.51.100.1", nil]) : "192.0.2.9",
            agent: random.once(in: 6) ? random.pick(["tv", "other"]) : nil,
            grant: random.once(in: isOther ? 2 : 6) ? nil : random.pick(random.once(in: 3) ? Self.grants : ["plain"]),
            token: random.once(in: 3) ? random.pick(random.once(in: 3) ? Self.tokens : ["good"]) : nil
        )
    }
}
