// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import GateTestSupport
import Platform
import Testing

@testable import PlaybackGate
@testable import ReplayStores

@Suite struct `The table of revocations` {
    private static func entry(_ number: Int64, kind: Revocation.Kind? = .token) -> RevocationTable.Entry {
        let time = Timestamp(millisecondsSince1970: number)
        return RevocationTable.Entry(kind: kind, issuedBefore: time, kept: Timestamp(secondsSince1970: number))
    }

    /// The ids of playbacks are chosen by callers of the API: equal halves must not matter.
    @Test(arguments: ["digests", "one high half", "one low half", "small numbers"])
    func `has what a dictionary has`(tags: String) {
        var random = SplitMix64(seed: 17)
        let all = (0..<600).map { number in
            let next = random.next()
            return switch tags {
            case "digests": SubjectTag(high: next, low: random.next())
            case "one high half": SubjectTag(high: 7, low: next)
            case "one low half": SubjectTag(high: next, low: 7)
            default: SubjectTag(high: 0, low: UInt64(number))
            }
        }
        var (table, model) = (RevocationTable(seed: random.next()), [SubjectTag: Int64]())
        for step in 0..<20_000 {
            let tag = all[Int(random.next() % UInt64(all.count))]
            switch random.next() % 100 {
            case 0:
                let limit = Int64(random.next() % 20_000)
                let removed = table.remove { $0.kept.millisecondsSince1970 < limit * 1000 }
                let before = model.count
                model = model.filter { $0.value >= limit }
                #expect(removed == before - model.count)
            case 1..<50:
                table.set(Self.entry(Int64(step)), for: tag)
                model[tag] = Int64(step)
            default:
                let found = table.issuedBefore(high: tag.high, low: tag.low)?.millisecondsSince1970
                #expect(found == model[tag])
            }
            #expect(table.count == model.count)
        }
        #expect(Set(table.tags) == Set(model.keys) && table.tags.count == model.count)
        for (tag, number) in model { #expect(table[tag]?.issuedBefore.millisecondsSince1970 == number) }
    }

    @Test func `holds all facts, and never forgets early`() {
        var table = RevocationTable(seed: 0)
        #expect(table[SubjectTag(high: 0, low: 0)] == nil && table.issuedBefore(high: 0, low: 0) == nil)
        for (number, kind) in ([nil] + Revocation.Kind.allCases.map { $0 }).enumerated() {
            let tag = SubjectTag(high: UInt64(number), low: 0)
            for kept in [Int64.min, -1, 0, 1, 999, 1001, 1_925_114_645_001, .max] {
                let entry = RevocationTable.Entry(
                    kind: kind,
                    issuedBefore: Timestamp(millisecondsSince1970: .max),
                    kept: Timestamp(millisecondsSince1970: kept)
                )
                table.set(entry, for: tag)
                let found = table[tag]
                #expect(found?.kind == kind && found?.issuedBefore.millisecondsSince1970 == .max)
                let end = found?.kept.millisecondsSince1970 ?? .min
                // A number of seconds has room for times up to the year 2106.
                #expect(
                    end >= min(kept, 4_294_967_295_000)
                        && end <= max(kept, 0).addingReportingOverflow(1000).partialValue || kept == .max
                )
            }
        }
        #expect(table.count == 5)
    }
}
