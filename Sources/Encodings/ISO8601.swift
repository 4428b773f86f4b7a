// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

extension Timestamp {
    /// Parses an ISO 8601 date and time with a zone (`2031-01-02T10:04:05Z`, `2031-01-02T03:04:05.250-07:00`).
    ///
    /// Returns `nil` for any other text.
    public init?(iso8601 text: String) {
        guard text.utf8.count > 10, text.utf8[text.utf8.index(text.utf8.startIndex, offsetBy: 10)] == UInt8(ascii: "T"),
            let time = TokenTime.parse(text.utf8.span)
        else { return nil }
        self = time
    }

    /// The time in ISO 8601 in UTC, with milliseconds only if they are not zero: `2031-01-02T10:04:05Z`.
    public var iso8601: String {
        let date = CivilTime(self, offsetMinutes: 0)
        if 0...9999 ~= date.year { return date.text }
        let fraction = date.millisecond == 0 ? "" : "." + date.millisecond.digits(3)
        return "\(date.dateText)T\(date.timeText)\(fraction)Z"
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String { iso8601 }
}
