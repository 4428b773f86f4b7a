// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaResources
import MediaTokens
import PlaybackGate
import ReplayStores
import Synchronization

extension HotPath {
    /// Measures one and two threads with the same total number of checks. If nothing is shared, two threads take half the time.
    static func threads(_ options: Options) throws {
        let issued = try SignedToken()
        let resource = try MediaResource("TNT")
        let plain = try issued.verifier()
        let cached = try (0..<2).map { _ in try issued.verifier(cache: AuthenticatedTokenCache()) }
        let gates = try (0..<2).map { _ in try cachingGate(for: issued, resource: resource) }
        let (one, many) = ([issued.token], try issued.tokens(256))
        func isValid(_ verifier: Verifier) -> @Sendable ([UInt8]) -> Bool {
            { verifier.verify($0.span, for: resource, at: SignedToken.time).isValid }
        }
        func isAllowed(_ gate: Gate) -> @Sendable (PlaybackRequest) -> Bool {
            { gate.decision($0, at: SignedToken.time)?.isAllowed == true }
        }
        let copy = { (token: [UInt8]) in token.map { $0 } }
        let request = { (token: [UInt8]) in
            PlaybackRequest(.path("/live/tnt/low/seg1.ts"), token: String(decoding: token, as: UTF8.self))
        }
        let (hits, decisions) = (cached.map(isValid), gates.map(isAllowed))
        try threads(
            "whole verification",
            tokens: one,
            make: copy,
            count: 1000,
            options: options,
            limit: issued,
            checks: [isValid(plain)]
        )
        try threads("cache hit of one token", tokens: one, make: copy, count: 50_000, options: options, checks: hits)
        try threads(
            "cache hits of many tokens",
            tokens: many,
            make: copy,
            count: 50_000,
            options: options,
            checks: hits
        )
        try threads(
            "cached decision about one token",
            tokens: one,
            make: request,
            count: 20_000,
            options: options,
            checks: decisions
        )
        try threads(
            "cached decisions about many tokens",
            tokens: many,
            make: request,
            count: 20_000,
            options: options,
            checks: decisions
        )
    }

    /// Measures checks on one thread and on two.
    ///
    /// - Parameters:
    ///   - make: Makes the subject of a check from a token; for each thread another one, as if from a connection of its own.
    ///   - count: The number of checks in a round.
    ///   - limit: The token whose bare check is measured too; `nil` for no limit.
    ///   - checks: The check; a second one that shares nothing with it is measured beside it, on a thread each.
    private static func threads<Subject: Sendable>(
        _ name: String,
        tokens: [[UInt8]],
        make: ([UInt8]) -> Subject,
        count: Int,
        options: Options,
        limit: SignedToken? = nil,
        checks: [@Sendable (Subject) -> Bool]
    ) throws {
        let table = Table("Threads, \(name): the time of one of all checks", options: options, usesSeveralThreads: true)
        let subjects = [tokens.map(make), tokens.map(make)]
        let work = { @Sendable (part: Int, n: Int, check: @Sendable (Subject) -> Bool) in
            let own = subjects[part]
            for number in 0..<n {
                // Each thread starts at a different token.
                precondition(check(own[(number + part * own.count / 2) % own.count]))
            }
        }
        let second = SecondThread()
        if let limit {
            // This is the speed-up of two threads that share nothing. On a virtual machine it is not always 2.
            let other = try limit.another()
            table.measure("the bare check, 1 thread", count: count) { limit.check($0) }
            table.measure("the bare check, 2 threads", count: count) { n in
                second.start { other.check(n / 2) }
                limit.check(n / 2)
                second.wait()
            }
        }
        // All rows do the same work in total, so without contention two threads take half the time.
        table.measure("1 thread", count: count) { work(0, $0, checks[0]) }
        let rows = checks.count > 1 ? ["2 threads", "2 threads that share nothing"] : ["2 threads"]
        for (row, other) in zip(rows, checks) {
            table.measure(row, count: count) { n in
                second.start { work(1, n / 2, other) }
                work(0, n / 2, checks[0])
                second.wait()
            }
        }
        table.run()
        second.end()
    }

    private static func cachingGate(for issued: SignedToken, resource: MediaResource) throws -> Gate {
        var catalogue = Catalogue()
        let path = Catalogue.Entry.Key.path(try PathPattern("/live/tnt/"))
        let protection = Catalogue.Entry.Protection.resource(resource, requestor: "REF30")
        try catalogue.add(Catalogue.Entry(key: path, protection: protection, use: .withinTTL))
        return Gate(
            catalogue: catalogue,
            verifier: try issued.verifier(cache: AuthenticatedTokenCache()),
            store: MemoryReplayStore(capacity: 1000)
        )
    }
}

/// A thread that waits for work without sleeping, because waking a thread can take milliseconds.
private final class SecondThread: Sendable {
    private let work = Mutex<(@Sendable () -> Void)?>(nil)
    private let isBusy = Atomic(false)
    private let isEnded = Atomic(false)

    init() {
        Thread.detachNewThread { [self] in
            while !isEnded.load(ordering: .acquiring) {
                guard isBusy.load(ordering: .acquiring) else { continue }
                work.withLock { $0 }?()
                isBusy.store(false, ordering: .releasing)
            }
        }
    }

    func start(_ body: @escaping @Sendable () -> Void) {
        work.withLock { $0 = body }
        isBusy.store(true, ordering: .releasing)
    }

    func wait() { while isBusy.load(ordering: .acquiring) {} }

    func end() { isEnded.store(true, ordering: .releasing) }
}
