// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The formats of the issue time of a media token.
///
/// | form | example |
/// | --- | --- |
/// | as issued | `2031-01-02 03:04:05 -0700` |
/// | of the long-lived tokens | `2031/01/02 12:04:05 GMT +0200`, `2031/01/02 10:04:05 GMT`, underscores for spaces |
/// | ISO 8601 | `2031-01-02T10:04:05Z`, `2031-01-02T03:04:05.250-07:00` |
/// | Unix milliseconds | `1925114645000` |
///
/// All other text is refused: positions are fixed, every field must be in its range, and a local time needs its offset.
package enum TokenTime {
    package static func parse(_ text: Span<UInt8>) -> Timestamp? {
        guard text.count >= 11 else { return unixMilliseconds(text) }
        var reader = TimeReader(text)
        guard let year = reader.number(4), let separator = reader.next(),
            separator == UInt8(ascii: "-") || separator == UInt8(ascii: "/")
        else { return unixMilliseconds(text) }
        guard let month = reader.number(2), 1...12 ~= month, reader.consume(separator),
            let day = reader.number(2), 1...CivilTime.daysInMonth(month, year: year) ~= day,
            let between = reader.next(),
            let hour = reader.number(2), hour < 24, reader.consume(UInt8(ascii: ":")),
            let minute = reader.number(2), minute < 60, reader.consume(UInt8(ascii: ":")),
            let second = reader.number(2), second < 60
        else { return nil }

        var milliseconds = 0
        let offset: Int?
        switch (separator, between) {
        case (UInt8(ascii: "-"), UInt8(ascii: "T")):
            guard let fraction = reader.fraction() else { return nil }
            milliseconds = fraction
            offset = reader.consume(UInt8(ascii: "Z")) ? 0 : reader.offset()
        case (UInt8(ascii: "-"), UInt8(ascii: " ")):
            guard reader.consume(UInt8(ascii: " ")) else { return nil }
            offset = reader.consumeUniversal() ? 0 : reader.offset()
        case (UInt8(ascii: "/"), UInt8(ascii: " ")), (UInt8(ascii: "/"), UInt8(ascii: "_")):
            guard reader.consume(between), reader.consumeUniversal() else { return nil }
            if reader.isAtEnd {
                offset = 0
            } else {
                guard reader.consume(between) else { return nil }
                offset = reader.offset()
            }
        default: return nil
        }
        guard let offset, reader.isAtEnd else { return nil }
        let minutes = (CivilTime.days(year: year, month: month, day: day) * 24 + hour) * 60 + minute - offset
        return Timestamp(millisecondsSince1970: Int64((minutes * 60 + second) * 1000 + milliseconds))
    }

    /// Parses Unix milliseconds of 1 to 15 digits. Longer numbers are times beyond the year 9999.
    private static func unixMilliseconds(_ text: Span<UInt8>) -> Timestamp? {
        guard 1...15 ~= text.count else { return nil }
        var value: Int64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return Timestamp(millisecondsSince1970: value)
    }

    /// Returns the time in the format of issued tokens: `2031-01-02 03:04:05 -0700`.
    package static func wireForm(_ time: Timestamp, offsetMinutes: Int) -> String {
        let local = CivilTime(time, offsetMinutes: offsetMinutes)
        let sign = offsetMinutes < 0 ? "-" : "+"
        let offset = (abs(offsetMinutes) / 60).digits(2) + (abs(offsetMinutes) % 60).digits(2)
        return "\(local.dateText) \(local.timeText) \(sign)\(offset)"
    }
}

extension Timestamp {
    /// Parses a time in any format of tokens. Returns `nil` for any other text.
    package init?(tokenTime text: String) {
        guard let time = TokenTime.parse([UInt8](text.utf8).span) else { return nil }
        self = time
    }

    /// The time in the format of the long-lived tokens, in UTC and to the second: `2031/01/02 10:04:05 GMT +0000`.
    package var longLivedForm: String {
        let date = CivilTime(self, offsetMinutes: 0)
        return "\(date.year.digits(4))/\(date.month.digits(2))/\(date.day.digits(2)) \(date.timeText) GMT +0000"
    }
}

/// A reader of the fixed-width fields of a time, from front to back.
private struct TimeReader: ~Copyable, ~Escapable {
    private let text: Span<UInt8>
    private var position = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    mutating func next() -> UInt8? {
        guard position < text.count else { return nil }
        defer { position += 1 }
        return text[position]
    }

    mutating func consume(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    /// Reads a number of exactly `width` digits.
    mutating func number(_ width: Int) -> Int? {
        guard position + width <= text.count else { return nil }
        var value = 0
        for _ in 0..<width {
            let digit = text[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int(digit)
            position += 1
        }
        return value
    }

    /// Reads `GMT` or `UTC`.
    mutating func consumeUniversal() -> Bool {
        if consume(UInt8(ascii: "G")) { return consume(UInt8(ascii: "M")) && consume(UInt8(ascii: "T")) }
        return consume(UInt8(ascii: "U")) && consume(UInt8(ascii: "T")) && consume(UInt8(ascii: "C"))
    }

    /// Reads an optional fraction of 1 to 9 digits as milliseconds. Returns 0 if it is absent, `nil` if it is malformed.
    mutating func fraction() -> Int? {
        guard consume(UInt8(ascii: ".")) else { return 0 }
        var milliseconds = 0
        var count = 0
        while let digit = number(1) {
            if count < 3 { milliseconds = milliseconds * 10 + digit }
            count += 1
        }
        guard 1...9 ~= count else { return nil }
        for _ in 0..<max(0, 3 - count) { milliseconds *= 10 }
        return milliseconds
    }

    /// Reads an offset `±HHMM` or `±HH:MM` of at most 14 hours, in minutes east of UTC.
    mutating func offset() -> Int? {
        guard let sign = next(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), let hours = number(2) else {
            return nil
        }
        _ = consume(UInt8(ascii: ":"))
        guard let minutes = number(2), minutes < 60, hours * 60 + minutes <= 14 * 60 else { return nil }
        return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 60 + minutes)
    }
}
