// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import Histogram

/// Latencies and memory over time: a line for every few seconds.
struct Report {
    private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .three)
    private let watched: [Watched]
    private let every: UInt64
    private var phase = ""
    private var started = limits_now()
    private var lineStarted = limits_now()
    /// The memory of each process at the end of each line of the last phase.
    private var memories: [[Int]]
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
    }

    /// Begins a phase.
    mutating func title(_ text: String) {
        phase = text
        (started, lineStarted) = (limits_now(), limits_now())
        histogram.reset()
        memories = memories.map { _ in [] }
        print("\n\(text)")
        print(
            "     s  answers/s      p50      p90      p99    p99.9      max ms   MB:",
            watched.map(\.name).joined(separator: " ")
        )
    }

    /// Takes the nanoseconds of an answer.
    mutating func take(_ nanoseconds: UInt64) {
        histogram.record(nanoseconds / 1000)
        if limits_now() - lineStarted >= every { line() }
    }

    /// Ends a phase.
    mutating func end() { if histogram.totalCount > 0 { line() } }

    private mutating func line() {
        let now = limits_now()
        let seconds = Double(now - lineStarted) / 1e9
        // A rest of a line says little.
        guard seconds >= min(2, Double(every) / 2e9) else { return }
        let milliseconds =
            [50, 90, 99, 99.9].map { Double(histogram.valueAtPercentile($0)) / 1000 }
            + [Double(histogram.max) / 1000]
        let answers = Double(histogram.totalCount) / seconds
        let memory = watched.map(\.memory)
        for (place, bytes) in memory.enumerated() { memories[place].append(bytes) }
        print(
            String(format: "%6.0f %10.0f", Double(now - started) / 1e9, answers),
            milliseconds.map { String(format: "%8.2f", $0) }.joined(separator: " "),
            "     ",
            memory.map { String(format: "%.1f", Double($0) / 1e6) }.joined(separator: " ")
        )
        fflush(nil)
        let row = Row(
            phase: phase,
            seconds: Double(now - started) / 1e9,
            answers: answers,
            milliseconds: milliseconds,
            memory: Dictionary(zip(watched.map(\.name), memory)) { first, _ in first }
        )
        if let json, let text = try? JSONEncoder().encode(row) { json.write(text + Data("\n".utf8)) }
        histogram.reset()
        lineStarted = now
    }

    private struct Row: Encodable {
        let phase: String
        let seconds: Double
        let answers: Double
        /// The 50th, 90th, 99th and 99.9th percentile, and the longest.
        let milliseconds: [Double]
        let memory: [String: Int]
    }

    /// The processes whose memory grew in the last phase: its last quarter beside its second one, when all had settled.
    var growths: [String] {
        zip(watched, memories).compactMap { process, memory in
            guard memory.count >= 8 else { return nil }
            let quarter = memory.count / 4
            let early = memory[quarter..<(2 * quarter)].sorted()[quarter / 2]
            let late = memory.suffix(quarter).sorted()[quarter / 2]
            guard Double(late) > Double(early) * 1.05 + 4e6 else { return nil }
            return "\(process.name) has grown from \(early / 1000) to \(late / 1000) kB"
        }
    }
}
