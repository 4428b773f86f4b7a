// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ArgumentParser
internal import Encodings
package import Platform

/// A point in time on the command line: ISO 8601 with a zone, or Unix seconds.
package struct TimeArgument: ExpressibleByArgument {
    /// The time.
    package let time: Timestamp

    package init?(argument: String) {
        if let time = Timestamp(iso8601: argument) {
            self.time = time
        } else if let seconds = Int64(argument) {
            time = Timestamp(secondsSince1970: seconds)
        } else {
            return nil
        }
    }

    /// The forms, for help texts.
    package static let help = "ISO 8601 (2031-01-02T10:04:05Z) or Unix seconds"
}
