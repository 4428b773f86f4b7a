// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CSecondOpinion

@testable import Encodings
@testable import MediaTokens
@testable import Platform

extension Target {
    /// Times: a parsed time is printed in forms that parse as the same time, and its date is that of the C library.
    ///
    /// The input is a text, or a zero byte and the eight bytes of a number of milliseconds.
    static let time = Target(name: "time") { input in
        var input = input
        if input.rest.first == 0 {
            _ = input.choice()
            return check(Timestamp(millisecondsSince1970: input.bytes.reduce(0) { $0 << 8 | Int64($1) }))
        }
        let text = input.bytes
        guard let time = TokenTime.parse(text.span) else { return }
        check(time)
        guard let printed = input.text else { return demand(false, or: "a time that is no text") }
        demand(Timestamp(tokenTime: printed) == time, or: "read twice, two times")
        if let iso = Timestamp(iso8601: printed) { demand(iso == time, or: "two readers, two times") }
    }

    private static func check(_ time: Timestamp) {
        let printed = time.iso8601
        for offset in [0, 840, -840, 345] {
            let local = CivilTime(time, offsetMinutes: offset)
            let days = CivilTime.days(year: local.year, month: local.month, day: local.day)
            let (minutes, overflow) = (days * 24 + local.hour).multipliedReportingOverflow(by: 60)
            demand(!overflow && 1...12 ~= local.month && 0..<24 ~= local.hour, or: "not a date: \(local)")
            let seconds = (minutes + local.minute - offset) * 60 + local.second
            let (sum, isFar) = seconds.multipliedReportingOverflow(by: 1000)
            let isAtEnd = time.millisecondsSince1970.magnitude > UInt64(Int64.max) - 100_000_000
            if !isAtEnd, !isFar {
                demand(sum + local.millisecond == time.millisecondsSince1970, or: "\(local) of \(time)")
            }
        }
        var date: (Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0)
        let (quotient, remainder) = time.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
        let civil = CivilTime(time, offsetMinutes: 0)
        let isKnown = unsafe withUnsafeMutableBytes(of: &date) { bytes in
            unsafe second_date(
                quotient - (remainder < 0 ? 1 : 0),
                bytes.assumingMemoryBound(to: Int64.self).baseAddress
            )
        }
        if isKnown {
            demand(date.0 == civil.year && date.1 == civil.month && date.2 == civil.day, or: "the date of \(printed)")
            demand(
                date.3 == civil.hour && date.4 == civil.minute && date.5 == civil.second,
                or: "the hour of \(printed)"
            )
        }
        // Only years of four digits can be parsed.
        guard 1...9998 ~= civil.year else { return }
        demand(Timestamp(iso8601: printed) == time, or: "\(printed) is read as another time")
        let seconds = Timestamp(millisecondsSince1970: time.millisecondsSince1970 - Int64(civil.millisecond))
        demand(Timestamp(tokenTime: time.longLivedForm) == seconds, or: "\(time.longLivedForm)")
        for offset in [0, 840, -840, 345, -1] {
            let wire = TokenTime.wireForm(time, offsetMinutes: offset)
            demand(Timestamp(tokenTime: wire) == seconds, or: "\(wire) is not \(seconds)")
        }
    }
}
