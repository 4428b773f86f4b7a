// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Dispatch
import MediaResources
import MediaTokens

extension HotPath {
    /// The same number of verifications a thread; alone, one takes as long as two at once where nothing is shared.
    static func threads(_ options: Options) throws {
        let issued = try Issued()
        let resource = try MediaResource("TNT")
        let (plain, cached) = (try issued.verifier(), try issued.verifier(cache: AuthenticatedTokenCache()))
        let tokens = try issued.tokens(256)
        for (name, verifier, tokens, count) in [
            ("whole verification", plain, [issued.token], 1000),
            ("cache hit of one token", cached, [issued.token], 50_000),
            ("cache hits of many tokens", cached, tokens, 50_000),
        ] {
            let table = Table("Threads, \(name): the time of one of all verifications", options)
            let work = { @Sendable (part: Int, n: Int) in
                for number in 0..<n {
                    // Each thread at another place.
                    let token = tokens[(number + part * tokens.count / 2) % tokens.count]
                    precondition(verifier.verify(token.span, for: resource, at: Issued.time).isValid)
                }
            }
            for number in [1, 2] {
                // Both do the same amount in all: with two threads it takes half the time, if nothing is in the way.
                table.measure("\(number) \(number == 1 ? "thread" : "threads")", count) { n in
                    DispatchQueue.concurrentPerform(iterations: number) { work($0, n / number) }
                }
            }
            table.run()
        }
    }
}
