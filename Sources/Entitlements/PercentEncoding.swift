// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension StringProtocol {
    /// With all but the unreserved characters encoded (RFC 3986 §2.3).
    package var percentEncoded: String {
        var bytes: [UInt8] = []
        let digits = [UInt8]("0123456789ABCDEF".utf8)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
