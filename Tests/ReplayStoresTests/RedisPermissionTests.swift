// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import Testing

@Suite(.needsRedis) struct `Permissions in Redis` {
    /// The commands that docs/how-to/several-gates.md says a gate needs, as rules of an ACL.
    private static func documentedRules() throws -> [String] {
        let page = try String(contentsOfFile: repository + "/docs/how-to/several-gates.md", encoding: .utf8)
        let start = try #require(page.range(of: "and permission for `EVALSHA`"))
        let end = try #require(page.range(of: "**Set `maxmemory-policy", range: start.upperBound..<page.endIndex))
        let commands = page[start.lowerBound..<end.lowerBound].split(separator: "`").enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { $0.element.lowercased() }
        try #require(commands.count > 15 && commands.contains("zremrangebyscore"))
        return commands.map { "+" + $0.replacing(" ", with: "|") }
    }

    @Test func `are those that the page on several gates names`() async throws {
        let rules = try Self.documentedRules().joined(separator: " ")
        let redis = try RedisServer(
            ["--user", "gate", "on", ">secret", "~playgate:*", "-@all"] + rules.split(separator: " ").map(String.init)
        )
        let server = try redis.start()
        let settings = RedisSettings(
            .one(.unix(path: redis.socket)),
            user: "gate",
            password: RedisPassword("secret")
        )
        try await withRedis(settings) { (store) async throws in
            let now = Timestamp.now()
            let lease = `Every store for grants`().lease(1, at: now)
            #expect(try await store.record(try GateSample.use(1, issued: now), at: now) == .recorded)
            #expect(try await store.record(try GateSample.use(1, issued: now), at: now) == .usedUp)
            #expect(try await store.examine(try GateSample.use(2, issued: now), at: now) == .notRevoked)
            let identity = try `Every store for grants`.identity(1)
            #expect(try await store.insert(identity, until: now.adding(seconds: 60), at: now) == .first)
            #expect(try await store.acquire(lease, at: now) == .taken)
            #expect(try await store.acquire(lease, at: now) == .renewed)
            #expect(try await store.free(lease.session, at: now))
            try await store.revoke(Revocation(.playback(lease.session), expires: now.adding(seconds: 60)), at: now)
            let everyone = Revocation(
                .mvpd(id: "SandboxMVPD", issuedBefore: now.adding(seconds: 60)),
                expires: now.adding(seconds: 60)
            )
            try await store.revoke(everyone, at: now)
            #expect(try await store.revocations(after: nil).records.count == 2)
            #expect(try await store.exchange([1, 2], after: nil).batches == [[1, 2]])
            #expect(try await store.record(try GateSample.use(3, issued: now), at: now) == .revoked(.mvpd))
        }
        server.signal(SIGTERM)
    }
}
