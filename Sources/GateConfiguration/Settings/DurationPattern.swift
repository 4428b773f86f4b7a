// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Platform

/// The regular expression of the texts of durations in a range, as a JSON Schema needs it.
///
/// Source: ECMA-262, as JSON Schema's `pattern` uses it.
struct DurationPattern {
    private let range: ClosedRange<Int64>

    /// - Parameter range: The permitted durations.
    init(_ range: ClosedRange<Duration>) { self.range = range.lowerBound.milliseconds...range.upperBound.milliseconds }

    /// The expression, which matches a whole text.
    var text: String {
        let units = [("ms", Int64(1)), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]
        let parts = units.compactMap { unit, factor -> String? in
            let (first, last) = ((range.lowerBound + factor - 1) / factor, range.upperBound / factor)
            guard first <= last else { return nil }
            return "0*(\(Self.numbers(first...last).joined(separator: "|")))\(unit)"
        }
        return "^(\(parts.joined(separator: "|")))$"
    }

    /// Expressions of the decimal digits of the numbers of a range: one for each part whose numbers differ in their last
    /// digits only.
    private static func numbers(_ range: ClosedRange<Int64>) -> [String] {
        var ends: Set<Int64> = [range.upperBound]
        var power: Int64 = 10
        while true {
            let end = range.lowerBound / power * power + power - 1
            guard end < range.upperBound else { break }
            ends.insert(end)
            power *= 10
        }
        power = 10
        while true {
            let end = (range.upperBound + 1) / power * power - 1
            guard end > range.lowerBound else { break }
            ends.insert(end)
            power *= 10
        }
        var start = range.lowerBound
        return ends.sorted().map { end in
            defer { start = end + 1 }
            return digits(from: start, to: end)
        }
    }

    private static func digits(from start: Int64, to end: Int64) -> String {
        zip(String(start), String(end)).map { first, last in
            first == last ? "\(first)" : "[\(first)-\(last)]"
        }.joined()
    }
}
