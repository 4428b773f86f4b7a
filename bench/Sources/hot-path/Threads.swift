// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaResources
import MediaTokens
import Synchronization

extension HotPath {
    /// Measures one and two threads with the same total number of verifications. If nothing is shared, two threads take half
    /// the time.
    static func threads(_ options: Options) throws {
        let issued = try SignedToken()
        let resource = try MediaResource("TNT")
        let (plain, cached) = (try issued.verifier(), try issued.verifier(cache: AuthenticatedTokenCache()))
        let tokens = try issued.tokens(256)
        for (name, verifier, tokens, count) in [
            ("whole verification", plain, [issued.token], 1000),
            ("cache hit of one token", cached, [issued.token], 50_000),
            ("cache hits of many tokens", cached, tokens, 50_000),
        ] {
            let table = Table(
                "Threads, \(name): the time of one of all verifications",
                options,
                usesSeveralThreads: true
            )
            let work = { @Sendable (part: Int, n: Int) in
                for number in 0..<n {
                    // Each thread starts at a different token.
                    let token = tokens[(number + part * tokens.count / 2) % tokens.count]
                    precondition(verifier.verify(token.span, for: resource, at: SignedToken.time).isValid)
                }
            }
            let second = SecondThread()
            if name == "whole verification" {
                // This is the speed-up of two threads that share nothing. On a virtual machine it is not always 2.
                let other = try issued.another()
                table.measure("the bare check, 1 thread", count) { issued.check($0) }
                table.measure("the bare check, 2 threads", count) { n in
                    second.start { other.check(n / 2) }
                    issued.check(n / 2)
                    second.wait()
                }
            }
            table.measure("1 thread", count) { work(0, $0) }
            // Both rows do the same work in total, so without contention two threads take half the time.
            table.measure("2 threads", count) { n in
                second.start { work(1, n / 2) }
                work(0, n / 2)
                second.wait()
            }
            table.run()
            second.end()
        }
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
