// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A value of 16 bytes, held as a number, so that it needs no memory of its own.
public protocol SixteenBytes: Hashable, Sendable, CustomStringConvertible {
    /// The bytes as a number, the first one highest.
    var number: UInt128 { get }

    /// Creates a value from its number.
    init(number: UInt128)
}

extension SixteenBytes {
    /// Creates a value from its 16 bytes; `nil` for another number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.init(number: bytes.reduce(0) { $0 << 8 | UInt128($1) })
    }

    /// Creates a value from 16 bytes; `nil` for another number of bytes.
    @inlinable
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            high = high << 8 | UInt64(bytes[index])
            low = low << 8 | UInt64(bytes[index + 8])
        }
        self.init(high: high, low: low)
    }

    /// Parses 32 hexadecimal digits of either case; `nil` for any other text.
    public init?(hexadecimal text: some StringProtocol) {
        guard text.utf8.count == 32 else { return nil }
        var number: UInt128 = 0
        for character in text.utf8 {
            guard let digit = character.hexadecimalDigit else { return nil }
            number = number << 4 | UInt128(digit)
        }
        self.init(number: number)
    }

    /// Creates a value from its two halves.
    @inlinable
    package init(high: UInt64, low: UInt64) { self.init(number: UInt128(high) << 64 | UInt128(low)) }

    /// The first 8 bytes as a number.
    @inlinable
    package var high: UInt64 { UInt64(truncatingIfNeeded: number >> 64) }

    /// The last 8 bytes as a number.
    @inlinable
    package var low: UInt64 { UInt64(truncatingIfNeeded: number) }

    /// The 16 bytes.
    public var bytes: [UInt8] {
        stride(from: 120, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt128($0)) }
    }

    /// The value as 32 lower-case hexadecimal digits.
    public var hexadecimal: String { String(decoding: hexadecimalDigits.span) }

    /// The 32 lower-case hexadecimal digits, in ASCII, without an allocation.
    package var hexadecimalDigits: InlineArray<32, UInt8> {
        let (high, low) = (high, low)
        return InlineArray { index in (index < 16 ? high : low).hexadecimalDigit(index % 16) }
    }

    public var description: String { hexadecimal }
}

/// The id of a playback session: 16 bytes, the same in all grants of the playback.
public struct SessionID: SixteenBytes {
    public let number: UInt128

    public init(number: UInt128) { self.number = number }
}

/// A tag of the resource and requestor of a grant: 16 bytes. Without the subject key, nobody can link it to them.
public struct ProtectionTag: SixteenBytes {
    public let number: UInt128

    public init(number: UInt128) { self.number = number }
}

/// A tag of a subject that can be revoked: 16 bytes, which nobody can link to the subject without the subject key.
public struct SubjectTag: SixteenBytes {
    public let number: UInt128

    public init(number: UInt128) { self.number = number }
}
