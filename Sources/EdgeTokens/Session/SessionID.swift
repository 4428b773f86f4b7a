// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The id of a playback session: 16 bytes, the same in all grants of the playback.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    /// The bytes as a number, the first one highest.
    package let number: UInt128

    /// Creates an id from 16 bytes; `nil` for another number of bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard let number = UInt128(bytes) else { return nil }
        self.number = number
    }

    /// Parses 32 hexadecimal digits of either case; `nil` for any other text.
    public init?(hexadecimal text: String) {
        guard let number = UInt128(hexadecimal: text) else { return nil }
        self.number = number
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { number.bytes }

    /// The id as 32 lower-case hexadecimal digits.
    public var hexadecimal: String { bytes.hexadecimal }

    public var description: String { hexadecimal }
}

/// A tag of a subject that can be revoked: 16 bytes, which nobody can link to the subject without the subject key.
public struct SubjectTag: Hashable, Sendable {
    /// The bytes as a number, the first one highest.
    package let number: UInt128

    /// Creates a tag from 16 bytes; `nil` for another number of bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard let number = UInt128(bytes) else { return nil }
        self.number = number
    }

    /// Parses 32 hexadecimal digits of either case; `nil` for any other text.
    public init?(hexadecimal text: String) {
        guard let number = UInt128(hexadecimal: text) else { return nil }
        self.number = number
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { number.bytes }

    /// The tag as 32 lower-case hexadecimal digits.
    public var hexadecimal: String { bytes.hexadecimal }
}

extension UInt128 {
    /// Creates a number from 16 bytes, the first one highest.
    fileprivate init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self = 0
        for place in bytes.indices { self = self << 8 | UInt128(bytes[place]) }
    }

    fileprivate init?(hexadecimal text: String) {
        guard text.utf8.count == 32 else { return nil }
        self = 0
        for character in text.utf8 {
            guard let digit = character.hexadecimalDigit else { return nil }
            self = self << 4 | UInt128(digit)
        }
    }

    fileprivate var bytes: [UInt8] {
        stride(from: 120, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt128($0)) }
    }
}
