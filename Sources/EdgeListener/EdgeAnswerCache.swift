// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
internal import Encodings
package import GateConfiguration
package import HTTPServer
internal import MediaTokens
package import Platform
package import PlaybackGate
internal import RequestTargets
package import SharedGrants
internal import Synchronization

/// The answers to edges by which a grant or a media token opens a folder. A player that fetches one segment after
/// another sends the same head, except for the name of the file and `traceparent`.
///
/// An answer is found if the rest of the head has the same bytes. It is cached if it was decided by a media token
/// within its life. It is also cached if it was decided by a grant without restrictions to single files or single
/// clients. In both cases the catalogue must have no entry for single files of the folder. It is valid until the grant
/// ends or is renewed, a revocation is recorded that may concern it, or the token or its key expires. Each snapshot of
/// the gate has a cache of its own.
package final class EdgeAnswerCache: Sendable {
    private let table: TokenTable
    private let attempts = Atomic<Int>(0)
    private let hits = Atomic<Int>(0)
    /// The first attempt for which answers are looked up again.
    private let resumption = Atomic<Int>(0)

    /// The number of attempts after which the benefit of look-ups is measured: enough to fill the cache and find the
    /// answers again.
    private let period: Int
    /// The length of the pause if it is not, in periods.
    private static let pause = 4

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: The largest number of answers; at least 8. Each uses the size of its head and about a KiB.
    package init(capacity: Int) {
        // The threads divide the capacity, since an answer needs several KiB. A check without a cached answer finds its
        // grant in a cache too.
        table = TokenTable(capacity: capacity / TokenTable.parts())
        period = max(4096, 4 * capacity)
    }

    /// An answer, and its condition.
    package final class Answer: Sendable {
        package let answer: EdgeAnswer
        /// The variables that HAProxy requested; all for other edges.
        package let variables: SPOEVariables
        /// The answer as it is written: the actions for HAProxy's offload, a head for other edges.
        package let written: Written
        /// The revision of the gate before the decision.
        package let revision: UInt64
        /// The holder of the grant, if requests for segments are counted.
        package let holder: GrantHolder?
        /// The number of the edge that counts its requests by itself; `nil` for none.
        package let observer: UInt64?
        /// True if the request was for a range of bytes.
        package let isPartial: Bool

        package var decision: Decision { answer.decision }

        /// Creates an answer.
        ///
        /// - Parameters:
        ///   - fields: The header fields of the check, and the arguments of HAProxy's.
        ///   - holder: The holder of the grant, if requests for segments are counted.
        ///   - observer: The number of the edge that counts its requests by itself; `nil` for none.
        ///   - isPartial: True if the request was for a range of bytes.
        package init(
            _ answer: EdgeAnswer,
            dialect: EdgeDialect,
            fields: HTTPFields,
            revision: UInt64,
            holder: GrantHolder? = nil,
            observer: UInt64? = nil,
            isPartial: Bool = false
        ) {
            self.answer = answer
            (self.holder, self.observer, self.isPartial) = (holder, observer, isPartial)
            let isOffload = dialect == .spoe
            variables = isOffload ? SPOEVariables(in: fields) : .all
            written = isOffload ? SPOEActions(answer, variables: variables).written : answer.written
            self.revision = revision
        }
    }

    /// An answer as it is written, except for the number of its trace.
    package struct Written {
        package let start: [UInt8]
        /// True if the number of the trace follows.
        let hasTrace: Bool
        package let end: [UInt8]

        /// The number of bytes, including those of the trace number.
        package var size: Int { start.count + (hasTrace ? 32 : 0) + end.count }
    }

    /// A look-up that found nothing: the answer to the check may be cached.
    package struct Miss {
        package let cache: EdgeAnswerCache
        package let key: Key
        package let revision: UInt64
    }

    /// The parts of a head that may differ: the name of the file, and the number of the trace.
    package struct Key {
        fileprivate let gaps: HeadGaps
        /// The path of the request.
        package let path: Substring
        package let traceparent: Substring?
    }

    /// The number of answers that were found.
    package var found: Int { table.counters.hits }

    /// Returns the answer to a check; `nil` if there is none, or if the decision may have changed.
    ///
    /// - Parameter isGood: Returns false for an answer that may have become another one.
    package func find(for key: Key, fields: HTTPFields, at now: Timestamp, where isGood: (Answer) -> Bool) -> Answer? {
        guard isWorthIt else { return nil }
        var answer: Answer?
        fields.withHead(without: key.gaps) { answer = table.lookUp($0, generation: 0, at: now) as? Answer }
        guard let answer, isGood(answer) else { return nil }
        hits.add(1, ordering: .relaxed)
        return answer
    }

    /// Stores an answer.
    ///
    /// - Parameters:
    ///   - life: The times of checks for which it is valid.
    ///   - answer: Makes the answer. It is not called if no answer can be stored.
    package func store(for key: Key, fields: HTTPFields, life: ClosedRange<Timestamp>, answer: () -> Answer) {
        guard attempts.load(ordering: .relaxed) >= resumption.load(ordering: .relaxed) else { return }
        fields.withHead(without: key.gaps) { table.insert($0, value: answer(), generation: 0, life: life) }
    }

    /// False for a time if few answers were found. An edge that adds a number of its own to each check would fill the
    /// cache in vain.
    private var isWorthIt: Bool {
        let number = attempts.add(1, ordering: .relaxed).newValue
        if number.isMultiple(of: period) {
            let count = hits.exchange(0, ordering: .relaxed)
            let isPaused = number < resumption.load(ordering: .relaxed)
            if !isPaused, count < period / 8 { resumption.store(number + Self.pause * period, ordering: .relaxed) }
        }
        return number >= resumption.load(ordering: .relaxed)
    }
}

