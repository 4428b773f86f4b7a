// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import Histogram

/// Latencies and memory over time, one line every few seconds.
struct Report {
    private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .three)
    /// The latencies of the whole phase.
    private var whole = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
    private let watched: [Watched]
    private let every: UInt64
    private var phase = ""
    private var started = limits_now()
    private var lineStarted = limits_now()
    /// The memory of each process at the end of each line of the last phase.
    private var memories: [[Int]]
    private var lines = 0
    private var busyBefore = 0.0
    private let json: FileHandle?

    init(_ watched: [Watched], every: Int, json: String?) throws {
        self.watched = watched
        self.every = UInt64(every) * 1_000_000_000
        memories = [[Int]](repeating: [], count: watched.count)
        if let json {
            guard FileManager.default.createFile(atPath: json, contents: nil) else {
                throw LoadError("\(json) cannot be written")
            }
            self.json = FileHandle(forWritingAtPath: json)
        } else {
            self.json = nil
        }
        histogram.autoResize = true
        whole.autoResize = true
    }

    /// Starts a phase and prints the table head.
    mutating func title(_ text: String) {
        phase = text
        (started, lineStarted) = (limits_now(), limits_now())
        histogram.reset()
        whole.reset()
        lines = 0
        busyBefore = watched.reduce(0) { $0 + $1.processorSeconds }
        memories = memories.map { _ in [] }
        print("\n\(text)")
        print(
            "     s  answers/s      p50      p90      p99    p99.9   max ms      core      MB:",
            watched.map(\.name).joined(separator: " ")
        )
    }

    /// Records the latency of an answer in nanoseconds.
    mutating func record(_ nanoseconds: UInt64) {
        histogram.record(nanoseconds / 1000)
        whole.record(nanoseconds / 1000)
        if limits_now() - lineStarted >= every { line() }
    }

    /// Ends a phase. Prints a line for the whole phase if it has several lines.
    mutating func end() {
        if histogram.totalCount > 0 { line() }
        guard lines > 1 else { return }
        let seconds = Double(limits_now() - started) / 1e9
        write(
            phase + ", whole",
            after: seconds,
            answers: Double(whole.totalCount) / seconds,
            milliseconds: Self.figures(whole),
            use: nil
        )
    }

    private mutating func line() {
        let now = limits_now()
        let seconds = Double(now - lineStarted) / 1e9
        // A short last interval is not significant.
        guard seconds >= min(2, Double(every) / 2e9) else { return }
        let memory = watched.map(\.memory)
        for (index, bytes) in memory.enumerated() { memories[index].append(bytes) }
        let busy = watched.reduce(0) { $0 + $1.processorSeconds }
        let share = (busy - busyBefore) / seconds
        write(
            phase,
            after: Double(now - started) / 1e9,
            answers: Double(histogram.totalCount) / seconds,
            milliseconds: Self.figures(histogram),
            use: (share, memory)
        )
        histogram.reset()
        lines += 1
        (lineStarted, busyBefore) = (now, busy)
    }

    /// Returns the percentiles in milliseconds.
    private static func figures(_ histogram: Histogram<some FixedWidthInteger>) -> [Double] {
        [50, 90, 99, 99.9].map { Double(histogram.valueAtPercentile($0)) / 1000 } + [Double(histogram.max) / 1000]
    }

    private func write(
        _ phase: String,
        after seconds: Double,
        answers: Double,
        milliseconds: [Double],
        use: (core: Double, memory: [Int])?
    ) {
        print(
            String(format: "%6.0f %10.0f", seconds, answers),
            milliseconds.map { String(format: "%8.2f", $0) }.joined(separator: " "),
            use.map { String(format: "%8.0f %%     ", $0.core * 100) } ?? "",
            (use?.memory ?? []).map { String(format: "%.1f", Double($0) / 1e6) }.joined(separator: " ")
        )
        fflush(nil)
        let row = Row(
            server: watched.first?.name ?? "",
            phase: phase,
            seconds: seconds,
            answers: answers,
            milliseconds: milliseconds,
            core: use?.core,
            memory: use.map { Dictionary(zip(watched.map(\.name), $0.memory)) { first, _ in first } }
        )
        if let json, let text = try? JSONEncoder().encode(row) { json.write(text + Data("\n".utf8)) }
    }

    private struct Row: Encodable {
        /// The first process that is watched.
        let server: String
        let phase: String
        let seconds: Double
        let answers: Double
        /// The 50th, 90th, 99th and 99.9th percentile, and the maximum.
        let milliseconds: [Double]
        /// The fraction of a core that the watched processes used.
        let core: Double?
        let memory: [String: Int]?
    }

    /// The processes whose memory grew in the last phase, comparing its last quarter with its second, when memory has
    /// settled. `nil` if the phase is too short.
    var growths: [String]? {
        guard let lines = memories.first?.count, lines >= 12 else { return nil }
        let quarter = lines / 4
        return zip(watched, memories).compactMap { process, memory in
            let early = memory[quarter..<(2 * quarter)].sorted()[quarter / 2]
            let late = memory.suffix(quarter).sorted()[quarter / 2]
            guard Double(late) > Double(early) * 1.02 + 2e6 else { return nil }
            return "\(process.name) has grown from \(early / 1000) to \(late / 1000) kB"
        }
    }
}
