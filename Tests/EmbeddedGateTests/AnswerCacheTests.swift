// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import GateTestSupport
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

@Suite("The answer cache")
struct AnswerCacheTests {
    /// A cache, and the requests of the tests, each with the answer that is stored under it.
    private final class Sample {
        let cache: OpaquePointer
        let memory = SliceMemory()
        let counters = UnsafeMutablePointer<playgate_answer_cache_counters>.allocate(capacity: 1)

        init(entries: Int = 64, size: Int = 0) throws {
            counters.initialize(to: playgate_answer_cache_counters())
            cache = try #require(playgate_answer_cache_create(entries, size, counters))
        }

        deinit {
            playgate_answer_cache_free(cache)
            counters.deallocate()
        }

        func request(_ target: String, grant: String = "g", method: String = "GET", now: Int64 = 10) -> playgate_request
        {
            var request = playgate_request()
            request.size = UInt32(MemoryLayout<playgate_request>.size)
            request.now = now
            request.method = memory.slice(method)
            request.target = memory.slice(target)
            request.host = memory.slice("cdn.example")
            (request.grants, request.grant_count) = (memory.list(memory.slice(grant)), 1)
            return request
        }

        func store(
            _ request: playgate_request,
            scope: Int,
            until: Int64 = 20,
            change: (inout playgate_answer) -> Void = { _ in }
        ) {
            var answer = playgate_answer()
            answer.size = UInt32(MemoryLayout<playgate_answer>.size)
            answer.outcome = Int32(PLAYGATE_ALLOW)
            answer.code = 6
            answer.status = 200
            answer.scope = Int32(scope)
            answer.good_until = until
            answer.generation = 1
            answer.session = memory.slice("0123456789abcdef0123456789abcdef")
            change(&answer)
            var request = request
            playgate_answer_cache_keep(cache, 0, &request, &answer)
        }

        func finds(_ request: playgate_request, generation: UInt64 = 1, location: UInt64 = 0) -> Bool {
            var (request, buffer) = (request, [CChar](repeating: 0, count: 512))
            return buffer.withUnsafeMutableBufferPointer { buffer in
                var answer = playgate_answer()
                answer.size = UInt32(MemoryLayout<playgate_answer>.size)
                (answer.buffer, answer.capacity) = (buffer.baseAddress, buffer.count)
                guard playgate_answer_cache_find(cache, location, generation, &request, &answer) == 1 else {
                    return false
                }
                #expect(answer.outcome == PLAYGATE_ALLOW)
                #expect(answer.session.string == "0123456789abcdef0123456789abcdef")
                #expect(answer.trace.length == 32)
                return true
            }
        }
    }

    @Test("A clock that was set back finds no answer of a later time")
    func clock() throws {
        let sample = try Sample()
        sample.store(sample.request("/live/tnt/1.ts", now: 10), scope: Int(PLAYGATE_SCOPE_FOLDER))
        for (now, isFound) in [(9, false), (10, true), (20, true), (21, false), (0, false)] as [(Int64, Bool)] {
            #expect(sample.finds(sample.request("/live/tnt/2.ts", now: now)) == isFound, "\(now)")
        }
    }

    @Test("An answer is found for its folder alone, in plain spelling")
    func folders() throws {
        let sample = try Sample()
        sample.store(sample.request("/live/tnt/1.ts"), scope: Int(PLAYGATE_SCOPE_FOLDER))
        for target in ["/live/tnt/2.ts", "/live/tnt/2.ts?x=%20", "/live/tnt/"] {
            #expect(sample.finds(sample.request(target)), "\(target)")
        }
        for target in [
            "/live/tnt/a/2.ts", "/live/2.ts", "/live/tnt", "/live/tnt/.hidden", "/live/tnt/..", "/live/tnt/2.ts;a",
            "/live/tnt/%2e", "/live/tnt/2.ts?a b", "/live/tnt/2.ts#a", "/live/tnt/\u{E9}", "",
        ] {
            #expect(!sample.finds(sample.request(target)), "\(target)")
        }
        #expect(!sample.finds(sample.request("/live/tnt/1.ts", grant: "h")))
        #expect(!sample.finds(sample.request("/live/tnt/1.ts", method: "PUT")))
        #expect(!sample.finds(sample.request("/live/tnt/1.ts"), generation: 2))
        #expect(!sample.finds(sample.request("/live/tnt/1.ts"), location: 2))
        #expect(sample.finds(sample.request("/live/tnt/1.ts", now: 20)))
        #expect(!sample.finds(sample.request("/live/tnt/1.ts", now: 21)))
        #expect(sample.counters.pointee.hits == 4)
        #expect(sample.counters.pointee.stored == 1)
    }

    @Test("An answer for a target is found for that target alone")
    func targets() throws {
        let sample = try Sample()
        sample.store(sample.request("/live/%20/1.ts?a"), scope: Int(PLAYGATE_SCOPE_TARGET))
        #expect(sample.finds(sample.request("/live/%20/1.ts?a")))
        #expect(!sample.finds(sample.request("/live/%20/1.ts")))
        #expect(!sample.finds(sample.request("/live/%20/1.ts?b")))
    }

    @Test("As many answers are kept as fit, in whatever order they come")
    func manyViewers() throws {
        let sample = try Sample(entries: 16_384, size: 512)
        let requests = (0..<10_000).map { sample.request("/live/tnt/1.ts", grant: "viewer \($0)") }
        for request in requests { sample.store(request, scope: Int(PLAYGATE_SCOPE_FOLDER)) }
        // In sets that depend on the hash alone, one viewer of twenty would find no room.
        #expect(requests.count { sample.finds($0) } >= 9990)
    }

    @Test("What must not be kept is not")
    func refusals() throws {
        let sample = try Sample()
        let request = sample.request("/live/tnt/1.ts")
        let changes: [(inout playgate_answer) -> Void] = [
            { $0.outcome = Int32(PLAYGATE_REFUSE) }, { $0.outcome = Int32(PLAYGATE_ASK) }, { $0.good_until = 0 },
            { $0.good_until = 9 }, { $0.generation = 0 }, { $0.grant = sample.memory.slice("new") },
            { $0.flags = UInt32(PLAYGATE_ANSWER_TRUNCATED) }, { $0.scope = Int32(PLAYGATE_SCOPE_NONE) },
        ]
        for change in changes {
            sample.store(request, scope: Int(PLAYGATE_SCOPE_FOLDER), change: change)
            #expect(!sample.finds(request))
        }
        #expect(sample.counters.pointee.stored == 0)
        let large = sample.request("/live/tnt/1.ts", grant: String(repeating: "g", count: 4000))
        sample.store(large, scope: Int(PLAYGATE_SCOPE_FOLDER))
        #expect(!sample.finds(large))
        #expect(sample.counters.pointee.rejected == 1)
    }

    @Test("A full cache keeps what is asked for, and forgets the rest")
    func bounds() throws {
        let sample = try Sample(entries: 64)
        let first = sample.request("/live/tnt/1.ts", grant: "first")
        sample.store(first, scope: Int(PLAYGATE_SCOPE_FOLDER))
        for number in 0..<10_000 {
            let other = sample.request("/live/tnt/1.ts", grant: "grant-\(number)")
            sample.store(other, scope: Int(PLAYGATE_SCOPE_FOLDER))
            #expect(sample.finds(other))
            #expect(sample.finds(first))
        }
    }
}