extension EdgeAnswerCache.Key {
    /// Finds the parts of a head that may differ; `nil` if they cannot be separated, such as a file name that is not
    /// plain.
    package init?(_ fields: HTTPFields, dialect: EdgeDialect, sources: TokenSources) {
        guard let wanted = dialect.row.target, !sources.areInTraceparent else { return nil }
        var (target, trace, key): (Int?, Int?, Int?)
        for index in fields.indices {
            if fields.isField(index, named: wanted) {
                guard target == nil else { return nil }
                target = index
            } else if fields.isField(index, named: "traceparent") {
                guard trace == nil else { return nil }
                trace = index
            } else if let own = dialect.row.cacheKey, fields.isField(index, named: own) {
                guard key == nil else { return nil }
                key = index
            }
        }
        var gaps = HeadGaps()
        guard let target, let (folder, end) = fields.value(target).plainFile(sources.targetNames.segments),
            gaps.add(fields.valueRange(target).part(from: folder, to: end))
        else { return nil }
        let text = fields.value(target)
        if let key {
            guard let start = fields.value(key).positionOfTarget(text),
                gaps.add(fields.valueRange(key).part(from: start + folder, to: start + end))
            else { return nil }
        }
        if let trace, !gaps.add(fields.valueRange(trace)) { return nil }
        self.gaps = gaps
        path = text[..<text.utf8.index(text.startIndex, offsetBy: end)]
        traceparent = trace.map(fields.value)
    }
}

extension Range<Int> {
    /// Returns the range of a part of the content at this range.
    fileprivate func part(from start: Int, to end: Int) -> Self { lowerBound + start..<lowerBound + end }
}

extension Substring {
    /// The range of the file's name in a target. The name has letters, digits, `-`, `_`, `.` and `~`, and does not
    /// begin with a full stop. `nil` for another name, or if it begins as a segment with a token.
    fileprivate func plainFile(_ segments: [String]) -> (start: Int, end: Int)? {
        let bytes = utf8.span
        let end = bytes.firstIndex(of: UInt8(ascii: "?"), from: 0) ?? bytes.count
        var start = end
        while start > 0, bytes[start - 1] != UInt8(ascii: "/") {
            guard bytes[start - 1].isUnreserved else { return nil }
            start -= 1
        }
        guard start > 0, start < end, bytes[start] != UInt8(ascii: ".") else { return nil }
        let name = bytes.extracting(start..<end)
        return segments.contains { name.hasPrefix($0.utf8.span) } ? nil : (start, end)
    }

    /// The position of a target in a key of nginx's, `METHOD HOST/TARGET`.
    fileprivate func positionOfTarget(_ target: Substring) -> Int? {
        let bytes = utf8.span
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/"), from: 0),
            bytes.extracting(slash...).hasPrefix(target.utf8.span)
        else { return nil }
        return slash
    }
}
