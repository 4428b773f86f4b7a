// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Random texts that cannot be guessed.
enum RandomText {
    /// 256 bits in hexadecimal.
    static var secret: String { bytes(32).hexadecimal }

    /// A code to read on one screen and type on another: seven characters, without the look-alikes I, O, 0 and 1.
    static var code: String {
        let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        var generator = SystemRandomNumberGenerator()
        return String((0..<7).compactMap { _ in letters.randomElement(using: &generator) })
    }

    /// Eight hexadecimal digits, the form of a stream's termination code.
    static var short: String { bytes(4).hexadecimal }

    /// A UUID of version 4 (RFC 9562 §5.4).
    static var uuid: String {
        var bytes = bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
