// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import MediaTokens

/// A point in time on the command line: ISO 8601 with a zone, or Unix seconds.
struct TimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        if let time = Timestamp(iso8601: argument) {
            self.time = time
        } else if let seconds = Int64(argument) {
            time = Timestamp(secondsSince1970: seconds)
        } else {
            return nil
        }
    }

    static let help = "ISO 8601 (2031-01-02T10:04:05Z) or Unix seconds"
}

/// A duration on the command line: a whole number and `ms`, `s`, `m` or `h`.
struct DurationArgument: ExpressibleByArgument {
    let milliseconds: Int64

    var duration: Duration { .milliseconds(milliseconds) }

    init?(argument: String) {
        let units: [(String, Int64)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
        for (suffix, factor) in units where argument.hasSuffix(suffix) {
            let digits = argument.dropLast(suffix.count)
            guard !digits.isEmpty, digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                let value = Int64(digits)
            else { continue }
            let (product, overflow) = value.multipliedReportingOverflow(by: factor)
            guard !overflow else { return nil }
            milliseconds = product
            return
        }
        return nil
    }

    /// The largest unit that leaves a whole number: `7m`, `90s`.
    var defaultValueDescription: String {
        for (suffix, factor) in [("h", Int64(3_600_000)), ("m", 60_000), ("s", 1000)]
        where milliseconds % factor == 0 && milliseconds > 0 {
            return "\(milliseconds / factor)\(suffix)"
        }
        return milliseconds == 0 ? "0s" : "\(milliseconds)ms"
    }
}

extension DurationArgument {
    init(milliseconds: Int64) { self.milliseconds = milliseconds }
}
