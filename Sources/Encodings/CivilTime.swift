// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// A date and time of day in the proleptic Gregorian calendar, at an offset from UTC.
struct CivilTime {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
    var millisecond: Int

    /// Creates the local time of `time` at `offsetMinutes` east of UTC.
    init(_ time: Timestamp, offsetMinutes: Int) {
        let local = time.advanced(byMilliseconds: Int64(offsetMinutes) * 60_000).millisecondsSince1970
        let days = local.floorDivided(by: 86_400_000)
        // Not the difference to the start of the day, which is out of range for the earliest timestamp.
        let rest = Int((local % 86_400_000 + 86_400_000) % 86_400_000)
        // Conversion from and to days: H. Hinnant, "chrono-compatible low-level date algorithms"; years begin in March.
        let shifted = Int(days) + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3_600_000
        minute = rest / 60_000 % 60
        second = rest / 1000 % 60
        millisecond = rest % 1000
    }

    /// Returns the number of days from 1970-01-01 to a date.
    static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.floorDivided(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Returns the number of days in a month from 1 to 12.
    static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The date and time in ISO 8601 in UTC, for years of four digits. Written in one pass, because every log line has one.
    var text: String {
        var text: [UInt8] = []
        text.reserveCapacity(24)
        func append(_ number: Int, width: Int, followedBy end: UInt8) {
            var divisor = width == 4 ? 1000 : width == 3 ? 100 : 10
            while divisor > 0 {
                text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                divisor /= 10
            }
            text.append(end)
        }
        append(year, width: 4, followedBy: UInt8(ascii: "-"))
        append(month, width: 2, followedBy: UInt8(ascii: "-"))
        append(day, width: 2, followedBy: UInt8(ascii: "T"))
        append(hour, width: 2, followedBy: UInt8(ascii: ":"))
        append(minute, width: 2, followedBy: UInt8(ascii: ":"))
        append(second, width: 2, followedBy: millisecond == 0 ? UInt8(ascii: "Z") : UInt8(ascii: "."))
        if millisecond != 0 { append(millisecond, width: 3, followedBy: UInt8(ascii: "Z")) }
        return String(decoding: text, as: UTF8.self)
    }

    var dateText: String { "\(year.digits(4))-\(month.digits(2))-\(day.digits(2))" }
    var timeText: String { "\(hour.digits(2)):\(minute.digits(2)):\(second.digits(2))" }
}

extension BinaryInteger {
    fileprivate func floorDivided(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Int {
    /// Returns this number with at least `width` decimal digits.
    func digits(_ width: Int) -> String {
        let text = String(magnitude)
        let zeros = String(repeating: "0", count: Swift.max(0, width - text.utf8.count))
        return (self < 0 ? "-" : "") + zeros + text
    }
}
