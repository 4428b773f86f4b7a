// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Dispatch
import MediaResources
import MediaTokens

extension HotPath {
    /// The same number of verifications a thread; alone, one takes as long as two at once where nothing is shared.
    static func threads(_ options: Options) throws {
        let issued = try Issued()
        let (token, time) = (issued.token, Issued.time)
        let resource = try MediaResource("TNT")
        let (plain, cached) = (try issued.verifier(), try issued.verifier(cache: AuthenticatedTokenCache()))
        for (name, verifier, count) in [("whole verification", plain, 1000), ("cache hit", cached, 50_000)] {
            let table = Table("Threads, \(name): the time of one of all verifications", options)
            let work = { @Sendable (n: Int) in
                for _ in 0..<n { precondition(verifier.verify(token.span, for: resource, at: time).isValid) }
            }
            for number in [1, 2] {
                // Both do the same amount in all: with two threads it takes half the time, if nothing is in the way.
                table.measure("\(number) \(number == 1 ? "thread" : "threads")", count) { n in
                    DispatchQueue.concurrentPerform(iterations: number) { _ in work(n / number) }
                }
            }
            table.run()
        }
    }
}
