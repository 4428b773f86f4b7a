// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A value of 16 bytes, held as two numbers, so that it needs no memory of its own.
public protocol SixteenBytes: Hashable, Sendable, CustomStringConvertible {
    /// The first 8 bytes as a big-endian number.
    var high: UInt64 { get }
    /// The last 8 bytes as a big-endian number.
    var low: UInt64 { get }

    /// Creates a value from its two halves.
    init(high: UInt64, low: UInt64)
}

extension SixteenBytes {
    /// Creates a value from its 16 bytes. Returns `nil` for any other number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var halves = (high: UInt64(0), low: UInt64(0))
        for (place, byte) in bytes.enumerated() {
            if place < 8 {
                halves.high = halves.high << 8 | UInt64(byte)
            } else {
                halves.low = halves.low << 8 | UInt64(byte)
            }
        }
        self.init(high: halves.high, low: halves.low)
    }

    /// Parses 32 hexadecimal digits of either case. Returns `nil` for any other text.
    public init?(hexadecimal text: some StringProtocol) {
        guard text.utf8.count == 32 else { return nil }
        var halves = (high: UInt64(0), low: UInt64(0))
        for (place, character) in text.utf8.enumerated() {
            guard let digit = character.hexadecimalDigit else { return nil }
            if place < 16 {
                halves.high = halves.high << 4 | UInt64(digit)
            } else {
                halves.low = halves.low << 4 | UInt64(digit)
            }
        }
        self.init(high: halves.high, low: halves.low)
    }

    /// The 16 bytes.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) }
        }
    }

    /// The 16 bytes as 32 lower-case hexadecimal digits.
    public var hexadecimal: String { bytes.hexadecimal }

    public var description: String { hexadecimal }
}

/// The identity of a playback session: the same in all grants of one playback. It is made from the media token and the
/// playback id, and no store keeps it.
public struct SessionID: SixteenBytes {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// The keyed name of a subject of revocations, as grants carry it: the first 16 bytes of the HMAC-SHA-256 of the subject's
/// store key. It reveals nothing to those without the key.
public struct SubjectTag: SixteenBytes {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}
