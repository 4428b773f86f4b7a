// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CAllocations
import CLimits
import Foundation

/// Rows that are measured in turn. The first row is the limit.
final class Table {
    private let title: String
    /// The clock of the rows, in nanoseconds.
    private let clock: () -> UInt64
    private let rounds: Int
    private let only: String?
    private let json: FileHandle?
    private var rows: [(name: String, count: Int, body: (Int) -> Void)] = []
    /// The names of the rows in order.
    private var order: [String] = []
    /// The nanoseconds of each row in each round.
    private var times: [String: [Double]] = [:]
    private var allocations: [String: Double] = [:]
    private var results: [(name: String, ratio: Double, allocations: Double)] = []

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - title: The subject of the measurement, which is printed above the rows.
    ///   - options: The rounds, and the rows that are wanted.
    ///   - usesSeveralThreads: True to measure the time that passes; false for the processor time, which other programs change
    ///     little.
    init(_ title: String, _ options: HotPath.Options, usesSeveralThreads: Bool = false) {
        self.title = title
        clock = { usesSeveralThreads ? limits_now() : limits_used() }
        rounds = options.rounds
        only = options.only
        json = options.json
    }

    func measure(_ name: String, _ count: Int, _ body: @escaping (Int) -> Void) { rows.append((name, count, body)) }

    /// Measures all rows, one round of each in turn, and prints the results.
    func run() {
        if let only { rows.removeAll { !$0.name.contains(only) } }
        guard !rows.isEmpty else { return }
        for row in rows { row.body(row.count) }
        for _ in 0..<rounds {
            for row in rows {
                let start = clock()
                measured(row.body, row.count)
                add(row.name, Double(clock() - start) / Double(row.count))
            }
        }
        for row in rows {
            let before = limits_allocations()
            row.body(row.count)
            allocations[row.name] = Double(limits_allocations() - before) / Double(row.count)
        }
        report()
    }

    /// Adds the time of a row in the next round.
    func add(_ name: String, _ nanoseconds: Double) {
        if times[name] == nil { order.append(name) }
        times[name, default: []].append(nanoseconds)
    }

    /// Prints the results.
    func report() {
        guard let first = order.first.flatMap({ times[$0] }) else { return }
        print("\n\(title); \(first.count) rounds")
        print(pad("", 46), "      ns   ratio", allocations.isEmpty ? "" : " allocations")
        for name in order {
            let taken = times[name] ?? []
            let row = Row(
                table: title,
                row: name,
                nanoseconds: Spread(taken),
                ratio: Spread(zip(taken, first).map { $0 / $1 }),
                allocations: allocations[name]
            )
            results.append((name, row.ratio.median, row.allocations ?? 0))
            print(
                pad(name, 46),
                pad(fixed(row.nanoseconds.median, 1), -8),
                pad(fixed(row.ratio.median, 4), -7),
                row.allocations.map { pad(fixed($0, 2), -12) } ?? ""
            )
            if let json, let line = try? JSONEncoder().encode(row) { json.write(line + Data("\n".utf8)) }
        }
    }

    /// A row in the form that `bench/report` reads.
    private struct Row: Encodable {
        let table: String
        let row: String
        let nanoseconds: Spread
        let ratio: Spread
        let allocations: Double?
    }

    /// The median and the quartiles of the rounds.
    private struct Spread: Encodable {
        let median: Double
        let low: Double
        let high: Double

        init(_ values: [Double]) {
            let sorted = values.sorted()
            (median, low, high) = (
                sorted[sorted.count / 2], sorted[sorted.count / 4], sorted[sorted.count * 3 / 4]
            )
        }
    }

    /// The result of the first row whose name begins with `name`.
    subscript(name: String) -> (ratio: Double, allocations: Double) {
        results.first { $0.name.hasPrefix(name) }.map { ($0.ratio, $0.allocations) } ?? (.nan, .nan)
    }

    /// Returns messages about the values that exceed their limit or differ from an exact value.
    func faults(
        _ limits: [(name: String, value: Double, limit: Double)],
        exact: [(name: String, value: Double, wanted: Double)]
    ) -> [String] {
        // A selection of rows is not judged.
        guard only == nil else { return [] }
        return limits.filter { !($0.value <= $0.limit) }.map {
            "\($0.name): \($0.value), at most \($0.limit)"
        }
            + exact.filter { !(abs($0.value - $0.wanted) <= 0.01) }.map {
                "\($0.name): \($0.value) expected \($0.wanted); if this is intended, update the expected value"
            }
    }

    @inline(never)
    private func measured(_ body: (Int) -> Void, _ count: Int) { body(count) }

    private func fixed(_ value: Double, _ places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
        let whole = Int((value * scale).rounded())
        let digits = String(whole % Int(scale))
        return "\(whole / Int(scale))." + String(repeating: "0", count: places - digits.count) + digits
    }

    private func pad(_ text: String, _ width: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? spaces + text : text + spaces
    }
}
