// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits

/// Things measured in turn, the first of which is the limit.
final class Table {
    private let title: String
    private let rounds: Int
    private var rows: [(name: String, count: Int, body: (Int) -> Void)] = []
    private var results: [(name: String, ratio: Double, allocations: Double)] = []

    /// - Parameter title: What is measured; it is printed above.
    init(_ title: String, _ options: HotPath.Options) {
        self.title = title
        rounds = options.rounds
        only = options.only
    }

    private let only: String?

    func measure(_ name: String, _ count: Int, _ body: @escaping (Int) -> Void) { rows.append((name, count, body)) }

    func run() {
        var times = [[Double]](repeating: [], count: rows.count)
        var ratios = times
        if let only { rows.removeAll { !$0.name.contains(only) } }
        guard !rows.isEmpty else { return }
        print("\n\(title); \(rounds) rounds")
        for row in rows { row.body(row.count) }
        for _ in 0..<rounds {
            var limit = 0.0
            for (index, row) in rows.enumerated() {
                let start = limits_now()
                measured(row.body, row.count)
                let time = Double(limits_now() - start) / Double(row.count)
                if index == 0 { limit = time }
                times[index].append(time)
                ratios[index].append(time / limit)
            }
        }
        print(pad("", 46), "      ns   ratio  allocations")
        for (index, row) in rows.enumerated() {
            let before = limits_allocations()
            row.body(row.count)
            let allocations = Double(limits_allocations() - before) / Double(row.count)
            results.append((row.name, median(ratios[index]), allocations))
            print(
                pad(row.name, 46),
                pad(fixed(median(times[index]), 1), -8),
                pad(fixed(median(ratios[index]), 4), -7),
                pad(fixed(allocations, 2), -12)
            )
        }
    }

    /// What the first row whose name begins with `name` gave.
    subscript(name: String) -> (ratio: Double, allocations: Double) {
        results.first { $0.name.hasPrefix(name) }.map { ($0.ratio, $0.allocations) } ?? (.infinity, .infinity)
    }

    /// What is above its limit, in words.
    func faults(_ limits: [(name: String, value: Double, limit: Double)]) -> [String] {
        // Rows that were left out give no figure.
        limits.filter { $0.value > $0.limit && $0.value.isFinite }.map {
            "\($0.name): \(fixed($0.value, 3)), at most \(fixed($0.limit, 3))"
        }
    }

    @inline(never)
    private func measured(_ body: (Int) -> Void, _ count: Int) { body(count) }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

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
