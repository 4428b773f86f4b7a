// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The SHA-256 of some bytes.
@safe
public struct SHA256Digest: Hashable, Sendable {
    /// The 32 bytes in memory order.
    private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// The size of a fingerprint in bytes.
    package static let size = 32

    /// Creates a fingerprint from the bytes that `write` stores. Returns `nil` if `write` returns false.
    @unsafe
    package init?(_ write: (UnsafeMutablePointer<UInt8>) -> Bool) {
        let isWritten = unsafe withUnsafeMutableBytes(of: &words) { words in
            guard let start = unsafe words.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
            return unsafe write(start)
        }
        guard isWritten else { return nil }
    }

    /// Parses 64 hexadecimal digits of either case. Returns `nil` for any other text.
    public init?(hexadecimal text: String) {
        guard text.utf8.count == 2 * Self.size else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            guard let digit = character.hexadecimalDigit else { return nil }
            if let first = high {
                bytes.append(first * 16 + digit)
                high = nil
            } else {
                high = digit
            }
        }
        let written = unsafe SHA256Digest { target in
            for index in bytes.indices { unsafe target[index] = bytes[index] }
            return true
        }
        guard let written else { return nil }
        self = written
    }

    /// Creates a digest from its 32 bytes. Returns `nil` for any other number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        let written = unsafe SHA256Digest { target in
            for (index, byte) in bytes.enumerated() { unsafe target[index] = byte }
            return true
        }
        guard let written else { return nil }
        self = written
    }

    /// Calls `body` with a pointer to the 32 bytes.
    @unsafe
    package func withUnsafeBytes<Result>(_ body: (UnsafePointer<UInt8>?) -> Result) -> Result {
        unsafe Swift.withUnsafeBytes(of: words) { unsafe body($0.baseAddress?.assumingMemoryBound(to: UInt8.self)) }
    }

    /// The 32 bytes.
    public var bytes: [UInt8] { unsafe Swift.withUnsafeBytes(of: words) { unsafe Array($0) } }

    /// The 32 bytes as four 64-bit numbers, for tables of numbers.
    package var quarters: (UInt64, UInt64, UInt64, UInt64) { words }

    /// The 32 bytes as 64 lower-case hexadecimal digits.
    public var hexadecimal: String { bytes.hexadecimal }

    /// Compares two fingerprints in a time that does not depend on their values.
    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1)
            | (left.words.2 ^ right.words.2) | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}
