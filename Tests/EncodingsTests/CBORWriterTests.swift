// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Testing

@Suite struct `The CBOR writer` {
    private static func hex(_ write: (inout CBORWriter) -> Void) throws(CBORFault) -> String {
        var writer = CBORWriter()
        write(&writer)
        return try writer.finish().hexadecimal
    }

    @Test(arguments: [
        (Int64(0), "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65_535, "19ffff"),
        (65_536, "1a00010000"),
        (4_294_967_295, "1affffffff"), (4_294_967_296, "1b0000000100000000"), (.max, "1b7fffffffffffffff"), (-1, "20"),
        (-24, "37"), (-25, "3818"), (-65_537, "3a00010000"), (.min, "3b7fffffffffffffff"),
    ])
    func `writes integers in their shortest form`(number: Int64, hex: String) throws {
        #expect(try Self.hex { $0.write(number) } == hex)
        #expect(try `The CBOR reader`.notation(hex) == String(number))
    }

    @Test(arguments: [
        (0.0, "f90000"), (1.0, "f93c00"), (1.1, "fb3ff199999999999a"), (65_504, "f97bff"), (65_536, "fa47800000"),
        (100_000, "fa47c35000"), (0x1p-24, "f90001"), (0x1p-25, "fa33000000"), (0x1p-14, "f90400"), (-4, "f9c400"),
        (-4.1, "fbc010666666666666"), (1e300, "fb7e37e43c8800759c"), (0x1.ff8p-15, "f903ff"),
        (0x1.ffep-15, "fa387ff000"),
    ])
    func `writes floats in their shortest form`(number: Double, hex: String) throws {
        #expect(try Self.hex { $0.write(number) } == hex)
        #expect(try `The CBOR reader`.notation(hex) == String(number))
    }

    @Test func `writes every half float as itself`() throws {
        for bits in UInt16.min...UInt16.max where bits & 0x7C00 != 0x7C00 && bits != 0x8000 {
            let hex = "f9" + [UInt8(bits >> 8), UInt8(bits & 255)].hexadecimal
            let bytes = `The CBOR reader`.bytes(hex)
            var reader = CBORReader(bytes.span)
            let number = try reader.readNumber()
            #expect(try Self.hex { $0.write(number) } == hex)
        }
    }

    @Test func `sorts the entries of a map by their encoded keys`() throws {
        let hex = try Self.hex { writer in
            writer.map { map in
                map.entry(100) { $0.write(true) }
                map.entry("aa") { $0.writeNull() }
                map.entry(-1) { value in
                    value.map { inner in
                        inner.entry("z") { $0.write([1, 2]) }
                        inner.entry("b") {
                            $0.write(tag: 52); $0.write("")
                        }
                    }
                }
                map.entry(10) { value in
                    value.write(arrayOf: 1)
                    value.write(UInt64.max)
                }
                map.entry("z") { $0.write(false) }
            }
        }
        // The example of RFC 8949 §4.2.1: 10, 100, −1, "z", "aa".
        #expect(hex == "a50a811bffffffffffffffff1864f520a26162d83460617a420102617af4626161f6")
    }

    @Test func `writes the head of a large map`() throws {
        for count in [0, 1, 23, 24, 255, 256] {
            let hex = try Self.hex { writer in
                writer.write(arrayOf: 1)
                writer.map { map in
                    for key in 0..<count { map.entry(Int64(key)) { $0.writeNull() } }
                }
            }
            let bytes = `The CBOR reader`.bytes(hex)
            var reader = CBORReader(bytes.span, limits: CBORLimits(items: 1000))
            #expect(try reader.readArray() == 1)
            #expect(try reader.readMap() == count)
        }
    }

    @Test func `refuses two equal keys, and numbers that tokens do not have`() {
        for keys: [Int64] in [[1, 1], [1, 2, 1], [2, 1, 2]] {
            #expect(throws: CBORFault.duplicateKey) {
                try Self.hex { writer in
                    writer.map { map in keys.forEach { map.entry($0) { $0.write("x") } } }
                }
            }
        }
        for number in [Double.nan, .infinity, -.infinity, -0.0] {
            #expect(throws: CBORFault.invalidFloat) { try Self.hex { $0.write(number) } }
        }
    }
}
