// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens

extension Timestamp {
    /// This time in the form of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    var httpDate: String {
        let seconds = millisecondsSince1970 / 1000
        let date = Array(Timestamp(secondsSince1970: seconds).iso8601.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: date[range], as: UTF8.self) }
        let month = (Int(part(5..<7)) ?? 1) - 1
        // The first day of 1970 was a Thursday.
        let day = (seconds / 86_400 + 4) % 7
        return "\(Self.days[Int(day)]), \(part(8..<10)) \(Self.months[month]) \(part(0..<4)) \(part(11..<19)) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
