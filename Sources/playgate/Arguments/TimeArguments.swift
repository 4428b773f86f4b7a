// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import ConfigurationReading
import Encodings
import MediaTokens
import Platform

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

/// A duration on the command line: a whole number and `ms`, `s`, `m`, `h` or `d`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    var milliseconds: Int64 { duration.milliseconds }

    init?(argument: String) {
        guard let duration = Duration(text: argument) else { return nil }
        self.duration = duration
    }

    /// The default in the largest unit that leaves a whole number: `7m`, `90s`.
    var defaultValueDescription: String { duration.text }
}

extension DurationArgument {
    init(milliseconds: Int64) { duration = .milliseconds(milliseconds) }
}
