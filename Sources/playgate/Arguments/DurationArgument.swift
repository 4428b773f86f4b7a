// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import ConfigurationReading
import Platform

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
