// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import Testing

@testable import Encodings
@testable import MediaTokens

@Suite struct `Issue times` {
    private static func parse(_ text: String) -> Timestamp? { TokenTime.parse(text.utf8.span) }

    @Test(
        arguments: [
            ("2031-01-02 03:04:05 -0700", 1_925_114_645_000), ("2031-01-02 10:04:05 +0000", 1_925_114_645_000),
            ("2031-01-02 10:04:05 -0000", 1_925_114_645_000), ("2031-01-02 15:49:05 +0545", 1_925_114_645_000),
            ("2031-01-02 15:49:05 +05:45", 1_925_114_645_000), ("2031-01-02 10:04:05 GMT", 1_925_114_645_000),
            ("2031-01-02 10:04:05 UTC", 1_925_114_645_000), ("2031-01-03 00:04:05 +1400", 1_925_114_645_000),
            ("2031-01-01 20:04:05 -1400", 1_925_114_645_000), ("2031/01/02 12:04:05 GMT +0200", 1_925_114_645_000),
            ("2031/01/02 10:04:05 GMT", 1_925_114_645_000), ("2031/01/02 10:04:05 UTC", 1_925_114_645_000),
            ("2031/03/17 14:40:08 GMT +0200", 1_931_517_608_000), ("2031/03/17 14:40:08 GMT", 1_931_524_808_000),
            ("2031/01/02_10:04:05_GMT", 1_925_114_645_000), ("2031/01/02_12:04:05_GMT_+0200", 1_925_114_645_000),
            ("2031-01-02T10:04:05Z", 1_925_114_645_000), ("2031-01-02T03:04:05-07:00", 1_925_114_645_000),
            ("2031-01-02T03:04:05-0700", 1_925_114_645_000), ("2031-01-02T10:04:05.2Z", 1_925_114_645_200),
            ("2031-01-02T10:04:05.25Z", 1_925_114_645_250), ("2031-01-02T03:04:05.250-07:00", 1_925_114_645_250),
            ("2031-01-02T10:04:05.250999999Z", 1_925_114_645_250), ("2031-01-02T10:04:05.0009Z", 1_925_114_645_000),
            ("1925114645000", 1_925_114_645_000), ("1925114645123", 1_925_114_645_123), ("0", 0), ("1", 1),
            ("00000000001", 1), ("999999999999999", 999_999_999_999_999), ("1970-01-01 00:00:00 +0000", 0),
            ("1969-12-31 23:59:59 +0000", -1000), ("2000-02-29 00:00:00 +0000", 951_782_400_000),
            ("2032-02-29 00:00:00 +0000", 1_961_625_600_000), ("2100-03-01 00:00:00 +0000", 4_107_542_400_000),
            ("0000-01-01 00:00:00 +0000", -62_167_219_200_000), ("9999-12-31 23:59:59 +0000", 253_402_300_799_000),
        ] as [(String, Int64)]
    )
    func `have every known form`(text: String, expected: Int64) throws {
        #expect(Self.parse(text) == Timestamp(millisecondsSince1970: expected))
        let token = try Sample.token(.plain.setting("issueTime", to: text))
        #expect(try Sample.verify(token).token?.timeIssued.millisecondsSince1970 == expected)
    }

    @Test(
        arguments: [
            "x", "now", "2031-01-02", "03:04:05", "2031-01-02 03:04:05", "2031-01-02T03:04:05", "2031/01/02 10:04:05",
            "2031/01/02 10:04:05 +0200", "2031/01/02 10:04:05 GMT+0200", "2031/01/02T10:04:05Z",
            "2031/01/02_10:04:05_GMT +0200", "2031/01/02 10:04:05_GMT", "2031-01-02_10:04:05_GMT",
            "2031-01-02 10:04:05 GMT +0200", "2031-01-02 10:04:05 Z", "2031-01-02 10:04:05Z", "2031-01-02t10:04:05z",
            "2031-01-02 03:04:05  -0700", " 2031-01-02 03:04:05 -0700", "2031-01-02 03:04:05 -0700 ",
            "2031-01-02 03:04:05 -0700\n", "2031-01-02 03:04:05 -07", "2031-01-02 03:04:05 -07:0",
            "2031-01-02 03:04:05 -0760", "2031-01-02 03:04:05 -1401", "2031-01-02 03:04:05 +9900",
            "2031-01-02 03:04:05 0700", "2031-01-02 03:04:05 MST", "2031-01-02 03:04:05 EST -0500",
            "2031-01-02 03:04:05.250 -0700", "2031-01-02T03:04:05.-07:00", "2031-01-02T10:04:05.1234567890Z",
            "2031-01-02T10:04:05,5Z", "2031-00-02 03:04:05 -0700", "2031-13-02 03:04:05 -0700",
            "2031-01-00 03:04:05 -0700", "2031-01-32 03:04:05 -0700", "2031-04-31 03:04:05 -0700",
            "2031-02-29 03:04:05 -0700", "2100-02-29 03:04:05 -0700", "2031-01-02 24:00:00 -0700",
            "2031-01-02 03:60:05 -0700", "2031-01-02 03:04:60 -0700", "2031-1-2 03:04:05 -0700",
            "31-01-02 03:04:05 -0700",
            "2031-01/02 03:04:05 -0700", "20310102T030405Z", "12031-01-02 03:04:05 -0700", "-2031-01-02 03:04:05 -0700",
            "1925114645000.5", "-1925114645000", "+1925114645000", "1925114645000ms", "1234567890123456",
            "0x1C03F1E2D08",
            "Thu, 02 Jan 2031 10:04:05 GMT", "2031-01-02 03:04:05 −0700", "２031-01-02 03:04:05 -0700",
        ]
    )
    func `have no other form`(text: String) throws {
        #expect(Self.parse(text) == nil)
        #expect(try Sample.verify(try Sample.token(.plain.setting("issueTime", to: text))).reason == .invalidIssueTime)
    }

