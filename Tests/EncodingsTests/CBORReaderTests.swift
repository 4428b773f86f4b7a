// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@Suite struct `The CBOR reader` {
    /// Returns what a reader finds, item by item, in the diagnostic notation of RFC 8949 §8.
    static func notation(_ hex: String, limits: CBORLimits = .token) throws(CBORFault) -> String {
        let bytes = bytes(hex)
        var reader = CBORReader(bytes.span, limits: limits)
        let text = try notation(&reader)
        try reader.finish()
        return text
    }

    private static func notation(_ reader: inout CBORReader) throws(CBORFault) -> String {
        switch try reader.next() {
        case .unsigned(let value): return String(value)
        case .negative(let value): return value == .max ? "-18446744073709551616" : "-\(value + 1)"
        case .bytes(let range): return "h'" + reader[range].hexadecimal + "'"
        case .text(let range): return "\"" + reader.string(range) + "\""
        case .array(let count):
            var parts: [String] = []
            for _ in 0..<count { parts.append(try notation(&reader)) }
            return "[" + parts.joined(separator: ", ") + "]"
        case .map(let count):
            var parts: [String] = []
            for _ in 0..<count { parts.append(try notation(&reader) + ": " + (try notation(&reader))) }
            return "{" + parts.joined(separator: ", ") + "}"
        case .tag(let number): return "\(number)(" + (try notation(&reader)) + ")"
        case .float(let value): return String(value)
        case .bool(let value): return String(value)
        case .null: return "null"
        }
    }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.filter { $0 != UInt8(ascii: " ") }.compactMap(\.hexadecimalDigit)
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    // MARK: RFC 8949, appendix A

    @Test(arguments: [
        ("00", "0"), ("01", "1"), ("0a", "10"), ("17", "23"), ("1818", "24"), ("1819", "25"), ("1864", "100"),
        ("1903e8", "1000"), ("1a000f4240", "1000000"), ("1b000000e8d4a51000", "1000000000000"),
        ("1bffffffffffffffff", "18446744073709551615"), ("3bffffffffffffffff", "-18446744073709551616"), ("20", "-1"),
        ("29", "-10"), ("3863", "-100"), ("3903e7", "-1000"), ("f90000", "0.0"), ("f93c00", "1.0"),
        ("fb3ff199999999999a", "1.1"), ("f93e00", "1.5"), ("f97bff", "65504.0"), ("fa47c35000", "100000.0"),
        ("fa7f7fffff", "3.4028234663852886e+38"), ("fb7e37e43c8800759c", "1e+300"),
        ("f90001", "5.960464477539063e-08"), ("f90400", "6.103515625e-05"), ("f9c400", "-4.0"),
        ("fbc010666666666666", "-4.1"), ("f4", "false"), ("f5", "true"), ("f6", "null"),
        ("c074323031332d30332d32315432303a30343a30305a", "0(\"2013-03-21T20:04:00Z\")"),
        ("c11a514b67b0", "1(1363896240)"),
        ("c1fb41d452d9ec200000", "1(1363896240.5)"), ("d74401020304", "23(h'01020304')"),
        ("d818456449455446", "24(h'6449455446')"), ("40", "h''"), ("4401020304", "h'01020304'"), ("60", "\"\""),
        ("6161", "\"a\""), ("6449455446", "\"IETF\""), ("62225c", "\"\"\\\""), ("62c3bc", "\"ü\""),
        ("63e6b0b4", "\"水\""),
        ("64f0908591", "\"𐅑\""), ("80", "[]"), ("83010203", "[1, 2, 3]"), ("8301820203820405", "[1, [2, 3], [4, 5]]"),
        ("a0", "{}"), ("a201020304", "{1: 2, 3: 4}"), ("a26161016162820203", "{\"a\": 1, \"b\": [2, 3]}"),
        ("826161a161626163", "[\"a\", {\"b\": \"c\"}]"),
        (
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]"
        ),
    ])
    func `reads the examples of RFC 8949`(hex: String, notation: String) throws {
        #expect(try Self.notation(hex) == notation)
        // `skip` sees the same items.
        let bytes = Self.bytes(hex)
        var reader = CBORReader(bytes.span)
        #expect(try reader.skip() == 0..<bytes.count)
        try reader.finish()
    }

    @Test(arguments: [
        ("a2 08 bb4000000000000000 00 07 00", CBORFault.truncated), ("a2 08 f97e00 07 00", .invalidFloat),
        ("a2 08 61ff 07 00", .invalidUTF8), ("a3 08 00 08 00 07 00", .duplicateKey), ("a2 08 1c 07 00", .reserved),
        ("a2 08 1800 07 00", .notShortest), ("a2 08 ff 07 00", .indefiniteLength), ("a2 80 00 07 00", .invalidKey),
    ])
    func `reads nothing behind a fault, and throws it again`(hex: String, fault: CBORFault) {
        let bytes = Self.bytes(hex)
        var reader = CBORReader(bytes.span)
        var faults: [CBORFault] = []
        var position = 0
        for _ in 0..<bytes.count {
            do throws(CBORFault) { _ = try reader.next() } catch {
                if faults.isEmpty { position = reader.position }
                faults.append(error)
            }
        }
        #expect(faults.count > 1 && faults.allSatisfy { $0 == fault })
        #expect(reader.position == position)
    }

    @Test(arguments: [
        ("", CBORFault.truncated), ("18", .truncated), ("19 03", .truncated), ("44 010203", .truncated),
        ("83 0102", .truncated), ("a1 01", .truncated), ("c1", .truncated), ("5a ffffffff 00", .truncated),
        ("9b ffffffffffffffff 00", .truncated), ("bb 7fffffffffffffff 00", .truncated), ("00 00", .trailingBytes),
        ("a0 f6", .trailingBytes), ("c1 00 00", .trailingBytes),
        ("5f 42 0102 43 030405 ff", .indefiniteLength), ("7f 6161 ff", .indefiniteLength),
        ("9f ff", .indefiniteLength), ("bf ff", .indefiniteLength), ("ff", .indefiniteLength),
        ("1f", .indefiniteLength),
        ("18 17", .notShortest), ("19 00ff", .notShortest), ("1a 0000ffff", .notShortest),
        ("1b 00000000ffffffff", .notShortest), ("38 17", .notShortest), ("58 01 00", .notShortest),
        ("78 01 61", .notShortest), ("98 01 00", .notShortest), ("b8 01 00 00", .notShortest),
        ("d8 11 00", .notShortest),
        ("1c", .reserved), ("3d", .reserved), ("5e", .reserved), ("fc", .reserved), ("fe", .reserved),
        ("f7", .unsupportedSimpleValue), ("f0", .unsupportedSimpleValue), ("f8 ff", .unsupportedSimpleValue),
        ("f8 14", .unsupportedSimpleValue), ("e0", .unsupportedSimpleValue),
        ("f9 7e00", .invalidFloat), ("f9 7c00", .invalidFloat), ("f9 fc00", .invalidFloat), ("f9 8000", .invalidFloat),
        ("fa 7fc00000", .invalidFloat), ("fa ff800000", .invalidFloat), ("fa 80000000", .invalidFloat),
        ("fb 7ff8000000000000", .invalidFloat), ("fb 7ff0000000000000", .invalidFloat),
        ("fb 8000000000000000", .invalidFloat), ("61 ff", .invalidUTF8), ("62 c080", .invalidUTF8),
        ("63 eda080", .invalidUTF8), ("64 f4908080", .invalidUTF8), ("a1 4101 00", .invalidKey),
        ("a1 f5 00", .invalidKey), ("a1 80 00", .invalidKey), ("a1 c0 01 00", .invalidKey),
        ("a1 f93c00 00", .invalidKey),
        ("a2 01 00 01 00", .duplicateKey), ("a3 02 00 01 00 02 00", .duplicateKey),
        ("a3 01 00 6161 00 01 00", .duplicateKey), ("a3 03 a1 01 02 02 82 0102 03 00", .duplicateKey),
        ("a1 01 a2 6161 00 6161 00", .duplicateKey), ("81 a2 20 00 20 00", .duplicateKey),
    ])
    func `refuses what is not strict CBOR`(hex: String, fault: CBORFault) {
        #expect(throws: fault) { try Self.notation(hex) }
        let bytes = Self.bytes(hex)
        #expect(throws: fault) {
            var reader = CBORReader(bytes.span)
            try reader.skip()
            try reader.finish()
        }
    }

    // MARK: Limits

    @Test func `observes its limits`() throws {
        func nested(_ count: Int) -> String { String(repeating: "81", count: count) + "00" }
        #expect(throws: Never.self) { try Self.notation(nested(16)) }
        #expect(throws: CBORFault.tooDeep) { try Self.notation(nested(17)) }
        #expect(throws: Never.self) { try Self.notation("98ff" + String(repeating: "00", count: 255)) }
        #expect(throws: CBORFault.tooManyItems) { try Self.notation("990100" + String(repeating: "00", count: 256)) }
        #expect(throws: CBORFault.tooManyItems) { try Self.notation("b880" + String(repeating: "00", count: 256)) }
        #expect(throws: CBORFault.tooManyItems) { try Self.notation(String(repeating: "c1", count: 256) + "00") }
        #expect(throws: Never.self) { try Self.notation("791000" + String(repeating: "61", count: 4096)) }
        #expect(throws: CBORFault.stringTooLong) { try Self.notation("791001" + String(repeating: "61", count: 4097)) }
        #expect(throws: CBORFault.stringTooLong) { try Self.notation("591001" + String(repeating: "61", count: 4097)) }
        #expect(throws: Never.self) { try Self.notation("a17840" + String(repeating: "61", count: 64) + "00") }
        #expect(throws: CBORFault.invalidKey) {
            try Self.notation("a17841" + String(repeating: "61", count: 65) + "00")
        }
    }

    @Test func `accepts a long tag if it may`() throws {
        #expect(try Self.notation("d8 11 80", limits: .envelope) == "17([])")
        #expect(throws: CBORFault.notShortest) { try Self.notation("d8 11 98 01 00", limits: .envelope) }
    }

    // MARK: Walking

    @Test func `reads a map out of order, and skips the rest of it`() throws {
        let bytes = Self.bytes("a4 6161 82 01 a1 02 03 04 1a 72bd2ce4 03 d834 44 cb007109 0c f6")
        var reader = CBORReader(bytes.span)
        #expect(try reader.readMap() == 4)
        #expect(try reader.next() == .text(2..<3))
        let list = try reader.next()
        #expect(list == .array(2) && reader.depth == 2)
        try reader.skip(contentsOf: list)
        #expect(reader.depth == 1)
        #expect(try reader.readUnsigned() == 4)
        #expect(try reader.readNumber() == 1_925_000_420)
        #expect(try reader.readInteger() == 3)
        try reader.skip()
        #expect(throws: CBORFault.truncated) { try reader.finish() }
        #expect(try reader.readInteger() == 12)
        #expect(throws: CBORFault.unexpectedType) { try reader.readText() }
        try reader.finish()
    }

    @Test func `tells a float that has a shorter form`() throws {
        for (hex, isLong) in [
            ("f93e00", false), ("fa3fc00000", true), ("fb3ff8000000000000", true), ("fa47c35000", false),
            ("fb40f86a0000000000", true), ("fb3ff199999999999a", false), ("fa33800000", true), ("fa32800000", false),
        ] {
            let bytes = Self.bytes(hex)
            var reader = CBORReader(bytes.span)
            _ = try reader.next()
            #expect(reader.hasLongFloat == isLong, "\(hex)")
        }
    }

    /// Equal keys are found in maps of any order, by comparison with a set.
    @Test func `finds two equal keys in maps of any order`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let keys = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                Int64.random(in: -30...30, using: &random)
            }
            var bytes: [UInt8] = [0xA0 | UInt8(keys.count)]
            for key in keys {
                var writer = CBORWriter()
                writer.write(key)
                writer.write(arrayOf: 1)
                writer.write("x")
                bytes += (try? writer.finish()) ?? []
            }
            var reader = CBORReader(bytes.span)
            let isRead = (try? reader.skip()) != nil
            #expect(isRead == (Set(keys).count == keys.count), "\(keys)")
        }
    }

    @Test func `reads no broken bytes past their end`() {
        var random = SystemRandomNumberGenerator()
        let sample = Self.bytes("a4 6161 82 01 a1 02 03 04 1a 72bd2ce4 03 d834 44 cb007109 0c fb 3ff199999999999a")
        for _ in 0..<20_000 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            bytes.removeLast(Int.random(in: 0...3, using: &random))
            var reader = CBORReader(bytes.span)
            if (try? reader.skip()) != nil { #expect(reader.position <= bytes.count && reader.depth == 0) }
        }
    }
}
