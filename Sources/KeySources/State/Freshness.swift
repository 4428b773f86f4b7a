// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform

/// The time for which a set is fresh, by the header fields of an answer (RFC 9111 §4.2 and §5.2), within bounds.
enum Freshness {
    /// The bounds in milliseconds: 5 min and 24 h.
    static let bounds: ClosedRange<Int64> = 300_000...86_400_000
    /// The time in milliseconds if the answer says nothing: 10 min.
    static let usual: Int64 = 600_000

    /// Returns the freshness in milliseconds.
    static func milliseconds(_ response: KeySetResponse) -> Int64 {
        guard let reported = reported(response) else { return usual }
        return min(max(reported, bounds.lowerBound), bounds.upperBound)
    }

    private static func reported(_ response: KeySetResponse) -> Int64? {
        var ages: [Int64] = []
        for directive in response.values("cache-control").flatMap({ $0.split(separator: ",") }) {
            let parts = directive.split(separator: "=", maxSplits: 1).map { part in
                part.lowercased().filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            }
            switch parts.first {
            case "no-store", "no-cache": return 0
            case "max-age": ages.append(parts.count == 2 ? seconds(parts[1]) ?? 0 : 0)
            default: continue
            }
        }
        let age = response.values("age").first.flatMap { seconds($0) } ?? 0
        if let shortest = ages.min() { return (shortest - age) * 1000 }
        guard let expires = response.values("expires").first else { return nil }
        // An Expires that is no date is in the past (RFC 9111 §5.3).
        guard let end = Timestamp(httpDate: expires), let date = response.values("date").first,
            let start = Timestamp(httpDate: date)
        else { return 0 }
        return end.millisecondsSince1970 - start.millisecondsSince1970 - age * 1000
    }

    /// Returns the number of seconds, at most a year; `nil` if the text has other characters than digits.
    private static func seconds(_ text: some StringProtocol) -> Int64? {
        guard 1...20 ~= text.utf8.count, text.utf8.allSatisfy({ $0.isASCIIDigit }) else { return nil }
        return min(Int64(text) ?? .max, 31_536_000)
    }
}
