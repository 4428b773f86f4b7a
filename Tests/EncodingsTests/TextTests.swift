// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Platform
import Testing

@Suite struct `HTTP dates` {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
    func `are read and written`(text: String, seconds: Int64) throws {
        let time = try #require(Timestamp(httpDate: text))
        #expect(time == Timestamp(secondsSince1970: seconds))
        #expect(time.httpDate == text)
    }

    /// Those of 29 bytes and six parts are as close as possible to a date, with numbers that overflow what is computed from them.
    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "x 1 Jan 9999999999999 0:0:0 x",
        "x 999999999999999 Jan 1 0:0:0", "x 999999999999999 Jan 10 0:0 x", "x 1 Jan 1970 99999999999:0:0 x",
        "x -1 Jan -99999999999 -1:0:0 ", "Sun, 6 Nov 1994 08:49:037 GMT",
    ])
    func `are nothing else`(text: String) { #expect(Timestamp(httpDate: text) == nil) }
}

@Suite struct `Texts` {
    @Test(arguments: [
        ("", "", true), ("a", "", true), ("", "a", false), ("abc", "abc", true), ("abc", "abcd", false),
        ("aab", "ab", true),
        ("x&A=1", "A=", true), ("x&B=1", "A=", false),
        // One character, of which the first byte is the letter, for a reader of bytes.
        ("A=\u{301}1", "A=", true), ("é", "e", false),
    ])
    func `are searched by their bytes`(text: String, part: String, isFound: Bool) {
        #expect(text.hasBytes(of: part) == isFound)
        #expect("..\(text)..".dropFirst(2).dropLast(2).hasBytes(of: part) == isFound)
    }
}

@Suite struct `Paths` {
    /// The same by its definition, byte by byte.
    private static func isPlain(_ path: [UInt8]) -> Bool {
        let characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.-_".utf8
        guard path.count >= 8, path.allSatisfy(characters.contains) else { return false }
        return zip(path, path.dropFirst()).allSatisfy { $0 != UInt8(ascii: "/") || !"/.".utf8.contains($1) }
    }

    /// Every byte, and every pair of those that matter, at every position of paths that end within a word and at its
    /// end.
    @Test(arguments: 7...26)
    func `are plain by what each byte and each pair of them is`(length: Int) {
        let path = [UInt8]("/live/tnt/720p/seg-00_1.ts".utf8.prefix(length))
        #expect(URIPath.isPlain(path.span) == (length >= 8))
        for index in path.indices {
            for byte in UInt8.min ... .max {
                var other = path
                other[index] = byte
                #expect(URIPath.isPlain(other.span) == Self.isPlain(other), "\(other)")
            }
            for first in "/.a?_%".utf8 where index + 1 < length {
                for second in "/.a?_%".utf8 {
                    var other = path
                    (other[index], other[index + 1]) = (first, second)
                    #expect(URIPath.isPlain(other.span) == Self.isPlain(other), "\(other)")
                }
            }
        }
    }
}

@Suite struct `Bytes` {
    @Test(arguments: [0, 7, -7, 10, 1_000_000_000_000, .max, .min] as [Int64])
    func `are appended a number in decimal digits`(number: Int64) {
        var bytes = [UInt8]("x".utf8)
        bytes.append(decimal: number)
        #expect(String(decoding: bytes, as: UTF8.self) == "x\(number)")
    }

    /// Texts in memory of their own, in no memory of their own, and of another text.
    @Test(arguments: ["", "a", "fifteen bytes..", "sixteen bytes...", "é€😀", "a\u{0}b"])
    func `are appended a text`(text: String) {
        var bytes = [UInt8]("x".utf8)
        bytes.append(copying: text)
        bytes.append(copying: String("..\(text)..".dropFirst(2).dropLast(2)))
        #expect(bytes == [UInt8]("x\(text)\(text)".utf8))
    }

    /// Every byte at every position of numbers of every length, beside the standard library.
    @Test(arguments: 1...16)
    func `are a number in lower-case hexadecimal digits, or none`(length: Int) {
        let digits = [UInt8]("0918a7f6e5d4c3b2".utf8.prefix(length))
        for index in digits.indices {
            for byte in UInt8.min ... .max {
                var text = digits
                text[index] = byte
                let isDigit = "0123456789abcdef".utf8.contains(byte)
                let expected = isDigit ? UInt64(String(decoding: text, as: UTF8.self), radix: 16) : nil
                #expect(text.span.lowercaseHexadecimal(0..<length) == expected)
                #expect(([1, 1] + text + [1, 1]).span.lowercaseHexadecimal(2..<2 + length) == expected)
            }
        }
    }

    @Test(arguments: [0..<0, 0..<17, 10..<21, -1..<3, 20..<20])
    func `are no number in hexadecimal digits outside their bounds`(digits: Range<Int>) {
        #expect([UInt8](repeating: UInt8(ascii: "1"), count: 20).span.lowercaseHexadecimal(digits) == nil)
    }

    @Test(arguments: [([], ""), ([0], "00"), ([0x09, 0xA0, 0xFF], "09a0ff")] as [([UInt8], String)])
    func `are written in hexadecimal digits`(bytes: [UInt8], digits: String) {
        #expect(bytes.hexadecimal == digits)
        var appended = [UInt8]("x".utf8)
        appended.append(hexadecimal: bytes)
        #expect(String(decoding: appended, as: UTF8.self) == "x" + digits)
    }
}

@Suite struct `A search for bytes` {
    /// All texts of `a` and `b` up to a length, so that beginnings repeat in every way.
    private static func texts(upTo length: Int) -> [[UInt8]] {
        (0...length).flatMap { length in
            (0..<1 << length).map { bits in (0..<length).map { UInt8(97 + bits >> $0 & 1) } }
        }
    }

    @Test func `finds the first position that a simple search finds`() {
        for text in Self.texts(upTo: 8) {
            for wanted in Self.texts(upTo: 4) {
                let starts = 0..<max(0, text.count - wanted.count + 1)
                let simple = starts.first { !wanted.isEmpty && text[$0..<$0 + wanted.count].elementsEqual(wanted) }
                #expect(text.span.firstPosition(of: wanted.span) == simple, "\(text) \(wanted)")
            }
        }
    }
}
