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

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - title: The subject of the measurement, which is printed above the rows.
    ///   - options: The rounds, and the rows that are wanted.
    ///   - usesSeveralThreads: True to measure the time that passes; false for the processor time, which other programs change
    ///     little.
    init(_ title: String, options: HotPath.Options, usesSeveralThreads: Bool = false) {
        self.title = title
        clock = { usesSeveralThreads ? limits_now() : limits_used() }
        rounds = options.rounds
        only = options.only
        json = options.json
    }

    func measure(_ name: String, count: Int, body: @escaping (Int) -> Void) { rows.append((name, count, body)) }

    /// Measures all rows, one round of each in turn, and prints the results. Without rounds, only allocations are counted.
    func run() {
        if let only { rows.removeAll { !$0.name.contains(only) } }
        guard !rows.isEmpty else { return }
        for row in rows { row.body(row.count) }
        for _ in 0..<rounds {
            for row in rows {
                let start = clock()
                run(row.body, count: row.count)
                add(row.name, nanoseconds: Double(clock() - start) / Double(row.count))
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
    func add(_ name: String, nanoseconds: Double) {
        if times[name] == nil { order.append(name) }
        times[name, default: []].append(nanoseconds)
    }

    /// Prints the results.
    func report() {
        guard let first = order.first.flatMap({ times[$0] }) else { return reportAllocations() }
        print("\n\(title); \(first.count) rounds")
        print(pad("", to: 46), "      ns   ratio", allocations.isEmpty ? "" : " allocations")
        for name in order {
            let taken = times[name] ?? []
            let row = Row(
                table: title,
                row: name,
                nanoseconds: Spread(taken),
                ratio: Spread(zip(taken, first).map { $0 / $1 }),
                allocations: allocations[name]
            )
            print(
                pad(name, to: 46),
                pad(fixed(row.nanoseconds.median, digits: 1), to: -8),
                pad(fixed(row.ratio.median, digits: 4), to: -7),
                row.allocations.map { pad(fixed($0, digits: 2), to: -12) } ?? ""
            )
            if let json, let line = try? JSONEncoder().encode(row) { json.write(line + Data("\n".utf8)) }
        }
    }

    private func reportAllocations() {
        print("\n\(title); allocations")
        for row in rows { print(pad(row.name, to: 46), pad(fixed(allocations[row.name] ?? 0, digits: 2), to: -12)) }
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

    /// The heap allocations of the first row whose name begins with `name`.
    subscript(name: String) -> Double {
        rows.first { $0.name.hasPrefix(name) }.flatMap { allocations[$0.name] } ?? .nan
    }

    /// Returns messages about the numbers of allocations that are not the recorded ones.
    func faults(_ counts: [(name: String, value: Double, recorded: Double)]) -> [String] {
        // A selection of rows is not judged.
        guard only == nil else { return [] }
        return counts.filter { !(abs($0.value - $0.recorded) <= 0.01) }.map {
            "allocations of \($0.name): \($0.value), recorded \($0.recorded); if this is intended, record the new count"
        }
    }

    @inline(never)
    private func run(_ body: (Int) -> Void, count: Int) { body(count) }

    private func fixed(_ value: Double, digits decimals: Int) -> String {
        let scale = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
        let whole = Int((value * scale).rounded())
        let digits = String(whole % Int(scale))
        return "\(whole / Int(scale))." + String(repeating: "0", count: decimals - digits.count) + digits
    }

    private func pad(_ text: String, to width: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? spaces + text : text + spaces
    }
}
