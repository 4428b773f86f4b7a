// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

extension Timestamp {
    /// This time as an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    package var httpDate: String {
        let date = CivilTime(self, offsetMinutes: 0)
        let days = CivilTime.days(year: date.year, month: date.month, day: date.day)
        // 1 January 1970 was a Thursday.
        let weekday = Self.weekdays[((days + 4) % 7 + 7) % 7]
        return
            "\(weekday), \(date.day.digits(2)) \(Self.months[date.month - 1]) \(date.year.digits(4)) \(date.timeText) GMT"
    }

    /// Parses an HTTP date in the form that is written today; `nil` for any other text, the obsolete forms among them.
    package init?(httpDate text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        // No more digits than there are in a date: larger numbers could overflow.
        guard text.utf8.count == 29, parts.count == 6, let day = Int(parts[1]), 1...31 ~= day,
            let year = Int(parts[3]), 1...9999 ~= year, let month = Self.months.firstIndex(of: String(parts[2]))
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, clock.allSatisfy({ 0...60 ~= $0 }) else { return nil }
        let days = Int64(CivilTime.days(year: year, month: month + 1, day: day))
        let seconds = Int64(clock[0] * 3600 + clock[1] * 60 + clock[2])
        self.init(secondsSince1970: days * 86_400 + seconds)
        // A time that is written otherwise, such as 31 February, is none.
        guard httpDate == text else { return nil }
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

/// The time in the form of HTTP, formatted once a second.
package struct HTTPDate {
    /// The text, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package private(set) var text: [UInt8] = []
    private var second: Int64 = .min

    package init() {}

    package mutating func set(_ time: Timestamp) {
        let now = time.millisecondsSince1970 / 1000
        guard now != second else { return }
        second = now
        text = Array(time.httpDate.utf8)
    }
}
