// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@testable import GateConfiguration

/// One request, described by every edge in its own words: the decision and the time for which it may be kept are those of the edge
/// check itself, which a plain description gives.
@Suite struct `One request by every edge` {
    /// The number of requests. `PLAYGATE_STEPS` sets another.
    private static let count =
        ProcessInfo.processInfo.environment["PLAYGATE_STEPS"].flatMap { Int($0) } ?? 5_000

    @Test(arguments: 0..<4)
    func `has the same answer`(seed: Int) async throws {
        let sample = try EdgeSample()
        var random = SplitMix64(seed: UInt64(seed))
        var codes: Set<String> = []
        for number in 0..<Self.count {
            let found = await sample.compare(sample.request(&random))
            codes.formUnion(found.codes.values)
            #expect(found.differences.isEmpty, "\(seed) \(number): \(found.differences)")
            if !found.differences.isEmpty { return }
        }
        // The generator reaches what it is for.
        for code in [
            "granted", "start", "within_ttl", "unprotected", "unknown_media", "invalid_path", "token_conflict",
            "edge_request_invalid", "method_not_permitted", "grant_context_missing", "grant_address_mismatch",
            "grant_location_mismatch", "grant_uri_mismatch", "media_token_missing", "untrusted_signature",
        ] {
            #expect(codes.contains(code), "\(code)")
        }
    }

    @Test func `has the code of its row`() async throws {
        let sample = try EdgeSample()
        let rows = try SameRow.all(sample)
        #expect(rows.count >= 300)
        for row in rows {
            let found = await sample.compare(row.request)
            #expect(found.differences.isEmpty, "\(row.request): \(found.differences)")
            #expect(found.codes[.resolving] == row.codes.resolving, "\(row.request)")
            #expect(found.codes[.stating] == row.codes.asIs, "\(row.request)")
        }
    }

    /// The lines of the corpora that have targets, each with a grant, and with a token too.
    @Test(arguments: ["path", "uri", "target", "shown", "pattern", "signed", "embedded", "http"])
    func `has the same answer for what fuzzers found`(corpus: String) async throws {
        let sample = try EdgeSample()
        let folder = "\(repository)/fuzz/corpus/\(corpus)"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        var count = 0
        for file in files {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
            let text = String(decoding: data, as: UTF8.self)
            for line in text.split(whereSeparator: { $0.isNewline }) {
                // The request line of HTTP, or the target alone.
                let words = line.split(separator: " ", maxSplits: 2)
                let isHTTP = words.count == 3 && words[2].hasPrefix("HTTP/")
                for request in try sample.requests(isHTTP ? words[1] : line) {
                    let found = await sample.compare(request)
                    #expect(found.differences.isEmpty, "\(file): \(found.differences)")
                    count += 1
                }
            }
        }
        #expect(count >= 2 * files.count, "\(count)")
    }

    /// The cache of answers says what the check says: the same sequences as for the cache of the C interface, AnswerCacheModelTests.
    /// The edges whose targets are not in a field have no such answers.
    @Test(arguments: [EdgeDialect.forward, .nginx, .spoe])
    func `has the same answer if an earlier one is repeated`(dialect: EdgeDialect) async throws {
        let sample = try EdgeSample(hasGlob: false)
        var repeats = 0
        for seed in 0..<2 {
            var requests = PlayerRequests(seed: UInt64(seed), folder: "/film/tnt/")
            for number in 0..<5000 {
                let next = requests.next()
                sample.clock.now = next.time
                let request = try sample.request(next)
                guard let repeated = await sample.repeatedAnswer(request, by: dialect),
                    let decided = await sample.answer(request, by: dialect)
                else { continue }
                #expect(repeated.0 == decided, "\(seed) \(number) \(repeated.isRepeated): \(next)")
                if repeated.0 != decided { return }
                if repeated.isRepeated { repeats += 1 }
            }
        }
        #expect(repeats > 100, "\(repeats)")
    }
}