    @Test func `have no shortened form`() {
        for form in ["2031-01-02 03:04:05 -0700", "2031/01/02 12:04:05 GMT +0200", "2031-01-02T03:04:05.250-07:00"] {
            for count in 0..<form.utf8.count {
                let text = String(form.prefix(count))
                // The second form without its offset is another valid form, and four digits are a number.
                let isForm = text.hasSuffix("GMT") || (!text.isEmpty && text.allSatisfy(\.isNumber))
                #expect((Self.parse(text) != nil) == isForm, "\(text)")
            }
        }
    }

    @Test(arguments: [0, -420, 345, 840, -840, -30])
    func `are written as they are read`(offset: Int) {
        let text = TokenTime.wireForm(Sample.time, offsetMinutes: offset)
        #expect(Self.parse(text) == Sample.time)
    }
}

@Suite struct `Timestamps` {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_925_114_645_000, "2031-01-02T10:04:05Z"), (1_925_114_645_250, "2031-01-02T10:04:05.250Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"), (1_961_625_600_000, "2032-02-29T00:00:00Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"), (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00Z"),
        ] as [(Int64, String)]
    )
    func `go to ISO 8601 and back`(milliseconds: Int64, text: String) {
        let time = Timestamp(millisecondsSince1970: milliseconds)
        #expect(time.iso8601 == text)
        #expect("\(time)" == text)
        #expect(Timestamp(iso8601: text) == time)
    }

    @Test func `go back and forth on every day of 400 years`() {
        var days = CivilTime.days(year: 1900, month: 1, day: 1)
        for year in 1900..<2300 {
            for month in 1...12 {
                for day in [1, CivilTime.daysInMonth(month, year: year)] {
                    let expected = days + day - 1
                    let time = Timestamp(millisecondsSince1970: Int64(expected) * 86_400_000)
                    let civil = CivilTime(time, offsetMinutes: 0)
                    #expect(civil.year == year && civil.month == month && civil.day == day)
                    #expect(Timestamp(iso8601: time.iso8601) == time)
                }
                days += CivilTime.daysInMonth(month, year: year)
            }
        }
        #expect(days == CivilTime.days(year: 2300, month: 1, day: 1))
    }

    @Test(arguments: [
        "", "1925114645000", "2031-01-02", "2031-01-02 03:04:05 -0700", "2031/01/02T10:04:05Z", "٢٠٣١-٠١",
    ])
    func `are read only from ISO 8601`(text: String) {
        #expect(Timestamp(iso8601: text) == nil)
    }

    @Test func `have ends and can be printed there`() {
        #expect(Timestamp.latest.advanced(byMilliseconds: 1) == .latest)
        #expect(Timestamp.earliest.advanced(byMilliseconds: -1) == .earliest)
        #expect(Timestamp(secondsSince1970: .max) == .latest)
        #expect(Timestamp(secondsSince1970: .min) == .earliest)
        #expect(Timestamp(secondsSince1970: 1) == Timestamp(millisecondsSince1970: 1000))
        #expect(Timestamp.latest.iso8601 == "292278994-08-17T07:12:55.807Z")
        #expect(Timestamp.earliest.iso8601 == "-292275055-05-16T16:47:04.192Z")
        #expect(Timestamp.earliest < .latest)
    }
}
