// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens

/// The time in the form of HTTP, made anew only when its second is over.
///
/// Source: RFC 9110 §5.6.7.
struct HTTPDate {
    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    private(set) var text: [UInt8] = []
    private var second: Int64 = .min

    mutating func set(_ time: Timestamp) {
        let now = time.millisecondsSince1970 / 1000
        guard now != second else { return }
        second = now
        // Days and dates of the Gregorian calendar from the text that ISO 8601 has for them: 1994-11-06T08:49:37...
        let iso = Array(time.iso8601.utf8)
        let digits = { (range: Range<Int>) in iso[range].reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) } }
        let days = (now - (now % 86_400 + 86_400) % 86_400) / 86_400
        let weekday = Self.weekdays[Int(((days + 4) % 7 + 7) % 7)]
        let month = Self.months[max(0, min(11, digits(5..<7) - 1))]
        let part = { (range: Range<Int>) in String(decoding: iso[range], as: UTF8.self) }
        text = Array("\(weekday), \(part(8..<10)) \(month) \(part(0..<4)) \(part(11..<19)) GMT".utf8)
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
