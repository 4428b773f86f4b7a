// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Synchronization
import Testing

@testable import MediaTokens

@Suite struct `Tables of tokens` {
    private final class Content: Sendable {}

    /// A thread that runs what it is given.
    private final class Worker: Sendable {
        private let work = Mutex<(@Sendable () -> Void)?>(nil)
        private let (isGiven, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

        init() {
            Thread.detachNewThread { [self] in
                while true {
                    isGiven.wait()
                    guard let body = work.withLock({ $0 }) else { return }
                    body()
                    isDone.signal()
                }
            }
        }

        /// Runs `body` on the thread, and waits for it.
        func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
            let found = Found<Result>()
            work.withLock { $0 = { found.result.withLock { $0 = body() } } }
            isGiven.signal()
            isDone.wait()
            guard let result = found.result.withLock({ $0 }) else { fatalError("the thread has no result") }
            return result
        }

        func end() {
            work.withLock { $0 = nil }
            isGiven.signal()
        }
    }

    private final class Found<Result: Sendable>: Sendable {
        let result = Mutex<Result?>(nil)
    }

    @Test func `threads have numbers that stay, each its own`() {
        let workers = (0..<100).map { _ in Worker() }
        let numbers = workers.map { $0.run { [ThreadNumber.current, ThreadNumber.current] } }
        #expect(numbers.allSatisfy { $0[0] == $0[1] && $0[0] >= 0 })
        #expect(Set(numbers.map { $0[0] }).count == 100)
        #expect(workers.map { $0.run { ThreadNumber.current } } == numbers.map { $0[0] })
        for worker in workers { worker.end() }
    }

    /// One after the other: without this, the second of two event loops could have the part of the first.
    @Test func `threads get numbers of threads that have ended`() {
        let numbers = (0..<1000).map { _ in
            let worker = Worker()
            defer { worker.end() }
            return worker.run { ThreadNumber.current }
        }
        #expect(Set(numbers).count < 500)
    }

    @Test(arguments: [(1, 1), (2, 2), (3, 4), (4, 4), (5, 4), (1000, 4), (0, 1), (-1, 1)])
    func `have parts for the threads that work at once`(threads: Int, parts: Int) {
        #expect(TokenTable(capacity: 8, threads: threads).threads == parts)
    }

    @Test func `hold as many tokens as fit, in whatever order they come`() {
        let table = TokenTable(capacity: 16_384, threads: 1)
        let time = Timestamp(millisecondsSince1970: 1_000_000)
        let tokens = (0..<10_000).map { [UInt8]("token \($0)".utf8) }
        for token in tokens { table.insert(token.span, value: Content(), generation: 1, life: time...time) }
        let kept = tokens.count { table.lookUp($0.span, generation: 1, at: time) != nil }
        // Of places that depend on the hash alone, an eighth of the tokens would have none.
        #expect(kept >= 9990)
    }

    /// Random operations of several threads, compared with a dictionary for each part.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `find what a thread of the same part has stored last, and nothing else`(seed: UInt64) {
        let table = TokenTable(capacity: 2048, threads: 4)
        let time = Timestamp(millisecondsSince1970: 1_000_000)
        var random = SplitMix64(seed: seed)
        var model = [[Int: (content: Content, end: Int64)]](repeating: [:], count: 4)
        var (hits, misses) = (0, 0)
        let workers = (0..<6).map { _ in Worker() }
        defer { for worker in workers { worker.end() } }
        for _ in 0..<400 {
            let worker = random.pick(workers)
            let (number, choice) = (random.pick(Array(0..<12)), random.pick(Array(0..<20)))
            let life = random.pick([0, 5, 50])
            let now = time.advanced(byMilliseconds: random.pick([0, 5, 6, 50, 51]))
            let bytes = [UInt8]("token \(number)".utf8)
            switch choice {
            case 0:
                table.removeAll()
                model = Array(repeating: [:], count: 4)
            case 1:
                table.removeExpired(at: now)
                for part in 0..<4 { model[part] = model[part].filter { $0.value.end >= now.millisecondsSince1970 } }
            case 2...8:
                let content = Content()
                let end = time.advanced(byMilliseconds: Int64(life))
                let part = worker.run {
                    table.insert(bytes.span, value: content, generation: 1, life: time...end)
                    return ThreadNumber.current & 3
                }
                model[part][number] = (content, end.millisecondsSince1970)
            default:
                let generation = choice == 9 ? 2 : 1 as UInt64
                let (part, found) = worker.run {
                    (ThreadNumber.current & 3, table.lookUp(bytes.span, generation: generation, at: now))
                }
                var expected = model[part][number]
                if let known = expected, generation == 2 || known.end < now.millisecondsSince1970 {
                    // An entry that does not hold any more is removed by the look-up.
                    model[part][number] = nil
                    expected = nil
                }
                #expect(found === expected?.content)
                if found == nil { misses += 1 } else { hits += 1 }
            }
            #expect(table.counters.count == model.reduce(0) { $0 + $1.count })
        }
        #expect(table.counters.hits == hits && table.counters.misses == misses)
        #expect(hits > 0 && misses > 0)
    }
}
